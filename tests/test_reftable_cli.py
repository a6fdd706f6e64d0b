"""The command line on tables and stacks: the text that git prints, the layout of tables, and exit codes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from refspan import Reftable, ReftableStack
from reftable_support import (
    SHAPES,
    Row,
    StackBuilder,
    empty_repository,
    listed,
    needs_reftables,
    update_refs,
    write_table,
)
from reftable_writer import LogRow, Shape
from support import HASHES, Hash, git

OID, OTHER = b"1" * 40, b"2" * 40
ENTRY = LogRow(b"refs/heads/a", 2, b"\1" * 20, b"\2" * 20, b"A U Thor", b"a@b", 1_700_000_000, -330, b"moved\n")


def refspan(*args: str | Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "refspan", *args], capture_output=True, timeout=60, check=False)


@needs_reftables
@pytest.mark.parametrize("hash_", HASHES)
def test_dump_of_a_stack_prints_what_show_ref_prints(stacked: StackBuilder, hash_: Hash) -> None:
    repo = stacked(1000, hash_)
    done = refspan("dump", repo / "reftable")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == git("show-ref", "-d", cwd=repo)


@needs_reftables
@pytest.mark.slow
def test_dump_of_a_large_stack_prints_what_show_ref_prints(stacked: StackBuilder, many: int) -> None:
    repo = stacked(many)
    assert refspan("dump", repo / "reftable").stdout == git("show-ref", "-d", cwd=repo)


@needs_reftables
@pytest.mark.parametrize("links", range(1, 8))
def test_dump_follows_symbolic_refs_as_far_as_git(stacked: StackBuilder, tmp_path: Path, links: int) -> None:
    # In reftables, some versions of git do not peel what a symbolic ref leads to; in files all do.
    for refs in ("files", "reftable"):
        repo = tmp_path / refs
        git("clone", "-q", "--mirror", f"--ref-format={refs}", stacked(20), repo)
        tag = git("for-each-ref", "--count=1", "--format=%(refname)", "refs/tags/v*", cwd=repo).strip().decode()
        for i in range(links):
            git("symbolic-ref", f"refs/link/{i}", f"refs/link/{i - 1}" if i else tag, cwd=repo)
        git("symbolic-ref", "refs/dangling", "refs/heads/none", cwd=repo)
        git("symbolic-ref", "refs/loop", "refs/loop", cwd=repo)
    done = refspan("dump", tmp_path / "reftable/reftable")
    assert done.stdout == git("show-ref", "-d", cwd=tmp_path / "files")


@needs_reftables
def test_dump_of_a_stack_leaves_out_what_was_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_REFTABLE_AUTOCOMPACTION", "false")
    main, *_ = empty_repository(tmp_path)
    update_refs(tmp_path, f"create refs/heads/a {main}", f"create refs/heads/b {main}")
    update_refs(tmp_path, "delete refs/heads/a")
    assert refspan("dump", tmp_path / "reftable").stdout == f"{main} refs/heads/b\n".encode()
    deletions = ReftableStack(tmp_path / "reftable").tables[-1].path
    assert refspan("dump", deletions).stdout == b"deleted refs/heads/a\n"


def test_dump_of_a_table_prints_every_record_as_it_is(tmp_path: Path) -> None:
    refs = [
        Row(b"HEAD", target=b"refs/heads/a"),
        Row(b"refs/heads/a", OID),
        Row(b"refs/heads/b"),
        Row(b"refs/tags/v1", OID, OTHER),
    ]
    done = refspan("dump", write_table(tmp_path / "x.ref", refs))
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.splitlines() == [
        b"ref:refs/heads/a HEAD",
        OID + b" refs/heads/a",
        b"deleted refs/heads/b",
        OID + b" refs/tags/v1",
        OTHER + b" refs/tags/v1^{}",
    ]


def test_dump_of_a_stack_names_broken_refs_and_prints_the_others(tmp_path: Path) -> None:
    refs = [Row(b"refs/heads/a", OID), Row(b"refs/heads/b..", OID), Row(b"refs/heads/c", b"0" * 40)]
    stack = listed(tmp_path / "stack", [write_table(tmp_path / "x.ref", refs)])
    done = refspan("dump", stack)
    assert (done.returncode, done.stdout) == (128, OID + b" refs/heads/a\n")
    assert done.stderr.splitlines() == [
        b"refspan: %s: 'refs/heads/b..' is broken: bad name" % bytes(stack),
        b"refspan: %s: 'refs/heads/c' is broken: zero oid" % bytes(stack),
    ]


def test_dump_of_logs_prints_them_as_files_hold_them_behind_the_name(tmp_path: Path) -> None:
    entries = [ENTRY, ENTRY._replace(name=b"refs/heads/b", message=b"\n", tz=530)]
    table = write_table(tmp_path / "x.ref", [], entries, limits=(1, 2))
    oids = b"01" * 20 + b" " + b"02" * 20
    done = refspan("dump", "--logs", table)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.splitlines() == [
        b"refs/heads/a %s A U Thor <a@b> 1700000000 -0330\tmoved" % oids,
        b"refs/heads/b %s A U Thor <a@b> 1700000000 +0530" % oids,
    ]
    assert refspan("dump", "--logs", listed(tmp_path / "stack", [table])).stdout == done.stdout


def test_dump_of_the_logs_of_a_table_tells_tombstones(tmp_path: Path) -> None:
    table = write_table(tmp_path / "x.ref", [], [LogRow(b"refs/heads/a", 2)], limits=(1, 2))
    assert refspan("dump", "--logs", table).stdout == b"deleted refs/heads/a 2\n"


@pytest.mark.parametrize("options", [["dump"], ["dump", "--logs"], ["blocks"]], ids=" ".join)
def test_a_damaged_table_is_told_with_the_code_of_git(tmp_path: Path, options: list[str]) -> None:
    table = write_table(tmp_path / "x.ref", [Row(b"refs/heads/a", OID)], [ENTRY], limits=(1, 2))
    table.write_bytes(table.read_bytes()[:-1])
    done = refspan(*options, table)
    assert (done.returncode, done.stdout) == (128, b"")
    assert done.stderr.startswith(b"refspan: %s: " % bytes(table))
    assert done.stderr.count(b"\n") == 1


def test_dump_of_a_table_damaged_further_on_prints_what_comes_before(tmp_path: Path) -> None:
    refs = [Row(b"refs/heads/%04d" % i, OID) for i in range(1000)]
    table = write_table(tmp_path / "x.ref", refs, shape=replace(SHAPES["small"], objects=False))
    data = bytearray(table.read_bytes())
    # The type of the third block.
    data[512] = ord("x")
    table.write_bytes(data)
    done = refspan("dump", table)
    assert done.returncode == 128
    assert b"(byte 512)" in done.stderr
    assert 0 < done.stdout.count(b"\n") < 1000


def test_a_damaged_list_is_told_with_the_code_of_git(tmp_path: Path) -> None:
    (tmp_path / "tables.list").write_bytes(b"../x.ref\n")
    done = refspan("dump", tmp_path)
    assert done.returncode == 128
    assert done.stderr.startswith(b"refspan: %s:1: " % bytes(tmp_path / "tables.list"))


@pytest.mark.parametrize("options", [["dump"], ["dump", "--logs"], ["blocks"]], ids=" ".join)
def test_a_missing_table_fails(tmp_path: Path, options: list[str]) -> None:
    done = refspan(*options, tmp_path / "none.ref")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"No such file or directory" in done.stderr


@pytest.mark.parametrize("hash_", HASHES)
def test_a_hash_may_be_demanded(tmp_path: Path, hash_: Hash) -> None:
    table = write_table(tmp_path / "x.ref", [Row(b"refs/heads/a", b"1" * (40 if hash_ == "sha1" else 64))], hash_=hash_)
    codes = {other: refspan("dump", "--hash", other, table).returncode for other in HASHES}
    assert codes == {other: 0 if other == hash_ else 128 for other in HASHES}


@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_blocks_accounts_for_every_byte_and_record(tmp_path: Path, shape: Shape, hash_: Hash) -> None:
    digits, size = (40, 20) if hash_ == "sha1" else (64, 32)
    refs = [Row(b"refs/heads/%04d" % i, b"%02x" % (i % 251) * (digits // 2)) for i in range(300)]
    logs = [LogRow(row.name, 2, b"\1" * size, b"\2" * size) for row in refs]
    path = write_table(tmp_path / "x.ref", refs, logs, hash_=hash_, limits=(1, 2), shape=shape)
    done = refspan("blocks", path)
    assert (done.returncode, done.stderr) == (0, b"")
    table, data = Reftable(path), path.read_bytes()
    first, _, *lines = done.stdout.decode().splitlines()
    assert first == f"# version {table.version}, {hash_}, block size {table.block_size}, update indices 1-2"
    blocks = [
        (kind, int(at), int(length), int(records), int(restarts))
        for kind, at, length, records, restarts, _ in map(str.split, lines[: len(table.blocks())])
    ]
    assert blocks == [(b.kind, b.offset, b.length, b.records, b.restarts) for b in table.blocks()]
    footer = 68 if hash_ == "sha1" else 72
    ends = [at + length for _, at, length, *_ in blocks]
    following = [at for _, at, *_ in blocks[1:]] + [len(data) - footer]
    # Between blocks there is nothing but padding.
    assert all(end <= at and not any(data[end:at]) for end, at in zip(ends, following, strict=True))
    totals = {
        kind: (int(count), int(length), int(records), int(restarts))
        for kind, count, _, length, records, restarts, _ in map(str.split, lines[len(blocks) :])
    }
    assert totals.keys() == {kind for kind, *_ in blocks}
    for kind, total in totals.items():
        own = [numbers for other, _, *numbers in blocks if other == kind]
        assert total == (len(own), *(sum(column) for column in zip(*own, strict=True)))
    assert (totals["ref"][2], totals["log"][2]) == (300, 300)


def test_blocks_tells_how_full_padded_blocks_are(tmp_path: Path) -> None:
    refs = [Row(b"refs/heads/%04d" % i, OID) for i in range(300)]
    padded = write_table(tmp_path / "x.ref", refs, shape=SHAPES["bare"])
    fills = [line.split()[-1] for line in refspan("blocks", padded).stdout.decode().splitlines()[2:]]
    assert all(0 < int(fill.removesuffix("%")) <= 100 for fill in fills)
    unpadded = write_table(tmp_path / "y.ref", refs, shape=SHAPES["unaligned"])
    assert refspan("blocks", unpadded).stdout.decode().splitlines()[2].endswith(" -")


def test_blocks_of_a_table_of_nothing_prints_its_header_alone(tmp_path: Path) -> None:
    done = refspan("blocks", write_table(tmp_path / "x.ref"))
    assert (done.returncode, done.stdout.count(b"\n")) == (0, 2)


@pytest.mark.parametrize("content", [b"", b"# pack-refs with: sorted \n"])
def test_blocks_of_what_is_no_table_fails(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    assert refspan("blocks", tmp_path / "x").returncode == 128


def test_dump_of_the_logs_of_packed_refs_prints_nothing(tmp_path: Path) -> None:
    (tmp_path / "packed-refs").write_bytes(b"# pack-refs with: sorted \n%s refs/heads/a\n" % OID)
    done = refspan("dump", "--logs", tmp_path / "packed-refs")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
