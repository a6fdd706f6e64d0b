"""Which columns, which rows and how many at a time."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
import refspan
from columns_support import (
    ALL_REF_FIELDS,
    REF_FIELDS,
    TOLD_FIELDS,
    Consumer,
    everything,
    logs_of,
    read,
    readers,
    rows_of,
    through_each_consumer,
)
from reftable_support import needs_reftables
from store_support import LOOK_ALIKES, Repository, git_names
from support import HASHES

pytestmark = needs_reftables

BOTH = [(refs, hash_) for refs in ("files", "reftable") for hash_ in HASHES]


@pytest.fixture(scope="module", params=BOTH, ids="-".join)
def full(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with refs of all kinds, in each format and hash."""
    repo = everything(tmp_path_factory.mktemp("full") / "repo", *request.param)
    # Git does not list what leads nowhere.
    repo.git("symbolic-ref", "--delete", "refs/heads/dangling")
    repo.create(*LOOK_ALIKES)
    return repo


@through_each_consumer
def test_columns_come_in_the_order_in_which_they_are_named(full: Repository, consume: Consumer) -> None:
    store = full.store()
    whole = consume(store.columns(ALL_REF_FIELDS))
    for fields in (ALL_REF_FIELDS[::-1], ("peeled", "name"), ("kind",), ["oid", "repository", "namespace"]):
        columns = store.columns(iter(fields))
        assert columns.fields == tuple(fields)
        picked = [tuple(row[ALL_REF_FIELDS.index(field)] for field in fields) for row in whole.rows]
        assert consume(columns) == (tuple(fields), picked)
    assert store.columns().fields == REF_FIELDS


def test_rows_without_columns_are_counted(full: Repository) -> None:
    for refs in readers(full):
        table = pa.table(refs.columns([]))
        assert (table.num_columns, table.num_rows) == (0, len(read(refs)))


def test_fields_that_there_are_not_are_refused(full: Repository) -> None:
    sources = [*readers(full), *logs_of(full), refspan.diff(full.store(), full.store())]
    for source in sources:
        for fields in (["nome"], [""], ["Name"], ["name\0"], ["name", "oid "], ["ref", "offset"]):
            with pytest.raises(ValueError, match=r"there is no field .*; there are (name|ref), "):
                source.columns(fields)
    for refs in readers(full):
        with pytest.raises(ValueError, match='the field "oid" is named twice'):
            refs.columns(["oid", "name", "oid"])


def test_what_are_no_fields_are_refused(full: Repository) -> None:
    fields: Any
    for source in (*readers(full), *logs_of(full)):
        for fields in ("name", b"name", 7, [7], [b"name"], [None]):
            with pytest.raises(TypeError):
                source.columns(fields)


def test_an_object_id_is_hex_or_raw(full: Repository) -> None:
    other: Any
    for source in (*readers(full), *logs_of(full)):
        for other in ("", "HEX", "base64"):
            with pytest.raises(ValueError, match="oid is 'hex' or 'raw', not "):
                source.columns(oid=other)


@pytest.mark.parametrize("rows", [1, 2, 7, 1000, 2**62, 2**64 - 1])
@through_each_consumer
def test_batches_of_any_size_hold_the_same_rows(full: Repository, rows: int, consume: Consumer) -> None:
    store = full.store()
    assert consume(store.columns(TOLD_FIELDS, batch_rows=rows)).rows == rows_of(store)
    logs = store.reflogs()
    assert consume(logs.columns(batch_rows=rows)) == consume(logs)


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_batches_have_so_many_rows_at_the_most(full: Repository, rows: int) -> None:
    for source in (*readers(full), *logs_of(full), refspan.diff(full.store(), full.store())):
        sizes = [batch.num_rows for batch in pa.RecordBatchReader.from_stream(source.columns(batch_rows=rows))]
        # Only the last one may have fewer, and none is empty.
        assert set(sizes[:-1]) <= {rows}
        assert sizes[-1:] <= [rows]
        assert 0 not in sizes


def test_batches_have_a_row_at_least(full: Repository) -> None:
    rows: Any
    for source in (*readers(full), *logs_of(full)):
        with pytest.raises(ValueError, match="batch_rows is at least 1"):
            source.columns(batch_rows=0)
        for rows in (-1, -(2**63), 2**64):
            with pytest.raises(OverflowError):
                source.columns(batch_rows=rows)
        for rows in (1.5, "7", None):
            with pytest.raises(TypeError):
                source.columns(batch_rows=rows)


PREFIXES = ["", "r", "refs/", "refs/heads", "refs/heads/", "refs/heads/a", "refs/heads/a/", "refs/heads/größe", "z"]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_prefix_selects_what_git_lists_with_it(full: Repository, prefix: str) -> None:
    expected = [name for name in git_names(full) if name.startswith(prefix)]
    store = full.store()
    for refs in (store, store.snapshot()):
        assert [name for (name,) in read(refs.columns(["name"], prefix=prefix))] == expected
        assert read(refs.columns(TOLD_FIELDS, prefix=prefix)) == rows_of(refs.refs(prefix))
    for reader in readers(full):
        whole = read(reader)
        assert read(reader.columns(prefix=prefix)) == [row for row in whole if row[0].startswith(prefix)]


GLOBS = ["refs/heads", "refs/heads/", "refs/heads/a", "refs/heads/main", "heads", "refs/heads/*", "refs/**", "refs/*"]
GLOBS += [
    "refs/*/v1*",
    "refs/heads/[al]*",
    "refs/heads/a?b",
    "refs/**/b",
    "*",
    "**",
    "refs/heads/gr*",
    "[",
    "refs/tags/v\\1",
]


@pytest.mark.parametrize("glob", GLOBS)
def test_a_glob_selects_what_git_lists_with_it(full: Repository, glob: str) -> None:
    expected = git_names(full, glob)
    store = full.store()
    for refs in (store, store.snapshot()):
        assert [name for (name,) in read(refs.columns(["name"], glob=glob))] == expected
        for prefix in ("refs/heads/a", "refs/t"):
            both = read(refs.columns(["name"], glob=glob, prefix=prefix))
            assert [name for (name,) in both] == [name for name in expected if name.startswith(prefix)]
    for reader in readers(full):
        whole = read(reader)
        # What a single file has may be hidden by a newer one.
        found = [row[0] for row in read(reader.columns(glob=glob))]
        assert found == [row[0] for row in whole if row[0] in {*found}]
        assert {name for name in expected if name in {row[0] for row in whole}} <= {*found}


def test_what_are_no_names_are_refused(full: Repository) -> None:
    wrong: Any
    for source in (*readers(full), *logs_of(full)):
        for wrong in (7, ["refs/"], 1.5):
            with pytest.raises(TypeError, match="a refname is"):
                source.columns(prefix=wrong)
            with pytest.raises(TypeError, match="a refname is"):
                source.columns(glob=wrong)
