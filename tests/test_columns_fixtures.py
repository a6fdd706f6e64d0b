"""Repositories and files that other programs made: as Arrow columns they are what git, or iterating, says of them."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
import refspan
from columns_support import (
    CONSUMERS,
    LOG_FIELDS,
    TOLD_FIELDS,
    Columnar,
    Row,
    in_seconds,
    rows_of,
    rows_of_log,
    rows_of_views,
    text,
    warned_of,
)
from reftable_support import fixtures, needs_reftables
from store_support import Repository
from support import packed_files
from test_store_fixtures import CORRUPT, alive, git_dirs, git_told, is_git_dir

pytestmark = needs_reftables


def check(columns: Columnar, expected: list[Row]) -> None:
    """Each consumer reads these rows."""
    lost = sum(row[0] is None for row in expected)
    for name, consume in CONSUMERS.items():
        with warned_of(lost):
            assert consume(columns).rows == expected, name


def check_repository(repo: Repository) -> None:
    store = repo.store()
    expected = rows_of(store)
    for refs in (store, store.snapshot()):
        check(refs.columns(TOLD_FIELDS), expected)
    found = [(row[0], row[1], row[3]) for row in expected if row[6] is None]
    told = [(text(name), oid, text(target)) for name, oid, target in git_told(repo) if name.startswith("refs/")]
    assert found == told
    check_logs(store)


def check_logs(store: refspan.RefStore) -> None:
    logs = [
        row
        for name in store.reflogs()
        for row in rows_of_log(list(store.reflog(name, reverse=True)), newest_first=True)
    ]
    for name, consume in CONSUMERS.items():
        with warned_of(sum(row[at] is None for row in logs for at in (0, 3, 4, 7))):
            assert in_seconds(consume(store.reflogs().columns(LOG_FIELDS))) == logs, name


@pytest.mark.parametrize("head", git_dirs(fixtures("**/HEAD")))
def test_repositories_of_other_projects_are_what_git_lists(tmp_path: Path, head: Path) -> None:
    repo = alive(head.parent, tmp_path / "repo.git")
    if head.parent.name in CORRUPT:
        for consume in CONSUMERS.values():
            with pytest.raises(Exception, match="packed-refs"):
                consume(repo.store())
    else:
        check_repository(repo)


@pytest.mark.parametrize("archive", fixtures("**/*.tar"))
def test_archived_repositories_of_other_projects_are_what_git_lists(tmp_path: Path, archive: Path) -> None:
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "all", filter="tar")
    heads = [head for head in sorted((tmp_path / "all").rglob("HEAD")) if is_git_dir(head.parent)]
    assert heads
    for i, head in enumerate(heads):
        check_repository(alive(head.parent, tmp_path / f"{i}.git"))


@pytest.mark.parametrize("content", packed_files(terminated=True))
def test_packed_refs_of_other_projects_are_what_iterating_yields(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "packed-refs").write_bytes(content)
    for mmap in (True, False):
        packed = refspan.PackedRefs(tmp_path / "packed-refs", mmap=mmap)
        check(packed.columns(TOLD_FIELDS), rows_of_views(packed))


@pytest.mark.parametrize("stack", fixtures("**/reftable/tables.list"))
def test_tables_of_other_projects_are_what_iterating_yields(stack: Path) -> None:
    merged = refspan.ReftableStack(stack.parent)
    for refs in (merged, *merged.tables):
        check(refs.columns(TOLD_FIELDS), rows_of_views(refs))
    for table in merged.tables:
        layout = table.blocks()
        check(layout, [(block.kind, block.offset, block.length, block.records, block.restarts) for block in layout])
