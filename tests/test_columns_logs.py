"""Reflogs, changes and the blocks of a table as Arrow columns, through each consumer."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

import pytest
import refspan
from columns_support import (
    LOG_FIELDS,
    Consumer,
    Row,
    by_pyarrow,
    in_seconds,
    read,
    rows_of_log,
    text,
    through_each_consumer,
    warned_of,
)
from reftable_support import NO_COMPACTION, SMALL, StackBuilder, needs_reftables, write_table
from reftable_support import Row as TableRow
from reftable_writer import LogRow
from store_models import expected
from store_support import (
    FORMATS,
    LATIN1,
    SAMPLES,
    Format,
    Repository,
    Shown,
    build,
    encode,
    file_lines,
    git_log,
    git_refs,
    line,
    sample,
    sample_name,
)
from support import HASHES, Hash

NAME = "refs/heads/main"
WITH_NAMES = (*LOG_FIELDS, "ref_bytes")


@pytest.fixture(scope="module", params=SAMPLES, ids=sample_name)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Each worktree of each repository with refs of all kinds, which log everything."""
    return sample(tmp_path_factory.getbasetemp(), request.param)


def logs_of(store: refspan.RefStore | refspan.Snapshot) -> list[Row]:
    """All entries as iterating yields them, names in order, newest entry first, with the bytes of the name."""
    return [
        (*row, encode(name))
        for name in store.reflogs()
        for row in rows_of_log(list(store.reflog(name, reverse=True)), newest_first=True)
    ]


@through_each_consumer
def test_all_logs_are_those_that_iterating_yields(place: Repository, consume: Consumer) -> None:
    store = place.store()
    lost = sum(1 for _ in store.reflog(LATIN1))
    assert lost > 0
    for refs in (store, store.snapshot()):
        with warned_of(lost):
            frame = consume(refs.reflogs().columns(WITH_NAMES))
        assert frame.fields == WITH_NAMES
        assert in_seconds(frame) == logs_of(refs)
        with warned_of(lost):
            assert in_seconds(consume(refs.reflogs())) == [row[:-1] for row in logs_of(refs)]


def shown(rows: Iterable[Row]) -> list[Shown]:
    """Rows in the shape of `git_log`."""
    return [Shown(new, who, email, time, tz, message) for _, _, new, who, email, time, tz, message, *_ in rows]


def lines(rows: Iterable[Row]) -> list[str]:
    """Rows in the shape of `file_lines`, oldest first."""
    texts = [
        f"{old} {new} {who} <{email}> {time} {tz}\t{message}".rstrip("\t")
        for _, old, new, who, email, time, tz, message, *_ in rows
    ]
    return texts[::-1]


log_of = functools.cache(git_log)


@through_each_consumer
def test_a_log_is_what_git_shows(place: Repository, consume: Consumer) -> None:
    store = place.store()
    for refs in (store, store.snapshot()):
        for name in ("HEAD", NAME, "refs/bisect/bad"):
            newest_first = in_seconds(consume(refs.reflog(name, reverse=True)))
            assert shown(newest_first) == log_of(place, name)
            assert [(ref, index) for ref, *_, index in newest_first] == [(name, i) for i in range(len(newest_first))]
            assert len(newest_first) > 0
            assert in_seconds(consume(refs.reflog(name))) == newest_first[::-1]


@through_each_consumer
@pytest.mark.parametrize("hash_", HASHES)
def test_logs_are_the_lines_of_their_files(tmp_path: Path, hash_: Hash, consume: Consumer) -> None:
    repo = build(tmp_path / "repo", "files", hash_)
    for at, zone in enumerate(("+0530", "-0001", "+1345")):
        who = f"{repo.commits[at - 1]} {repo.commits[at]} Größe Ünter <g@example.com> {1_700_000_000 + at} {zone}"
        repo.loose(f"logs/{NAME}", f"{who}\t\N{SNOWMAN} two\ttabs {at}\n" * 3)
        repo.loose(f"logs/refs/heads/{at}", f"{who}\n{who}\tno more\n")
    rows = in_seconds(consume(repo.store().reflogs()))
    names = ["refs/heads/0", "refs/heads/1", "refs/heads/2", NAME]
    assert list(dict.fromkeys(row[0] for row in rows)) == names
    for name in names:
        assert lines(row for row in rows if row[0] == name) == file_lines(repo.gitdir / "logs" / name)


