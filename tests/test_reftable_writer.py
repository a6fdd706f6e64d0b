"""The tests' own writer of tables: git reads what it writes, in every shape that git can read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from refspan import ReftableStack
from reftable_writer import LogRow, RefRow, Shape, write, write_stack
from support import Builder, Hash, Ref, git, git_listing

SHAPES = {
    "as git does it": Shape(),
    "small blocks": Shape(block_size=256, objects=True),
    "one root": Shape(block_size=256, index_from=2, objects=True),
    "no index": Shape(block_size=512, index_from=1 << 30),
    "unaligned": Shape(block_size=512, padded=False),
    "one index block larger than the block size": Shape(block_size=256, index_room=1 << 20, index_from=2),
    "a restart for each record": Shape(block_size=512, restart_interval=1, objects=True),
    "an object index of whole ids": Shape(block_size=256, objects=True, obj_id_len=20),
}


def reftable_repository(path: Path, source: Path, hash_: Hash, tables: list[bytes]) -> Path:
    """A repository with the objects of another and these tables."""
    git("init", "-q", "--bare", "--ref-format=reftable", f"--object-format={hash_}", path)
    shutil.rmtree(path / "objects")
    (path / "objects").symlink_to(source / "objects")
    shutil.rmtree(path / "reftable")
    write_stack(path / "reftable", tables)
    return path


def rows_of(refs: list[Ref]) -> list[RefRow]:
    """HEAD, and these refs."""

    def raw(oid: bytes | None) -> bytes | None:
        return None if oid is None else bytes.fromhex(oid.decode())

    return [
        RefRow(b"HEAD", target=b"refs/heads/main"),
        *(RefRow(name, raw(oid), raw(peeled)) for name, oid, peeled in refs),
    ]


def in_version(shape: Shape, hash_: Hash) -> Shape:
    changes = {"version": 2, "hash_id": b"s256"} if hash_ == "sha256" else {}
    return Shape(**{**vars(shape), **changes})


@pytest.mark.parametrize("hash_", ["sha1", "sha256"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_git_and_refspan_read_the_refs_that_were_written(
    tmp_path: Path, repository: Builder, shape: Shape, hash_: Hash
) -> None:
    source = repository(1000, hash_)
    expected = git_listing(source)
    table = write(rows_of(expected), shape=in_version(shape, hash_)).data
    repo = reftable_repository(tmp_path / "repo.git", source, hash_, [table])
    assert git_listing(repo) == expected
    refs = list(ReftableStack(repo / "reftable").refs("refs/"))
    assert [
        Ref(bytes(ref.name), (ref.hex or "").encode(), ref.peeled_hex.encode() if ref.peeled_hex else None)
        for ref in refs
    ] == expected
    for ref in expected[::100]:
        assert git("rev-parse", ref.name.decode("utf-8", "surrogateescape"), cwd=repo).strip() == ref.oid


def test_git_and_refspan_merge_the_stack_that_was_written(tmp_path: Path, repository: Builder) -> None:
    source = repository(1000)
    expected = git_listing(source)
    rows = rows_of(expected)
    # Every third is deleted, every third of the others comes back, all in tables of the same update indices.
    dropped, revived = rows[1::3], rows[1::9]
    shape = Shape(block_size=256)
    tables = [
        write(rows, shape=shape).data,
        write([RefRow(row.name) for row in dropped], shape=shape).data,
        write(revived, shape=shape).data,
    ]
    repo = reftable_repository(tmp_path / "repo.git", source, "sha1", tables)
    gone = {row.name for row in dropped} - {row.name for row in revived}
    left = [ref for ref in expected if ref.name not in gone]
    assert git_listing(repo) == left
    assert [bytes(ref.name) for ref in ReftableStack(repo / "reftable").refs("refs/")] == [ref.name for ref in left]


@pytest.mark.parametrize("with_refs", [True, False], ids=["behind refs", "alone"])
@pytest.mark.parametrize(
    "shape", [SHAPES["as git does it"], Shape(block_size=256), Shape(block_size=256, index_from=2)]
)
def test_git_and_refspan_read_the_logs_that_were_written(
    tmp_path: Path, repository: Builder, shape: Shape, with_refs: bool
) -> None:
    source = repository(1000)
    refs = [ref for ref in git_listing(source) if ref.name.startswith(b"refs/heads/")]
    oid = bytes.fromhex(refs[0].oid.decode())
    logs = [
        LogRow(ref.name, index, oid, oid, b"Ann", b"a@b", 1700000000 + index, zone, b"entry %d\n" % index)
        for ref in refs
        for index, zone in ((3, 530), (2, -330), (1, 0))
    ]
    shape = Shape(**{**vars(shape), "limits": (1, 3)})
    base = write(rows_of(refs)).data
    tables = [write(rows_of(refs), logs, shape).data] if with_refs else [base, write([], logs, shape).data]
    repo = reftable_repository(tmp_path / "repo.git", source, "sha1", tables)
    main = git("reflog", "--date=raw", "--format=%H %gn %ge %gs %gd", "refs/heads/main", cwd=repo).decode().splitlines()
    assert main == [
        f"{oid.hex()} Ann a@b entry {index} main@{{{1700000000 + index} {zone}}}"
        for index, zone in ((3, "+0530"), (2, "-0330"), (1, "+0000"))
    ]
    entries = list(ReftableStack(repo / "reftable").logs())
    assert len(entries) == len(logs)
    assert [(entry.new, entry.message, entry.tz) for entry in entries if entry.ref == "refs/heads/main"] == [
        (oid.hex(), f"entry {index}", zone) for index, zone in ((3, "+0530"), (2, "-0330"), (1, "+0000"))
    ]
    assert len(git("reflog", "list", cwd=repo).splitlines()) == len(refs)
