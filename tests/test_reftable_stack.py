"""Stacks of several tables: the newest wins, what was deleted is gone, and nothing that git does meanwhile is seen."""

from __future__ import annotations

import gc
import itertools
import random
import shutil
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refspan import CorruptError, ReftableStack
from reftable_support import (
    NO_COMPACTION,
    SHAPES,
    Row,
    empty_repository,
    git_rows,
    listed,
    needs_reftables,
    rows,
    update_refs,
    write_table,
)
from reftable_writer import Shape
from support import HASHES, Hash, git

OID, OTHER = b"1" * 40, b"2" * 40

pytestmark = needs_reftables


@pytest.fixture(autouse=True)
def no_compaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NO_COMPACTION, "false")


def random_changes(rng: random.Random, there: set[str], commits: Sequence[str]) -> list[str]:
    """Commands that create, update and delete a few of thirty refs; keeps the account of what is there."""
    commands = []
    for name in rng.sample([f"refs/heads/{i}/{i}" for i in range(30)], 4):
        if name in there and rng.random() < 0.4:
            there.remove(name)
            commands.append(f"delete {name}")
        else:
            there.add(name)
            commands.append(f"update {name} {rng.choice(commits)}")
    return commands


@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("count", [1, 2, 10, 50])
def test_a_stack_of_many_tables_is_read_as_git_reads_it(tmp_path: Path, count: int, hash_: Hash) -> None:
    commits = empty_repository(tmp_path / "repo.git", hash_)
    rng, there = random.Random(count), set[str]()
    # The first table holds HEAD.
    for _ in range(count - 1):
        update_refs(tmp_path / "repo.git", *random_changes(rng, there, commits))
    stack = ReftableStack(tmp_path / "repo.git/reftable")
    assert len(stack.tables) == count
    assert rows(stack) == git_rows(tmp_path / "repo.git")
    assert {ref.refname for ref in stack} == there | {"HEAD"}
    for i in range(30):
        name = f"refs/heads/{i}/{i}"
        assert (name in stack) == (name in there)
        assert [ref.refname for ref in stack.refs(name)] == [name] * (name in there)


def test_compacting_changes_nothing(tmp_path: Path) -> None:
    commits = empty_repository(tmp_path / "repo.git")
    rng, there = random.Random(1), set[str]()
    for _ in range(20):
        update_refs(tmp_path / "repo.git", *random_changes(rng, there, commits))
    stack = ReftableStack(tmp_path / "repo.git/reftable")
    before = [(row, ref.update_index) for row, ref in zip(rows(stack), stack, strict=True)]
    git("pack-refs", cwd=tmp_path / "repo.git")
    assert stack.reload()
    assert len(stack.tables) == 1
    assert [(row, ref.update_index) for row, ref in zip(rows(stack), stack, strict=True)] == before


def test_a_table_shows_its_tombstones_and_a_stack_hides_them(tmp_path: Path) -> None:
    main, *_ = empty_repository(tmp_path)
    update_refs(tmp_path, f"create refs/heads/a {main}", f"create refs/heads/b {main}")
    update_refs(tmp_path, "delete refs/heads/a")
    stack = ReftableStack(tmp_path / "reftable")
    (deleted,) = stack.tables[2]
    assert (deleted.refname, deleted.kind, deleted.oid, deleted.target) == ("refs/heads/a", "deletion", None, None)
    assert [ref.refname for ref in stack.refs("refs/")] == ["refs/heads/b"]
    assert "refs/heads/a" in stack.tables[2]
    assert "refs/heads/a" not in stack


def test_the_tables_are_listed_oldest_first(tmp_path: Path) -> None:
    main, *_ = empty_repository(tmp_path)
    for i in range(3):
        update_refs(tmp_path, f"create refs/heads/{i} {main}")
    stack = ReftableStack(tmp_path / "reftable")
    names = (tmp_path / "reftable/tables.list").read_text().split()
    assert [table.path for table in stack.tables] == [str(tmp_path / "reftable" / name) for name in names]
    assert [table.max_update_index for table in stack.tables] == [1, 2, 3, 4]
    assert (stack.min_update_index, stack.max_update_index) == (1, 4)