@pytest.mark.parametrize("refs", FORMATS)
def test_a_log_that_is_being_read_is_whole_as_a_frame(tmp_path: Path, refs: Format) -> None:
    repo = build(tmp_path, refs)
    for at in range(3):
        repo.create(NAME, at=at)
    log = repo.store().reflog(NAME)
    first = next(log)
    assert [row[2] for row in read(log)] == list(repo.commits)
    assert [first.new, *(entry.new for entry in log)] == list(repo.commits)
    assert len(read(log)) == 3


@pytest.mark.parametrize("refs", FORMATS)
def test_only_logs_of_such_names_are_in_it(tmp_path: Path, refs: Format) -> None:
    repo = build(tmp_path / "repo", refs)
    repo.git("config", "core.logAllRefUpdates", "always")
    there = ["refs/heads/a", "refs/heads/ab", "refs/tags/a"]
    repo.create(*there)
    store = repo.store()
    for prefix, glob, wanted in (
        ("refs/heads/", None, there[:2]),
        ("refs/heads/ab", None, there[1:2]),
        ("none", None, []),
        (None, "refs/*/a", [there[0], there[2]]),
        (None, "refs/heads", there[:2]),
        ("refs/t", "refs/**", there[2:]),
    ):
        for logs in (store.reflogs(), store.snapshot().reflogs()):
            assert [row[0] for row in read(logs.columns(["ref"], prefix=prefix, glob=glob))] == wanted
        one = store.reflog("refs/heads/ab").columns(["ref"], prefix=prefix, glob=glob)
        assert [row[0] for row in read(one)] == [name for name in wanted if name == "refs/heads/ab"]


def entries_of(entries: Iterable[refspan.LogEntry]) -> list[Row]:
    """Entries of a table: ref, old, new, name, email, time, zone, message, update index."""
    return [
        (
            text(entry.ref),
            entry.old,
            entry.new,
            text(entry.committer_name),
            text(entry.committer_email),
            entry.time,
            entry.tz,
            text(entry.message),
            entry.update_index,
        )
        for entry in entries
    ]


TABLE_FIELDS = (*LOG_FIELDS[:-1], "update_index")


@needs_reftables
@through_each_consumer
def test_the_logs_of_tables_are_those_that_iterating_yields(
    tmp_path: Path, consume: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NO_COMPACTION, "false")
    repo = build(tmp_path / "repo", "reftable")
    for at in range(3):
        repo.create(NAME, "refs/heads/other", at=at)
    repo.git("reflog", "delete", f"{NAME}@{{1}}")
    repo.update("delete refs/heads/other")
    stack = refspan.ReftableStack(repo.gitdir / "reftable")
    assert shown(in_seconds(consume(stack.logs(NAME).columns(LOG_FIELDS)))) == git_log(repo, NAME)
    readers: list[refspan.Reftable | refspan.ReftableStack] = [stack, *stack.tables]
    for refs in readers:
        assert in_seconds(consume(refs.logs().columns(TABLE_FIELDS))) == entries_of(refs.logs())
        begun = refs.logs()
        next(begun, None)
        assert in_seconds(consume(begun.columns(TABLE_FIELDS))) == entries_of(refs.logs())
    tombstones = [row for table in stack.tables for row in in_seconds(by_pyarrow(table.logs())) if row[1] is None]
    assert tombstones
    assert {row[1:8] for row in tombstones} == {(None,) * 7}


@needs_reftables
def test_a_prefix_of_logs_and_one_of_their_columns_both_hold(tmp_path: Path) -> None:
    rows = [LogRow(b"refs/heads/%d" % i, 1, b"\1" * 20, b"\2" * 20) for i in range(30)]
    table = refspan.Reftable(write_table(tmp_path / "1.ref", logs=rows, shape=SMALL))
    for first in ("", "refs/heads/1", "refs/heads/12"):
        for second in ("", "refs/", "refs/heads/1", "refs/heads/12", "refs/heads/2"):
            found = read(table.logs(first).columns(["ref"], prefix=second))
            both = [row.name.decode() for row in sorted(rows) if row.name.startswith(first.encode())]
            assert [row[0] for row in found] == [name for name in both if name.startswith(second)]


