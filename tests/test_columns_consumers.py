"""Refs as Arrow columns: whoever reads them gets, row by row, what git lists."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import refspan
from columns_support import (
    ALL_LOG_FIELDS,
    ALL_REF_FIELDS,
    LOG_FIELDS,
    REF_FIELDS,
    TOLD_FIELDS,
    Consumer,
    git_rows,
    read,
    rows_of,
    rows_of_views,
    text,
    through_each_consumer,
    warned_of,
)
from reftable_support import NO_COMPACTION, Row, StackBuilder, needs_reftables
from reftable_support import git_rows as git_rows_of_stack
from store_support import (
    DANGLING,
    FORMATS,
    SAMPLES,
    Format,
    Repository,
    build,
    encode,
    sample,
    sample_name,
)
from support import HASHES, Builder, Hash, Ref, git_listing, run_python, write_packed

A, B = "a" * 40, "b" * 40


@pytest.fixture(scope="module", params=SAMPLES, ids=sample_name)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Each worktree of each repository with refs of all kinds: loose over packed, tags of tags, dangling symrefs."""
    return sample(tmp_path_factory.getbasetemp(), request.param)


@functools.cache
def listing_of(place: Repository) -> list[tuple[str | bytes | None, ...]]:
    """What git lists there, and what it leaves out because it leads nowhere."""
    return git_rows(place, DANGLING)


@through_each_consumer
def test_a_store_is_what_git_lists(place: Repository, consume: Consumer) -> None:
    expected = listing_of(place)
    store = place.store()
    for refs in (store, store.snapshot()):
        # One name of the sample is Latin-1.
        with warned_of(1):
            assert consume(refs) == (REF_FIELDS, [row[:4] for row in expected])
        with warned_of(1):
            assert consume(refs.columns([*REF_FIELDS, "name_bytes"])).rows == expected


@through_each_consumer
def test_a_store_is_what_it_iterates(place: Repository, consume: Consumer) -> None:
    store = place.store()
    for refs in (store, store.snapshot()):
        with warned_of(1):
            assert consume(refs.columns(TOLD_FIELDS)) == (TOLD_FIELDS, rows_of(refs))


def without_text(refs: list[Ref]) -> int:
    return sum(text(ref.name) is None for ref in refs)


@through_each_consumer
@pytest.mark.parametrize("hash_", HASHES)
def test_a_packed_refs_file_is_what_git_lists(repository: Builder, hash_: Hash, consume: Consumer) -> None:
    repo = repository(1000, hash_)
    listed = git_listing(repo)
    rows = [(text(name), oid.decode(), peeled.decode() if peeled else None, None) for name, oid, peeled in listed]
    for refs in (refspan.PackedRefs(repo / "packed-refs"), refspan.PackedRefs(repo / "packed-refs", mmap=False)):
        with warned_of(without_text(listed)):
            assert consume(refs) == (REF_FIELDS, rows)
        with warned_of(without_text(listed)):
            assert consume(refs.columns(TOLD_FIELDS)).rows == rows_of_views(refs)
    with warned_of(without_text(listed)):
        assert consume(refspan.open(repo)).rows == rows


def usual(rows: list[Row]) -> list[tuple[str | None, ...]]:
    """What git says of a stack, in the usual columns."""
    return [(text(row.name), *(None if value is None else value.decode() for value in row[1:])) for row in rows]


@needs_reftables
@through_each_consumer
@pytest.mark.parametrize("hash_", HASHES)
def test_a_table_is_what_git_lists(stacked: StackBuilder, hash_: Hash, consume: Consumer) -> None:
    repo = stacked(1000, hash_)
    expected = git_rows_of_stack(repo)
    lost = sum(text(row.name) is None for row in expected)
    stack = refspan.ReftableStack(repo / "reftable")
    for refs in (stack, *stack.tables):
        with warned_of(lost):
            assert consume(refs) == (REF_FIELDS, usual(expected))
        with warned_of(lost):
            assert consume(refs.columns(TOLD_FIELDS)).rows == rows_of_views(refs)


