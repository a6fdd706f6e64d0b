"""Random refs, packed, loose and in tables, in batches of any size: as a frame they are what iterating yields."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
import refspan
from columns_support import TOLD_FIELDS, read, rows_of, rows_of_views
from hypothesis import given
from hypothesis import strategies as st
from reftable_support import Row, listed, write_table
from reftable_writer import Shape
from store_models import repository, write_loose
from store_support import decode
from support import Ref, write_packed

# In folders that look alike, so that order by bytes is not that of a walk; none is the name of another.
some_folder = st.sampled_from([b"refs/heads/a/", b"refs/heads/a-/", b"refs/heads/a.b/", b"refs/tags/", b"refs/bisect/"])
some_leaf = st.sampled_from([b"x", b"x-", b"x.y", b"x0", b"\xc3\xa9", b"x" * 13, b"x" * 60, b"xy" * 30])
some_name = st.tuples(some_folder, some_leaf, st.sampled_from([b"0", b"1", b"2"])).map(b"".join)
some_oid = st.integers(1, 3).map(lambda digit: str(digit) * 40)
some_value = st.one_of(some_oid, some_name.map(lambda name: f"ref:{decode(name)}"))
some_prefix = st.one_of(st.sampled_from([b"", b"refs/", b"refs/heads/a", b"refs/heads/a-", b"refs/t", b"s"]), some_name)
some_rows = st.sampled_from([1, 2, 3, 7, 65536])


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose refs each example writes anew."""
    return repository(tmp_path_factory.mktemp("random"), "files", {})


def write_refs(repo: Path, packed: Mapping[bytes, tuple[str, str | None]], loose: Mapping[bytes, str]) -> None:
    shutil.rmtree(repo / "refs")
    (repo / "refs").mkdir()
    records = (
        Ref(name, oid.encode(), None if peel is None else peel.encode()) for name, (oid, peel) in sorted(packed.items())
    )
    write_packed(repo / "packed-refs", records)
    write_loose(repo, {decode(name): value for name, value in loose.items()})


@given(
    packed=st.dictionaries(some_name, st.tuples(some_oid, st.none() | some_oid), max_size=12),
    loose=st.dictionaries(some_name, some_value, max_size=8),
    prefix=some_prefix,
    batch_rows=some_rows,
)
def test_refs_in_files_are_what_iterating_yields(
    repo: Path,
    packed: dict[bytes, tuple[str, str | None]],
    loose: dict[bytes, str],
    prefix: bytes,
    batch_rows: int,
) -> None:
    write_refs(repo, packed, loose)
    store, file = refspan.open(repo), refspan.PackedRefs(repo / "packed-refs")
    for refs in (store, store.snapshot()):
        columns = refs.columns(TOLD_FIELDS, prefix=prefix, batch_rows=batch_rows)
        assert read(columns) == rows_of(refs.refs(prefix))
    columns = file.columns(TOLD_FIELDS, prefix=prefix, batch_rows=batch_rows)
    assert read(columns) == rows_of_views(file.refs(prefix))
    assert {row[7] for row in read(store.columns(TOLD_FIELDS))} == packed.keys() | loose.keys()


some_change = st.one_of(
    some_oid.map(lambda oid: (oid.encode(), None)),
    st.tuples(some_oid, some_oid).map(lambda pair: (pair[0].encode(), pair[1].encode())),
    st.none(),
)


@given(
    changes=st.lists(st.dictionaries(some_name, some_change, max_size=10), min_size=1, max_size=3),
    prefix=some_prefix,
    batch_rows=some_rows,
)
def test_refs_in_tables_are_what_iterating_yields(
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[dict[bytes, tuple[bytes, bytes | None] | None]],
    prefix: bytes,
    batch_rows: int,
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    tables = [
        write_table(
            folder / f"{i}.ref",
            [Row(name, *(change or ())) for name, change in table.items()],
            limits=(i, i),
            shape=Shape(block_size=256, index_from=2),
        )
        for i, table in enumerate(changes, 1)
    ]
    stack = refspan.ReftableStack(listed(folder / "stack", tables))
    for refs in (stack, *stack.tables):
        columns = refs.columns(TOLD_FIELDS, prefix=prefix, batch_rows=batch_rows)
        assert read(columns) == rows_of_views(refs.refs(prefix))
    there: dict[bytes, tuple[bytes, bytes | None] | None] = {}
    for table in changes:
        there |= table
    assert [row[7] for row in read(stack.columns(TOLD_FIELDS))] == sorted(name for name in there if there[name])
