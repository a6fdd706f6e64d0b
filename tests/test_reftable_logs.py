"""Reflogs in tables and stacks: entry by entry what git keeps in files, or says of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from refspan import LogEntry, Reftable, ReftableStack
from reftable_support import (
    NO_COMPACTION,
    empty_repository,
    fixtures,
    needs_reftables,
    twin_in_files,
    update_refs,
)
from support import HASHES, Hash, git

pytestmark = needs_reftables


@pytest.fixture(autouse=True)
def no_compaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NO_COMPACTION, "false")


def line(entry: LogEntry) -> str:
    """An entry as it stands in a reflog file, but for the TAB that git writes before some empty messages."""
    who = f"{entry.committer_name} <{entry.committer_email}> {entry.time} {entry.tz}"
    return f"{entry.old} {entry.new} {who}\t{entry.message}".rstrip()


def lines(entries: Iterable[LogEntry]) -> dict[str, list[str]]:
    """The lines of each ref, newest first."""
    told: dict[str, list[str]] = {}
    for entry in entries:
        told.setdefault(entry.ref, []).append(line(entry))
    return told


def files_lines(gitdir: Path) -> dict[str, list[str]]:
    """The same from the files of a repository in files format."""
    logs = gitdir / "logs"
    files = {str(path.relative_to(logs)): path for path in sorted(logs.rglob("*")) if path.is_file()}
    text = {name: path.read_text("utf-8", "surrogateescape") for name, path in files.items()}
    told = {name: [line.rstrip() for line in reversed(content.split("\n")[:-1])] for name, content in text.items()}
    return {name: entries for name, entries in told.items() if entries}


def assert_every_way_agrees(reader: Reftable | ReftableStack) -> None:
    """What is found by the exact name of a ref is what a scan shows of it, and nothing is left."""
    entries = list(reader.logs())
    assert [entry.ref for entry in entries] == sorted((entry.ref for entry in entries), key=str.encode)
    for name, count in Counter(entry.ref for entry in entries).items():
        own = [entry for entry in entries if entry.ref == name]
        found = list(reader.logs(name))
        assert found[:count] == own
        # What else starts with the name comes behind it.
        assert found == [entry for entry in entries if entry.ref.startswith(name)]
        indices = [entry.update_index for entry in own]
        assert indices == sorted(set(indices), reverse=True)


def history(repo: Path, commits: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Things that happen to refs, in time zones of all kinds."""
    git("config", "core.logAllRefUpdates", "always", cwd=repo)
    main, feature, third = commits

    def at(zone: str, time: int, *args: str, who: str = "Committer") -> None:
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"@{time} {zone}")
        monkeypatch.setenv("GIT_COMMITTER_NAME", who)
        git(*args, cwd=repo)

    at("+0530", 1_700_000_000, "update-ref", "-m", "created", "refs/heads/main", main)
    at("-0330", 1_700_000_001, "update-ref", "-m", "moved", "refs/heads/main", feature)
    at("+1345", 1_700_000_002, "update-ref", "refs/heads/main", third)
    at("-0001", 1_700_000_003, "update-ref", "-m", " spaces   and\ttabs ", "refs/heads/main", main)
    at("+0000", 1, "update-ref", "-m", "x" * 1000, "refs/heads/main", feature)
    at("-1200", 4_000_000_000, "update-ref", "-m", "größe", "refs/heads/größe", main, who="Größe Ünter")
    at("+0000", 1_700_000_004, "update-ref", "-m", "to be deleted", "refs/heads/gone", main)
    at("+0000", 1_700_000_005, "update-ref", "-d", "refs/heads/gone")
    at("+0000", 1_700_000_006, "update-ref", "-m", "first life", "refs/heads/phoenix", main)
    at("+0000", 1_700_000_007, "update-ref", "-m", "first life goes on", "refs/heads/phoenix", feature)
    at("+0000", 1_700_000_008, "update-ref", "-d", "refs/heads/phoenix")
    at("+0000", 1_700_000_009, "update-ref", "-m", "second life", "refs/heads/phoenix", third)
    at("+0000", 1_700_000_010, "symbolic-ref", "-m", "switched", "HEAD", "refs/heads/phoenix")
    at("+0000", 1_700_000_011, "update-ref", "-m", "by HEAD", "HEAD", main)
    at("+0000", 1_700_000_013, "reflog", "delete", "refs/heads/main@{1}")
    at("+0000", 1_700_000_014, "tag", "-m", "annotated", "v1", main)