@needs_reftables
@through_each_consumer
@pytest.mark.parametrize("hash_", HASHES)
def test_a_stack_of_tables_with_tombstones_is_what_git_lists(
    tmp_path: Path, hash_: Hash, consume: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NO_COMPACTION, "false")
    repo = build(tmp_path / "repo", "reftable", hash_)
    repo.create(*(f"refs/heads/{i}" for i in range(20)))
    repo.tag("v1", repo.commits[0])
    repo.tag("v1-again", "refs/tags/v1")
    repo.update(*(f"delete refs/heads/{i}" for i in range(0, 20, 3)))
    repo.create("refs/heads/1", "refs/heads/3", at=1)
    repo.symref("refs/heads/alias", "refs/heads/1")
    stack = refspan.ReftableStack(repo.gitdir / "reftable")
    assert len(stack.tables) > 5
    expected = git_rows_of_stack(repo.gitdir)
    assert consume(stack).rows == usual(expected)
    assert consume(repo.store()).rows == [row for row in usual(expected) if row[0] != "HEAD"]
    fields = [*TOLD_FIELDS, "update_index"]
    told = consume(stack.columns(["name", "update_index"])).rows
    assert consume(repo.store().columns(["name", "update_index"])).rows == [row for row in told if row[0] != "HEAD"]
    kinds = set()
    for refs in (stack, *stack.tables):
        rows = [(*row, ref.update_index) for row, ref in zip(rows_of_views(refs), refs, strict=True)]
        assert consume(refs.columns(fields)).rows == rows
        kinds |= {ref.kind for ref in refs}
    assert kinds == {"oid", "symref", "deletion"}


PACKED = [
    f"{A} refs/heads/a",
    f"{B} refs/heads/a",
    f"{A.upper()} refs/heads/b",
    f"{'0' * 40} refs/heads/c",
    f"{A} refs/heads/d..e",
    f"{A} refs/heads/f",
    f"{A} refs/heads/../../g",
    f"{A} refs/tags/h",
    f"^{B.upper()}",
]


@through_each_consumer
def test_broken_refs_are_told_with_their_reasons(tmp_path: Path, consume: Consumer) -> None:
    repo = build(tmp_path / "repo")
    lines = ["# pack-refs with: peeled fully-peeled ", *PACKED]
    (repo.gitdir / "packed-refs").write_text("".join(f"{line}\n" for line in lines))
    packed = refspan.PackedRefs(repo.gitdir / "packed-refs")
    expected = rows_of_views(packed)
    assert consume(packed.columns(TOLD_FIELDS)).rows == expected
    assert {row[6] for row in expected} == {None, "duplicate", "zero oid", "bad name", "unsafe name"}
    assert consume(packed).rows == [row[:4] for row in expected]
    for name, content in (("x", "garbage"), ("y", "ref: refs/heads/.z"), ("f", B), ("..z", A)):
        repo.loose(f"refs/heads/{name}", f"{content}\n")
    store = repo.store()
    for refs in (store, store.snapshot()):
        assert consume(refs.columns(TOLD_FIELDS)).rows == rows_of(refs)
        assert {"bad content", "bad target"} <= {row[6] for row in rows_of(refs)}


@through_each_consumer
def test_loose_refs_are_there_whatever_is_packed(tmp_path: Path, consume: Consumer) -> None:
    repo = build(tmp_path / "repo")
    names = ["refs/bisect/bad", "refs/heads/a", "refs/heads/z", "refs/worktree/x"]
    repo.create("refs/heads/m", *names)
    # Not packed, packed but for what is never packed, and a file without any record.
    for command in (["status"], ["pack-refs", "--all"], ["update-ref", "-d", "refs/heads/m"]):
        repo.git(*command)
        if command == ["update-ref", "-d", "refs/heads/m"]:
            repo.update("delete refs/heads/a", "delete refs/heads/z")
            assert refspan.PackedRefs(repo.gitdir / "packed-refs").traits
            assert not refspan.PackedRefs(repo.gitdir / "packed-refs")
        repo.create("refs/heads/z", at=1)
        for refs in (repo.store(), repo.store().snapshot()):
            for prefix in ("", "refs/b", "refs/heads/z", "refs/w", "refs/heads/m"):
                expected = [row[:4] for row in git_rows(repo) if str(row[0]).startswith(prefix)]
                assert consume(refs.columns(prefix=prefix)).rows == expected