Values = dict[str, str]


def values(repo: Repository) -> Values:
    return {ref.name: ref.oid or f"ref:{ref.target}" for ref in git_refs(repo, "--include-root-refs")}


@through_each_consumer
@pytest.mark.parametrize("refs", FORMATS)
@pytest.mark.parametrize("hash_", HASHES)
def test_changes_are_what_git_lists_before_and_after(
    tmp_path: Path, refs: Format, hash_: Hash, consume: Consumer
) -> None:
    repo = build(tmp_path / "repo", refs, hash_)
    repo.create(NAME, "refs/heads/gone", "refs/heads/moved", LATIN1)
    repo.symref("refs/heads/alias", NAME)
    before, were = repo.store().snapshot(), values(repo)
    repo.update("delete refs/heads/gone")
    repo.create("refs/heads/moved", LATIN1, "refs/tags/new", at=1)
    repo.symref("refs/heads/alias", "refs/heads/moved")
    changes = expected(were, values(repo))
    assert {kind for kind, *_ in changes} == {"create", "update", "delete"}
    fields = ("kind", "name", "before", "after", "namespace", "name_bytes")
    rows = [(kind, text(name), old, new, name.rpartition("/")[0], encode(name)) for kind, name, old, new in changes]
    diff = refspan.diff(before, repo.store())
    with warned_of(1):
        assert consume(diff.columns(fields)) == (fields, rows)
    with warned_of(1):
        assert consume(diff) == (("name", "kind", "before", "after"), [(row[1], row[0], *row[2:4]) for row in rows])
    assert [change.name for change in diff] == [name for _, name, _, _ in changes]
    assert [row[0] for row in read(diff.columns(["name"], prefix="refs/t"))] == ["refs/tags/new"]
    assert [row[0] for row in read(diff.columns(["name"], glob="refs/*/[am]*"))] == [
        "refs/heads/alias",
        "refs/heads/moved",
    ]


@through_each_consumer
@pytest.mark.parametrize("refs", FORMATS)
def test_changes_of_logs_are_lines_of_them(tmp_path: Path, refs: Format, consume: Consumer) -> None:
    repo = build(tmp_path / "repo", refs)
    repo.create(NAME, "refs/heads/quiet")
    before = repo.store().snapshot()
    repo.git("update-ref", "-m", "moved <b>", NAME, repo.commits[1])
    repo.create("refs/heads/new", at=2)
    diff = refspan.diff(before, repo.store(), reflogs=True)
    rows = consume(diff).rows
    moved = next(repo.store().reflog(NAME, reverse=True))
    logs = {name: (old, new) for name, kind, old, new in rows if kind == "reflog"}
    assert logs[NAME] == (None, line(moved))
    assert line(moved).endswith("\tmoved <b>")
    assert [(row[0], row[1]) for row in rows] == [(change.name, change.kind) for change in diff]
    assert {"refs/heads/new", NAME} <= logs.keys()
    assert "refs/heads/quiet" not in logs


@needs_reftables
@through_each_consumer
@pytest.mark.parametrize("hash_", HASHES)
def test_the_blocks_of_a_table_are_those_that_it_lists(stacked: StackBuilder, hash_: Hash, consume: Consumer) -> None:
    (table,) = refspan.ReftableStack(stacked(1000, hash_) / "reftable").tables
    layout = table.blocks()
    rows = [(block.kind, block.offset, block.length, block.records, block.restarts) for block in layout]
    assert {row[0] for row in rows} == {"ref", "index", "obj"}
    assert consume(layout) == (("kind", "offset", "length", "records", "restarts"), rows)
    assert consume(layout.columns(["records", "kind"])) == (("records", "kind"), [(row[3], row[0]) for row in rows])


@needs_reftables
@through_each_consumer
def test_a_table_of_nothing_has_no_blocks(tmp_path: Path, consume: Consumer) -> None:
    table = refspan.Reftable(write_table(tmp_path / "1.ref", list[TableRow]()))
    assert consume(table.blocks()).rows == []
    assert consume(table.logs()) == (LOG_FIELDS, [])