def test_the_later_table_wins_whatever_the_indices_say(tmp_path: Path) -> None:
    newer = write_table(tmp_path / "1.ref", [Row(b"refs/heads/a", OID)], limits=(9, 9))
    older = write_table(tmp_path / "2.ref", [Row(b"refs/heads/a", OTHER)], limits=(0, 0))
    stack = ReftableStack(listed(tmp_path / "stack", [newer, older]))
    assert rows(stack) == [Row(b"refs/heads/a", OTHER)]
    assert (stack.min_update_index, stack.max_update_index) == (0, 9)


def test_a_prefix_ends_before_a_sea_of_tombstones(tmp_path: Path) -> None:
    refs = [Row(b"refs/heads/%05d" % i, OID) for i in range(8000)]
    older = write_table(tmp_path / "1.ref", [*refs, Row(b"refs/tags/v1", OID)])
    newer = write_table(tmp_path / "2.ref", (Row(row.name) for row in refs[10:]), limits=(2, 2))
    stack = ReftableStack(listed(tmp_path / "stack", [older, newer]))
    assert rows(stack.refs("refs/heads/")) == refs[:10]
    assert rows(stack.refs("refs/heads/0001")) == []
    assert rows(stack.refs("refs/", start_after="refs/heads/00009")) == [Row(b"refs/tags/v1", OID)]
    assert len(stack) == 11
    assert stack


def test_a_stack_of_tombstones_alone_is_empty(tmp_path: Path) -> None:
    older = write_table(tmp_path / "1.ref", [Row(b"refs/heads/a", OID)])
    newer = write_table(tmp_path / "2.ref", [Row(b"refs/heads/a")])
    stack = ReftableStack(listed(tmp_path / "stack", [older, newer]))
    assert not stack
    assert len(stack) == 0
    assert not [*stack, *stack.names(), *stack.points_at(OID)]


some_name = st.integers(0, 40).map(lambda i: b"refs/%d" % i)
some_change = st.builds(
    lambda name, kind: kind._replace(name=name),
    some_name,
    st.sampled_from([Row(b""), Row(b"", OID), Row(b"", OTHER, OID), Row(b"", target=b"refs/1")]),
)
some_limit = st.sampled_from([b"", b"r", b"refs/", b"refs/1", b"refs/10", b"refs/2", b"refs/39", b"s"])


@given(
    tables=st.lists(st.lists(some_change, unique_by=lambda row: row.name, max_size=40), max_size=5),
    shape=st.sampled_from([*SHAPES.values()]),
    prefix=some_limit,
    start_after=st.none() | some_limit,
    exclude=st.lists(some_limit, max_size=3),
)
def test_a_stack_is_its_tables_laid_over_each_other(
    scratch: Path,
    tables: list[list[Row]],
    shape: Shape,
    prefix: bytes,
    start_after: bytes | None,
    exclude: list[bytes],
) -> None:
    files = [
        write_table(scratch.with_name(f"{i}.ref"), refs, limits=(i, i), shape=shape) for i, refs in enumerate(tables)
    ]
    stack = ReftableStack(listed(scratch.with_name("stack"), files))
    merged = {row.name: row for refs in tables for row in refs}
    refs = sorted((row for row in merged.values() if row.oid or row.target), key=lambda row: row.name)
    assert rows(stack) == refs
    assert rows(stack.refs(prefix, start_after=start_after, exclude=exclude)) == [
        row
        for row in refs
        if row.name.startswith(prefix)
        and (start_after is None or row.name > start_after)
        and not any(row.name == limit or row.name.startswith(limit.rstrip(b"/") + b"/") for limit in exclude if limit)
    ]
    assert [name for name in merged if name in stack] == [name for name in merged if merged[name] in refs]
    assert len(stack) == len(refs)
    assert bool(stack) == bool(refs)