@pytest.mark.parametrize("refs", FORMATS)
@through_each_consumer
def test_a_repository_without_refs_has_no_rows(tmp_path: Path, refs: Format, consume: Consumer) -> None:
    store = build(tmp_path, refs).store()
    for empty in (store, store.snapshot()):
        assert consume(empty) == (REF_FIELDS, [])
        assert consume(empty.columns(ALL_REF_FIELDS)) == (ALL_REF_FIELDS, [])
        assert consume(empty.reflogs()) == (LOG_FIELDS, [])
        assert consume(empty.reflogs().columns(ALL_LOG_FIELDS)) == (ALL_LOG_FIELDS, [])
        assert consume(refspan.diff(empty, empty)).rows == []


def test_the_repository_is_its_git_directory_or_the_file(place: Repository) -> None:
    store = place.store()
    assert set(read(store.columns(["repository"]))) == {(store.git_dir,)}
    assert set(read(store.reflogs().columns(["repository"]))) == {(store.git_dir,)}
    if store.format == "files":
        packed = place.path.parent / "main/.git/packed-refs"
        assert set(read(refspan.PackedRefs(packed).columns(["repository"]))) == {(str(packed),)}
    else:
        stack = refspan.ReftableStack(Path(store.common_dir, "reftable"))
        assert set(read(stack.columns(["repository"]))) == {(stack.path,)}
        assert set(read(stack.tables[0].columns(["repository"]))) == {(stack.tables[0].path,)}


def test_a_live_store_is_read_anew_and_a_snapshot_is_not(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/a")
    store = repo.store()
    live, still = store.columns(["name"]), store.snapshot().columns(["name"])
    assert read(live) == read(still) == [("refs/heads/a",)]
    repo.create("refs/heads/b")
    repo.git("pack-refs", "--all")
    assert read(live) == read(live) == [("refs/heads/a",), ("refs/heads/b",)]
    assert read(still) == [("refs/heads/a",)]


def test_what_packed_refs_does_not_say_of_a_tag_its_objects_do(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo")
    tag = repo.tag("v1", repo.commits[0])
    repo.update(f"update refs/archive/v1 {tag}")
    for traits in (None, "sorted", "peeled sorted"):
        records = [Ref(encode(name), tag.encode(), None) for name in ("refs/archive/v1", "refs/heads/v1")]
        write_packed(repo.gitdir / "packed-refs", records, traits)
        expected = [(name, peeled) for name, _, peeled, _, _ in git_rows(repo)]
        assert read(repo.store().columns(["name", "peeled"])) == expected
        assert {peeled for _, peeled in expected} == {repo.commits[0]}
        # A file alone has no objects to ask.
        assert read(refspan.PackedRefs(repo.gitdir / "packed-refs").columns(["peeled"])) == [(None,)] * 2


WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None
import refspan
store = refspan.open(sys.argv[1])
if sys.argv[2] == "polars":
    import polars
    print(polars.DataFrame(store).rows())
elif sys.argv[2] == "duckdb":
    import duckdb
    print(duckdb.sql("FROM store").fetchall())
else:
    import nanoarrow
    print(list(nanoarrow.ArrayStream(store).iter_tuples()))
"""


@pytest.mark.parametrize("consumer", ["polars", "duckdb", "nanoarrow"])
def test_no_consumer_needs_the_help_of_pyarrow(tmp_path: Path, consumer: str) -> None:
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/main")
    repo.tag("v1", "refs/heads/main")
    rows = [row[:4] for row in git_rows(repo)]
    assert run_python(WITHOUT_PYARROW, repo.path, consumer) == f"{rows}\n"
