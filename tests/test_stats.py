"""`refspan stats`: counts that git confirms, sizes that the disk confirms, and what optimizing turns out to win."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
import refspan
from refspan.cli import main
from refspan.cli.stats import text
from refspan.stack_stats import StackStats, stack_stats
from refspan.stats import FilesStats, ReflogStats, Stats, stats
from reftable_support import NO_COMPACTION, SHAPES, Row, StackBuilder, listed, needs_reftables, write_table
from reftable_writer import LogRow, RefRow, Shape, write_stack
from reftable_writer import write as write_records
from store_support import (
    DANGLING,
    FORMATS,
    LATIN1,
    SAMPLES,
    Format,
    Repository,
    build,
    encode,
    git_refs,
    move_storage,
    sample,
    sample_name,
)
from support import HASHES, HEX_LEN, Builder, Hash, Ref, git, git_listing, write_packed

OID = b"ab" * 20


@pytest.fixture(params=SAMPLES, ids=sample_name)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Each worktree of each repository with refs of all kinds."""
    return sample(tmp_path_factory.getbasetemp(), request.param)


def files_of(repo: Repository) -> FilesStats:
    found = stats(repo.store()).files
    assert found is not None
    return found


def stack_of(repo: Repository) -> StackStats:
    (found,) = stats(repo.store()).stacks
    return found


def test_refs_are_counted_as_git_lists_them(place: Repository) -> None:
    found = stats(place.store())
    refs = [*git_refs(place), *DANGLING]
    spaces = Counter("/".join(ref.name.split("/")[:2]) if ref.name.count("/") > 1 else None for ref in refs)
    assert found.refs == len(refs)
    assert found.namespaces == {space: count for space, count in spaces.items() if space is not None}
    assert list(found.namespaces) == sorted(found.namespaces)
    # That of the stash.
    assert found.no_namespace == spaces[None] == 1
    assert found.symbolic == sum(ref.target is not None for ref in refs)
    direct = {encode(ref.name) for ref in refs if ref.target is None}
    assert found.annotated == sum(ref.peeled is not None and ref.name in direct for ref in git_listing(place.path)) > 0
    assert found.broken == 0


def test_it_tells_of_which_repository_it_is(place: Repository) -> None:
    found, store = stats(place.store()), place.store()
    assert (found.path, found.format, found.hash) == (store.git_dir, store.format, store.hash)
    assert (found.files is None) == (store.format == "reftable") == bool(found.stacks)


def test_reflogs_are_counted_as_git_lists_them(place: Repository) -> None:
    assert stats(place.store()).reflogs.logs == len(place.git("reflog", "list").splitlines()) > 1


@pytest.mark.parametrize("refs", FORMATS)
@pytest.mark.parametrize("hash_", HASHES)
def test_entries_of_reflogs_are_counted_as_git_shows_them(tmp_path: Path, refs: Format, hash_: Hash) -> None:
    repo = build(tmp_path / "repo", refs, hash_)
    for at in range(3):
        repo.create("refs/heads/main", *(f"refs/heads/{i}" for i in range(at)), at=at)
    repo.git("reflog", "delete", "refs/heads/main@{1}")
    names = repo.git("reflog", "list").splitlines()
    assert len(names) == 4
    entries = sum(len(repo.git("reflog", "show", name).splitlines()) for name in names)
    assert stats(repo.store()).reflogs.entries == entries > 4


@pytest.mark.parametrize("hash_", HASHES)
def test_the_bytes_of_reflogs_are_those_of_their_files(tmp_path: Path, hash_: Hash) -> None:
    repo = build(tmp_path / "main", hash_=hash_)
    repo.create("refs/heads/main", "refs/heads/a/b")
    side = repo.worktree("side")
    files = [path for path in (repo.gitdir / "logs").rglob("*") if path.is_file()]
    own = side.gitdir / "logs/HEAD"
    assert stats(repo.store()).reflogs.bytes == sum(path.stat().st_size for path in files) > 0
    shared = sum(path.stat().st_size for path in files if path.name != "HEAD")
    assert stats(side.store()).reflogs.bytes == shared + own.stat().st_size