CHANGES: dict[str, Callable[[Path], object]] = {
    "update": lambda repo: git("update-ref", "refs/heads/b", "refs/heads/a", cwd=repo),
    "compaction": lambda repo: git("pack-refs", cwd=repo),
    "removal": lambda repo: shutil.rmtree(repo / "reftable"),
    # Same content, same times.
    "replacement": lambda repo: (
        shutil.copy2(repo / "reftable/tables.list", repo / "new")
        and (repo / "new").replace(repo / "reftable/tables.list")
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_stack_makes_its_reader_stale(tmp_path: Path, change: Callable[[Path], object]) -> None:
    main, *_ = empty_repository(tmp_path)
    update_refs(tmp_path, f"create refs/heads/a {main}")
    stack = ReftableStack(tmp_path / "reftable")
    before = rows(stack)
    assert not stack.is_stale()
    change(tmp_path)
    assert stack.is_stale()
    assert rows(stack) == before


def test_reload_takes_over_what_has_changed(tmp_path: Path) -> None:
    main, *_ = empty_repository(tmp_path)
    stack = ReftableStack(tmp_path / "reftable")
    assert not stack.reload()
    update_refs(tmp_path, f"create refs/heads/a {main}")
    assert "refs/heads/a" not in stack
    assert stack.reload()
    assert stack["refs/heads/a"].hex == main
    assert not stack.is_stale()
    assert not stack.reload()
    assert len(stack) == 2


def test_length_is_counted_anew_after_a_reload(tmp_path: Path) -> None:
    main, *_ = empty_repository(tmp_path)
    stack = ReftableStack(tmp_path / "reftable")
    assert len(stack) == 1
    update_refs(tmp_path, f"create refs/heads/a {main}")
    assert len(stack) == 1
    stack.reload()
    assert len(stack) == 2


def test_a_reload_that_fails_keeps_what_there_was(tmp_path: Path) -> None:
    empty_repository(tmp_path)
    stack = ReftableStack(tmp_path / "reftable")
    (tmp_path / "reftable/tables.list").write_bytes(b"../x.ref\n")
    with pytest.raises(CorruptError):
        stack.reload()
    assert rows(stack) == [Row(b"HEAD", target=b"refs/heads/main")]
    assert stack.is_stale()


def test_an_open_stack_stays_what_it_was_while_git_compacts_its_tables_away(tmp_path: Path) -> None:
    commits = empty_repository(tmp_path)
    names = [f"refs/heads/{i:04}" for i in range(1000)]
    update_refs(tmp_path, *(f"create {name} {commits[0]}" for name in names))
    update_refs(tmp_path, *(f"update {name} {commits[1]}" for name in names[::2]))
    stack = ReftableStack(tmp_path / "reftable")
    before, running = rows(stack), iter(stack)
    first = list(itertools.islice(running, 10))
    update_refs(tmp_path, *(f"delete {name}" for name in names))
    git("pack-refs", cwd=tmp_path)
    assert not any(Path(table.path).exists() for table in stack.tables)
    assert rows([*first, *running]) == rows(stack) == before
    assert all(name in stack for name in names)
    assert stack.reload()
    assert rows(stack) == git_rows(tmp_path)


def test_iterators_and_views_outlive_their_reader_and_a_reload(tmp_path: Path) -> None:
    commits = empty_repository(tmp_path)
    update_refs(tmp_path, *(f"create refs/heads/{i:04} {commits[0]}" for i in range(1000)))
    stack = ReftableStack(tmp_path / "reftable")
    expected, running = rows(stack), iter(stack)
    views = [(ref.name, ref.oid) for ref in stack.refs("refs/")]
    update_refs(tmp_path, *(f"delete refs/heads/{i:04}" for i in range(1000)))
    git("pack-refs", cwd=tmp_path)
    stack.reload()
    del stack
    gc.collect()
    assert rows(running) == expected
    assert [(bytes(name), bytes(oid).hex().encode()) for name, oid in views] == [row[:2] for row in expected[1:]]


@pytest.mark.parametrize("tables", [1, 3])
def test_threads_that_share_an_iterator_get_each_ref_once(tmp_path: Path, tables: int) -> None:
    refs = [Row(b"refs/heads/%05d" % i, OID) for i in range(6000)]
    files = [write_table(tmp_path / f"{i}.ref", refs[i::tables]) for i in range(tables)]
    stack = ReftableStack(listed(tmp_path / "stack", files))
    running, shares = iter(stack), list[list[Row]]()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=lambda: shares.append(rows(running))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)
    assert sorted(itertools.chain(*shares)) == refs
    assert all(share == sorted(share) for share in shares)