@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("compacted", [False, True])
def test_reflogs_are_those_that_git_keeps_in_files(
    tmp_path: Path, hash_: Hash, compacted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for refs, commits in {
        refs: empty_repository(tmp_path / refs, hash_, refs) for refs in ("files", "reftable")
    }.items():
        history(tmp_path / refs, commits, monkeypatch)
    if compacted:
        git("pack-refs", cwd=tmp_path / "reftable")
    stack = ReftableStack(tmp_path / "reftable/reftable")
    assert (len(stack.tables) == 1) == compacted
    assert lines(stack.logs()) == files_lines(tmp_path / "files")
    assert_every_way_agrees(stack)


def git_messages(repo: Path, ref: str) -> list[str]:
    """The messages of a reflog, newest first."""
    return git("log", "-g", "--format=%gs", ref, "--", cwd=repo).decode().splitlines()


@pytest.mark.parametrize("length", [1, 2000, 4000, 100_000])
def test_a_message_is_as_long_as_git_says(tmp_path: Path, length: int) -> None:
    main, feature, _ = empty_repository(tmp_path)
    git("config", "core.logAllRefUpdates", "always", cwd=tmp_path)
    git("update-ref", "-m", "x" * length, "refs/heads/main", main, cwd=tmp_path)
    git("update-ref", "-m", "next", "refs/heads/main", feature, cwd=tmp_path)
    entries = list(ReftableStack(tmp_path / "reftable").logs("refs/heads/main"))
    # Git itself cuts what does not fit into half a block.
    assert [entry.message for entry in entries] == git_messages(tmp_path, "refs/heads/main")


def test_a_log_that_merely_exists_is_shown_by_its_table_alone(tmp_path: Path) -> None:
    main, *_ = empty_repository(tmp_path)
    git("config", "core.logAllRefUpdates", "false", cwd=tmp_path)
    git("update-ref", "--create-reflog", "refs/heads/main", main, cwd=tmp_path)
    git("reflog", "expire", "--expire=all", "refs/heads/main", cwd=tmp_path)
    stack = ReftableStack(tmp_path / "reftable")
    assert [*stack.logs("refs/heads/main")] == []
    assert git("reflog", "exists", "refs/heads/main", cwd=tmp_path) == b""
    (marker,) = (entry for entry in stack.tables[-1].logs() if entry.kind == "update")
    assert (marker.ref, marker.old, marker.new, marker.message) == ("refs/heads/main", "0" * 40, "0" * 40, "")
    assert (marker.committer_name, marker.committer_email, marker.time, marker.tz) == ("", "", 0, "+0000")


def test_entries_of_a_deleted_ref_are_tombstones_in_its_table(tmp_path: Path) -> None:
    main, feature, _ = empty_repository(tmp_path)
    git("config", "core.logAllRefUpdates", "always", cwd=tmp_path)
    git("update-ref", "refs/heads/a", main, cwd=tmp_path)
    git("update-ref", "refs/heads/a", feature, cwd=tmp_path)
    git("update-ref", "-d", "refs/heads/a", cwd=tmp_path)
    stack = ReftableStack(tmp_path / "reftable")
    assert list(stack.logs("refs/heads/a")) == []
    deleted = [entry for entry in stack.tables[-1].logs() if entry.kind == "deletion"]
    assert [entry.update_index for entry in deleted] == [3, 2]
    for entry in deleted:
        fields = (entry.old, entry.new, entry.committer_name, entry.committer_email, entry.time, entry.tz, entry.when)
        assert fields == (None,) * 7
        assert entry.message is None


@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("block_size", [256, 4096])
def test_many_entries_are_read_as_git_reads_them(tmp_path: Path, block_size: int, hash_: Hash) -> None:
    commits = empty_repository(tmp_path, hash_)
    git("config", "core.logAllRefUpdates", "always", cwd=tmp_path)
    git("config", "reftable.blockSize", str(block_size), cwd=tmp_path)
    for i in range(12):
        update_refs(tmp_path, *(f"update refs/heads/{ref:03} {commits[i % 3]}" for ref in range(100)))
    git("pack-refs", cwd=tmp_path)
    stack = ReftableStack(tmp_path / "reftable")
    (table,) = stack.tables
    # Only a section of more than three blocks has an index.
    assert [block.kind for block in table.blocks()].count("log") > 3
    for ref in range(0, 100, 9):
        name = f"refs/heads/{ref:03}"
        assert [entry.new for entry in stack.logs(name)] == git("rev-list", "-g", name, cwd=tmp_path).decode().split()
    assert len(list(stack.logs())) == 1200
    assert_every_way_agrees(stack)


@pytest.mark.parametrize("tables_list", fixtures("**/tables.list"))
def test_logs_of_other_programs_are_found_by_seek_as_by_scan(tables_list: Path) -> None:
    stack = ReftableStack(tables_list.parent)
    if len(list(stack.logs())) < 1000:
        assert_every_way_agrees(stack)
        for table in stack.tables:
            assert_every_way_agrees(table)
    for entry in list(stack.logs())[::50]:
        assert entry in list(stack.logs(entry.ref))


@pytest.mark.parametrize("tables_list", fixtures("libgit2/tests/resources/reftable/**/tables.list"))
def test_a_repository_in_both_formats_has_the_same_logs(tables_list: Path) -> None:
    twin = twin_in_files(tables_list.parent)
    # In push_src other people did it.
    if twin is None or not (twin / "logs").exists() or "push_src" in twin.parts:
        pytest.skip("the other format holds something else")
    assert lines(ReftableStack(tables_list.parent).logs()) == files_lines(twin)