def test_loose_and_packed_refs_are_counted_by_hand(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo", bare=True)
    repo.create("refs/heads/a", "refs/heads/b/c", "refs/heads/d")
    repo.tag("v1", repo.commits[0])
    repo.git("pack-refs", "--all")
    repo.create("refs/heads/b/c", at=1)
    repo.create("refs/heads/new")
    repo.git("tag", "-f", "-m", "again", "v1", repo.commits[1])
    repo.symref("refs/heads/link", "refs/heads/a")
    # None of git's names.
    repo.loose("refs/heads/x.lock", "")
    repo.loose("refs/heads/.hidden", "")
    (repo.gitdir / "refs/heads/empty").mkdir()
    found = files_of(repo)
    packed = repo.gitdir / "packed-refs"
    lines = packed.read_text().splitlines(keepends=True)
    assert (found.loose, found.packed, found.overridden) == (4, 4, 2)
    assert (found.packed_bytes, found.traits) == (packed.stat().st_size, ("fully-peeled", "peeled", "sorted"))
    assert found.overridden_bytes == sum(len(line) for line in lines if "b/c" in line or "v1" in line or line[0] == "^")
    blocks = subprocess.check_output(["stat", "-f", "-c", "%S", repo.gitdir])
    assert found.loose_bytes == 4 * int(blocks)


def test_what_optimizing_frees_is_what_git_frees(tmp_path: Path) -> None:
    for hash_ in HASHES:
        repo = build(tmp_path / hash_, hash_=hash_)
        repo.create("refs/heads/main", "refs/heads/a", "refs/bisect/bad")
        for optimized in range(2):
            repo.create("refs/heads/a", f"refs/heads/new-{optimized}", LATIN1, at=1 + optimized)
            repo.tag(f"v{optimized}", repo.commits[0])
            repo.symref("refs/heads/link", "refs/heads/a")
            before = files_of(repo)
            repo.git("pack-refs", "--all")
            after = files_of(repo)
            assert (before.overridden, after.overridden) == (2 * optimized, 0)
            # What stays loose: the symbolic ref, and the worktree's own.
            assert after.loose == 2
            freed = before.loose_bytes - after.loose_bytes + before.packed_bytes - after.packed_bytes
            assert before.optimizing_frees == freed > 0
            assert after.optimizing_frees == 0


def test_a_linked_worktree_counts_its_own_refs(tmp_path: Path) -> None:
    repo = build(tmp_path / "main")
    repo.create("refs/heads/main", "refs/bisect/bad")
    side = repo.worktree("side")
    side.create("refs/bisect/good", "refs/worktree/x", "refs/rewritten/y")
    # refs/heads/main, refs/heads/side, and their own.
    assert files_of(repo).loose == 3
    assert files_of(side).loose == 5
    assert stats(side.store()).refs == 5


def test_links_among_loose_refs_are_followed_as_in_reading(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo", bare=True)
    repo.create("refs/heads/main")
    repo.loose("elsewhere/a", f"{repo.commits[0]}\n")
    (repo.gitdir / "refs/heads/linked").symlink_to("../../elsewhere")
    (repo.gitdir / "refs/heads/round").symlink_to(".")
    (repo.gitdir / "refs/heads/symbolic").symlink_to("refs/heads/main")
    found = stats(repo.store())
    assert found.files is not None
    assert found.files.loose == found.refs == len(list(repo.store())) >= 3


def test_broken_refs_are_counted(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo", bare=True)
    repo.create("refs/heads/main")
    repo.loose("refs/heads/content", "nonsense\n")
    repo.loose("refs/heads/zero", "0" * 40 + "\n")
    write_packed(repo.gitdir / "packed-refs", [Ref(b"refs/heads/a..b", OID, None)])
    found = stats(repo.store())
    assert (found.refs, found.broken) == (4, 3)
    # Git packs none of them.
    loose = repo.commits[0] + " refs/heads/main\n"
    files = files_of(repo)
    assert (files.loose, files.packed, files.overridden) == (3, 1, 0)
    assert files.optimizing_frees == files.loose_bytes // 3 - len(loose)


def test_a_namespace_that_is_not_utf8_is_none(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo", bare=True)
    repo.create("refs/latin1-\udce9/a", "refs/größe/a", "refs/heads/main", LATIN1)
    found = stats(repo.store())
    assert found.namespaces == {"refs/größe": 1, "refs/heads": 2}
    assert found.no_namespace == 1
    # As the column has it.
    column = pa.table(repo.store().columns(["namespace"]))["namespace"].to_pylist()
    assert Counter(column) == Counter(found.namespaces) + Counter({None: found.no_namespace})


@needs_reftables
def test_tables_records_and_bytes_are_counted_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NO_COMPACTION, "false")
    repo = build(tmp_path / "repo", "reftable", bare=True)
    repo.create("refs/heads/a", "refs/heads/b", "refs/heads/c")
    repo.create("refs/heads/a", at=1)
    repo.update("delete refs/heads/b")
    repo.create("refs/heads/b")
    repo.update("delete refs/heads/c")
    found = stack_of(repo)
    folder = repo.gitdir / "reftable"
    tables = (folder / "tables.list").read_text().split()
    assert found.path == str(folder)
    assert found.tables == len(tables) == 6
    assert found.bytes == sum((folder / table).stat().st_size for table in tables)
    # HEAD, three, one, a tombstone, one, a tombstone. HEAD, a and b count; hidden are a, b and c of the first.
    assert (found.records, found.live, found.shadowed, found.tombstones) == (8, 3, 3, 2)


@needs_reftables
def test_a_linked_worktree_has_a_stack_of_its_own(tmp_path: Path) -> None:
    repo = build(tmp_path / "main", "reftable")
    repo.create("refs/heads/main")
    side = repo.worktree("side")
    side.create("refs/bisect/good")
    common, own = stats(side.store()).stacks
    assert (common.path, own.path) == (str(repo.gitdir / "reftable"), str(side.gitdir / "reftable"))
    # HEAD, ORIG_HEAD and the one above.
    assert own.live == 3
    assert common == stack_of(repo)


@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_bytes_and_sections_are_those_of_the_blocks(tmp_path: Path, shape: Shape, hash_: Hash) -> None:
    size = HEX_LEN[hash_] // 2
    refs = [Row(b"refs/heads/%04d" % i, b"%02x" % (i % 251) * size) for i in range(600)]
    logs = [LogRow(row.name, 2, b"\1" * size, b"\2" * size) for row in refs]
    paths = [write_table(tmp_path / f"{i}.ref", refs, logs, hash_=hash_, limits=(1, 2), shape=shape) for i in range(2)]
    found = stack_stats(listed(tmp_path / "stack", paths), hash_)
    tables = refspan.ReftableStack(tmp_path / "stack").tables
    assert found.bytes == sum(Path(table.path).stat().st_size for table in tables)
    for section in found.sections:
        blocks = [block for table in tables for block in table.blocks() if block.kind == section.kind]
        assert section.blocks == len(blocks) > 0
        assert section.bytes == sum(block.length for block in blocks)
        assert section.records == sum(block.records for block in blocks)
        is_padded = tables[0].block_size > 0 and section.kind != "log"
        fill = section.bytes / (len(blocks) * tables[0].block_size) if is_padded else None
        assert section.fill == fill
    assert {section.kind for section in found.sections} == {block.kind for block in tables[0].blocks()}


@pytest.mark.parametrize("count", [1, 30, 300, 3000])
@pytest.mark.parametrize("shape", [SHAPES["deep index"], SHAPES["small"], SHAPES["git"]], ids=["deep", "small", "git"])
def test_the_depth_of_an_index_is_the_number_of_its_levels(tmp_path: Path, shape: Shape, count: int) -> None:
    refs = [RefRow(b"refs/heads/%06d" % i, i.to_bytes(2) * 10) for i in range(1, count + 1)]
    logs = [LogRow(row.name, 1, b"\1" * 20, b"\2" * 20, message=b"%d\n" % i) for i, row in enumerate(refs)]
    table = write_records(refs, logs, shape)
    found = stack_stats(write_stack(tmp_path / "stack", [table.data]), "sha1")
    kinds = {"ref": b"r", "obj": b"o", "log": b"g"}
    for section in found.sections:
        if section.kind != "index":
            # The last block of each level ends with the last key.
            last = table.of_kind(kinds[section.kind])[-1].keys[-1]
            assert section.depth == sum(block.keys[-1] == last for block in table.of_kind(b"i"))
    depths = {section.kind: section.depth for section in found.sections}
    assert (depths["ref"] > 2) == (shape is SHAPES["deep index"] and count == 3000)


def test_the_depth_is_that_of_the_table_that_has_most(tmp_path: Path) -> None:
    tables = [
        write_records([RefRow(b"refs/heads/%06d" % i, b"\1" * 20) for i in range(count)], shape=SHAPES["deep index"])
        for count in (1, 3000, 30)
    ]
    depths = [
        stack_stats(write_stack(tmp_path / f"{i}", [table.data]), "sha1").sections[0].depth
        for i, table in enumerate(tables)
    ]
    together = stack_stats(write_stack(tmp_path / "all", [table.data for table in tables]), "sha1")
    assert together.sections[0].depth == max(depths) > depths[2] > depths[0] == 0


@needs_reftables
@pytest.mark.parametrize(
    "sizes", [[1], [9, 1], [1, 1], [30, 1, 1], [9, 3, 1], [1, 2, 3], [64, 1, 2, 1, 9], [200, 60, 20, 5, 1], []]
)
def test_compaction_is_due_when_git_thinks_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: list[int]
) -> None:
    monkeypatch.setenv(NO_COMPACTION, "false")
    repo = build(tmp_path / "repo", "reftable", bare=True)
    for at, size in enumerate(sizes):
        repo.create(*(f"refs/heads/{at}-{i:03d}" for i in range(size * 3)))
    before = stack_of(repo)
    assert before.tables == len(sizes) + 1
    repo.git("pack-refs", "--auto")
    after = stack_of(repo)
    assert before.compaction_due == (before.tables - after.tables + 1 if after.tables < before.tables else 0)
    assert after.compaction_due == 0


def test_the_tables_that_git_would_merge_are_those_of_its_own_example(tmp_path: Path) -> None:
    def due(*sizes: int) -> int:
        """Of tables about so large."""
        refs = [[RefRow(b"refs/heads/%05d" % i, b"\1" * 20) for i in range(size * 50)] for size in sizes]
        tables = [write_records(rows, shape=Shape(block_size=0, padded=False)).data for rows in refs]
        return stack_stats(write_stack(tmp_path / "-".join(map(str, sizes)), tables), "sha1").compaction_due

    assert due(512, 64, 17, 16, 9, 9, 9, 16, 2, 16) == 9
    assert due(64, 31, 15, 7, 3, 1) == 0


@needs_reftables
@pytest.mark.parametrize("hash_", HASHES)
def test_what_compacting_wins_is_about_what_git_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hash_: Hash
) -> None:
    monkeypatch.setenv(NO_COMPACTION, "false")
    repo = build(tmp_path / "repo", "reftable", hash_, bare=True)
    names = [f"refs/heads/{i:04d}" for i in range(1000)]
    repo.create(*names)
    for at in (1, 2):
        repo.create(*names[::2], at=at)
    repo.update(*(f"delete {name}" for name in names[:300]))
    before = stack_of(repo)
    repo.git("pack-refs")
    after = stack_of(repo)
    assert (after.tables, after.shadowed, after.tombstones) == (1, 0, 0)
    assert (after.compacting_saves, after.compacting_frees) == (0, 0)
    assert before.compacting_saves == before.tables - after.tables
    freed = before.bytes - after.bytes
    assert 0.8 * freed < before.compacting_frees < 1.2 * freed


@pytest.mark.parametrize("refs", FORMATS)
@pytest.mark.parametrize("hash_", HASHES)
def test_a_new_repository_has_nothing(tmp_path: Path, refs: Format, hash_: Hash) -> None:
    repo = build(tmp_path / "repo", refs, hash_, bare=True)
    found = stats(repo.store())
    assert (found.refs, found.namespaces, found.no_namespace) == (0, {}, 0)
    assert found.reflogs == ReflogStats(0, 0, 0)
    if refs == "files":
        assert found.files == FilesStats(0, 0, 0, 0, (), 0, 0, 0)
    else:
        # Only HEAD.
        assert (stack_of(repo).tables, stack_of(repo).live, stack_of(repo).compacting_frees) == (1, 1, 0)


def test_an_empty_stack_has_nothing(tmp_path: Path) -> None:
    found = stack_stats(write_stack(tmp_path / "stack", []), "sha1")
    assert found == StackStats(str(tmp_path / "stack"), 0, 0, 0, 0, 0, 0, (), 0, 0, 0)


def test_an_empty_table_is_all_header_and_footer(tmp_path: Path) -> None:
    for hash_, shape in {"sha1": Shape(), "sha256": Shape(version=2, hash_id=b"s256")}.items():
        data = write_records(shape=shape).data
        found = stack_stats(write_stack(tmp_path / hash_, [data]), hash_)  # type: ignore[arg-type]
        assert (found.tables, found.bytes, found.sections) == (1, len(data), ())


@pytest.mark.parametrize("refs", FORMATS)
def test_refs_that_lie_elsewhere_are_looked_at_there(tmp_path: Path, refs: Format) -> None:
    repo = build(tmp_path / "repo", refs, bare=True)
    repo.create("refs/heads/main")
    move_storage(repo, refs, tmp_path / "elsewhere")
    repo.git("config", "core.repositoryFormatVersion", "1")
    repo.loose(
        "config", (repo.gitdir / "config").read_text() + f"[extensions]\n\trefStorage = {refs}://{tmp_path}/elsewhere\n"
    )
    assert [ref.name for ref in repo.store()] == ["refs/heads/main"]
    found = stats(repo.store())
    assert found.refs == 1
    if refs == "files":
        assert found.files is not None
        assert (found.files.loose, found.files.packed) == (1, 0)
    else:
        (stack,) = found.stacks
        assert Path(stack.path) == tmp_path / "elsewhere/reftable"
        assert stack.tables == len(list((tmp_path / "elsewhere/reftable").glob("*.ref")))


def test_all_that_is_told_is_told_in_json_too(place: Repository, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["stats", str(place.path), "--json"]) == 0
    out, err = capsysbinary.readouterr()
    assert (out.count(b"\n"), err) == (1, b"")
    found = stats(place.store())
    assert json.loads(out) == json.loads(json.dumps(found.to_dict()))
    assert json.loads(out)["namespaces"] == found.namespaces


def numbers_of(shown: str) -> dict[str, int]:
    """The number of each label."""
    found = {}
    for line in shown.splitlines()[1:]:
        label, number = re.fullmatch(r" *(.+?)  +([\d,]+)(?:  .*)?", line).groups()  # type: ignore[union-attr]
        found[label] = int(number.replace(",", ""))
    return found


def test_the_text_has_the_numbers(place: Repository, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["stats", str(place.path)]) == 0
    out, err = capsysbinary.readouterr()
    assert err == b""
    found, numbers = stats(place.store()), numbers_of(out.decode())
    assert out.startswith(f"{found.path}: {found.format}, {found.hash}\n".encode())
    for label in ("refs", "symbolic", "annotated", "broken"):
        assert numbers[label] == getattr(found, label)
    assert {label: numbers[label] for label in found.namespaces} == found.namespaces
    assert (numbers["in none"], numbers["reflogs"]) == (found.no_namespace, found.reflogs.logs)
    if found.files:
        assert (numbers["loose"], numbers["packed"]) == (found.files.loose, found.files.packed)
        assert numbers["overridden"] == found.files.overridden > 0
    else:
        assert (numbers["tables"], numbers["records"]) == (found.stacks[-1].tables, found.stacks[-1].records)


def numbered(count: int) -> Stats:
    """A repository of many refs in as many namespaces."""
    spaces = {f"refs/n{i:03d}": i for i in range(1, count + 1)}
    return Stats("/r", "files", "sha1", 10**6, spaces, 0, 0, 0, 0, None, (), ReflogStats(0, 0, 0))


def test_the_text_is_aligned() -> None:
    first, refs, *lines = text(numbered(3)).splitlines()
    assert (first, refs) == ("/r: files, sha1", "refs         1,000,000")
    assert lines[0] == "  refs/n003          3"
    width = len(refs)
    assert all(line[width - 1].isdigit() and line[width:].strip() == line[width + 2 :] for line in lines)
    assert lines[-1] == "reflogs              0  0 entries, 0 bytes"


def test_namespaces_beyond_the_twenty_largest_are_summed_up() -> None:
    for count in (20, 21, 100):
        numbers = numbers_of(text(numbered(count)))
        named = {label: number for label, number in numbers.items() if label.startswith("refs/")}
        assert named == {f"refs/n{i:03d}": i for i in range(count - 19, count + 1)}
        assert numbers.get("others") == (sum(range(1, count - 19)) or None)


def test_what_would_steer_a_terminal_is_not_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    repo = build(tmp_path / "repo", bare=True)
    write_packed(repo.gitdir / "packed-refs", [Ref(b"refs/\x1b[2J/a", OID, None)])
    assert main(["stats", str(repo.path)]) == 0
    out = capfd.readouterr().out
    assert "refs/?[2J" in out
    assert "\x1b" not in out


def run(*args: str | Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "refspan", *args], capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize("damage", ["packed-refs", "tables.list", "missing"])
def test_what_is_missing_or_damaged_has_the_exit_code_of_git(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "none"
    if damage != "missing":
        repo = build(tmp_path / "repo", "files" if damage == "packed-refs" else "reftable", bare=True)
        path = repo.path
        file = repo.gitdir / damage if damage == "packed-refs" else repo.gitdir / "reftable" / damage
        file.write_bytes(b"nonsense\n")
    done = run("stats", path)
    assert (done.returncode, done.stdout) == (128, b"")
    assert done.stderr.startswith(b"refspan: ")
    assert done.stderr.count(b"\n") == 1
    if damage != "missing":
        with pytest.raises(refspan.CorruptError):
            stats(refspan.open(path))


def test_a_path_is_taken_from_the_directory_of_c(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo", bare=True)
    assert run("-C", tmp_path, "stats", "repo").stdout == run("stats", repo.path).stdout != b""


def test_wrong_usage_has_the_exit_code_of_git() -> None:
    assert run("stats").returncode == 129


@pytest.mark.slow
def test_a_large_repository_is_counted(repository: Builder, stacked: StackBuilder, many: int) -> None:
    in_files, in_tables = (stats(refspan.open(path)) for path in (repository(many), stacked(many)))
    assert in_files.refs == in_tables.refs == many
    assert in_files.namespaces == in_tables.namespaces
    names = Counter(
        "/".join(name.split("/")[:2])
        for name in git("for-each-ref", "--format=%(refname)", cwd=repository(many))
        .decode("utf-8", "replace")
        .splitlines()
    )
    assert in_files.namespaces == names
    peeled = sum(ref.peeled is not None for ref in git_listing(repository(many)))
    assert in_files.annotated == in_tables.annotated == peeled > 0
