"""The types of Arrow columns: the same whatever the data, and valid."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
import refspan
from columns_support import (
    ALL_LOG_FIELDS,
    ALL_REF_FIELDS,
    LOG_FIELDS,
    REF_FIELDS,
    Columnar,
    everything,
    logs_of,
    read,
    readers,
)
from reftable_support import Row as TableRow
from reftable_support import needs_reftables, write_table
from store_support import Repository, build
from support import HASHES, HEX_LEN, write_packed

pytestmark = needs_reftables

TEXT, DATA, NUMBER = pa.string_view(), pa.binary_view(), pa.uint64()
DICTIONARY, TIME = pa.dictionary(pa.int32(), pa.string()), pa.timestamp("s", "UTC")
REF_TYPES = {**dict.fromkeys(ALL_REF_FIELDS, TEXT), "update_index": NUMBER, "namespace": DICTIONARY, "name_bytes": DATA}
LOG_TYPES = {
    **dict.fromkeys(ALL_LOG_FIELDS, TEXT),
    **{"time": TIME, "index": NUMBER, "update_index": NUMBER, "namespace": DICTIONARY, "ref_bytes": DATA},
}
CHANGE_TYPES = {**dict.fromkeys(("name", "kind", "before", "after"), TEXT), "namespace": DICTIONARY, "name_bytes": DATA}
BLOCK_TYPES = {"kind": TEXT, **dict.fromkeys(("offset", "length", "records", "restarts"), NUMBER)}

TEXTS = [pa.string(), pa.large_string(), pa.string_view()]
BINARIES = [pa.binary(), pa.large_binary(), pa.binary_view()]


@pytest.fixture(
    scope="module", params=[(refs, hash_) for refs in ("files", "reftable") for hash_ in HASHES], ids="-".join
)
def full(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with refs of all kinds, in each format and hash."""
    return everything(tmp_path_factory.mktemp("full") / "repo", *request.param)


def schema_of(source: Columnar) -> pa.Schema:
    return pa.RecordBatchReader.from_stream(source).schema


def schema(types: dict[str, pa.DataType], fields: tuple[str, ...] | None = None) -> pa.Schema:
    return pa.schema([(name, types[name]) for name in fields or types])


def empty(beside: Repository, path: Path) -> Repository:
    """A repository of the same format and hash that has no refs."""
    store = beside.store()
    return build(path, store.format, store.hash)


def test_the_schema_never_depends_on_the_data(full: Repository, tmp_path: Path) -> None:
    nothing = empty(full, tmp_path / "empty")
    packed = refspan.PackedRefs(write_packed(tmp_path / "packed-refs", []))
    bare = refspan.Reftable(write_table(tmp_path / "1.ref", list[TableRow]()))
    for refs in (*readers(full), *readers(nothing), packed, bare):
        assert schema_of(refs) == schema(REF_TYPES, REF_FIELDS)
        assert schema_of(refs.columns(ALL_REF_FIELDS)) == schema(REF_TYPES)
    for log in (*logs_of(full), *logs_of(nothing), bare.logs()):
        assert schema_of(log) == schema(LOG_TYPES, LOG_FIELDS)
        assert schema_of(log.columns(ALL_LOG_FIELDS)) == schema(LOG_TYPES)
    for diff in (refspan.diff(nothing.store(), nothing.store()), refspan.diff(nothing.store(), full.store())):
        assert schema_of(diff) == schema(CHANGE_TYPES, ("name", "kind", "before", "after"))
        assert schema_of(diff.columns(CHANGE_TYPES)) == schema(CHANGE_TYPES)
    assert schema_of(bare.blocks()) == schema(BLOCK_TYPES)


def test_each_column_is_valid_and_the_same_alone(full: Repository, tmp_path: Path) -> None:
    diff = refspan.diff(empty(full, tmp_path / "empty").store(), full.store(), reflogs=True)
    sources = [(refs, REF_TYPES) for refs in readers(full)] + [(log, LOG_TYPES) for log in logs_of(full)]
    for source, types in [*sources, (diff, CHANGE_TYPES)]:
        table = pa.table(source.columns(types))
        table.validate(full=True)
        for field in types:
            alone = pa.table(source.columns([field]))
            alone.validate(full=True)
            assert alone.to_pydict() == {field: table[field].to_pylist()}


def raw(value: str | None) -> bytes | None:
    return None if value is None else bytes.fromhex(value)


def test_object_ids_are_hex_or_raw_in_both_formats(full: Repository) -> None:
    sources = [(refs, ["oid", "peeled"]) for refs in readers(full)] + [(log, ["old", "new"]) for log in logs_of(full)]
    seen = set()
    for source, fields in sources:
        digits = read(source.columns(fields))
        assert read(source.columns(fields, oid="hex")) == digits
        assert schema_of(source.columns(fields, oid="raw")).types == [DATA] * 2
        assert read(source.columns(fields, oid="raw")) == [tuple(map(raw, row)) for row in digits]
        seen |= {len(value) for row in digits for value in row if value}
    assert seen == {HEX_LEN[full.store().hash]}
