"""Arrow columns in the types that somebody asks for: honoured to the letter, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import nanoarrow
import pyarrow as pa
import pytest
import refspan
from columns_support import (
    ALL_LOG_FIELDS,
    ALL_REF_FIELDS,
    REF_FIELDS,
    Chosen,
    everything,
    logs_of,
    namespace,
    read,
    readers,
)
from reftable_support import needs_reftables
from store_support import LATIN1, Repository, build, encode
from support import HASHES, HEX_LEN

pytestmark = needs_reftables

TEXTS = [pa.string(), pa.large_string(), pa.string_view()]
BINARIES = [pa.binary(), pa.large_binary(), pa.binary_view()]
NUMBER, DICTIONARY = pa.uint64(), pa.dictionary(pa.int32(), pa.string())


@pytest.fixture(
    scope="module", params=[(refs, hash_) for refs in ("files", "reftable") for hash_ in HASHES], ids="-".join
)
def full(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with refs of all kinds, in each format and hash."""
    return everything(tmp_path_factory.mktemp("full") / "repo", *request.param)


def raw(value: str | None) -> bytes | None:
    return None if value is None else bytes.fromhex(value)


def as_asked(source: Chosen, types: dict[str, pa.DataType], oid: Literal["hex", "raw"] = "hex") -> pa.Table:
    """Read with a requested schema, which must be honoured to the letter."""
    wanted = pa.schema(list(types.items()))
    # pyarrow converts nothing itself.
    table = pa.RecordBatchReader.from_stream(source.columns(types, oid=oid), schema=wanted).read_all()
    assert table.schema == wanted
    table.validate(full=True)
    return table


def bytes_of(values: list[str | None]) -> list[bytes | None]:
    return [None if value is None else encode(value) for value in values]


NO_TEXT = {"oid", "peeled", "old", "new", "update_index", "index", "namespace", "time", "name_bytes", "ref_bytes"}


@pytest.mark.parametrize("field", sorted({*ALL_REF_FIELDS, *ALL_LOG_FIELDS} - NO_TEXT))
def test_text_comes_as_any_type_of_text_or_bytes(full: Repository, field: str) -> None:
    for source in [
        *(readers(full) if field in ALL_REF_FIELDS else ()),
        *(logs_of(full) if field in ALL_LOG_FIELDS else ()),
    ]:
        values = pa.table(source.columns([field]))[field].to_pylist()
        for asked in TEXTS:
            assert as_asked(source, {field: asked})[field].to_pylist() == values
        for asked in BINARIES:
            assert as_asked(source, {field: asked})[field].to_pylist() == bytes_of(values)


def test_names_that_are_not_utf8_come_as_bytes_without_a_warning(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo")
    repo.create(LATIN1)
    repo.symref("refs/heads/alias", LATIN1)
    name = encode(LATIN1)
    for asked in BINARIES:
        found = as_asked(repo.store(), {"name": asked, "target": asked, "repository": asked})
        assert found["name"].to_pylist() == [b"refs/heads/alias", name]
        assert found["target"].to_pylist() == [name, None]
        assert as_asked(repo.store().reflog(LATIN1), {"ref": asked})["ref"].to_pylist() == [name]


@pytest.mark.parametrize("oid", ["hex", "raw"])
def test_object_ids_come_as_any_type_of_text_or_raw(full: Repository, oid: Literal["hex", "raw"]) -> None:
    width = HEX_LEN[full.store().hash] // 2
    sources = [(refs, ["oid", "peeled"]) for refs in readers(full)] + [(log, ["old", "new"]) for log in logs_of(full)]
    for source, fields in sources:
        for field in fields:
            digits = pa.table(source.columns([field]))[field].to_pylist()
            for asked in TEXTS:
                assert as_asked(source, {field: asked}, oid=oid)[field].to_pylist() == digits
            for asked in (*BINARIES, pa.binary(width)):
                assert as_asked(source, {field: asked}, oid=oid)[field].to_pylist() == list(map(raw, digits))


def test_names_as_bytes_come_as_any_type_of_bytes(full: Repository) -> None:
    sources = [(refs, "name_bytes") for refs in readers(full)] + [(log, "ref_bytes") for log in logs_of(full)]
    for source, field in sources:
        values = pa.table(source.columns([field]))[field].to_pylist()
        for asked in BINARIES:
            assert as_asked(source, {field: asked})[field].to_pylist() == values


def test_several_columns_are_asked_for_at_once(full: Repository) -> None:
    store = full.store()
    types = {"peeled": pa.binary(), "name": pa.large_string(), "update_index": NUMBER, "namespace": pa.string()}
    found = as_asked(store, types)
    digits = read(store.columns(types))
    assert list(zip(*found.to_pydict().values(), strict=True)) == [(raw(peeled), *rest) for peeled, *rest in digits]
    # A schema may ask for what there is already.
    usual = pa.table(store.columns(ALL_REF_FIELDS))
    assert pa.RecordBatchReader.from_stream(store.columns(ALL_REF_FIELDS), schema=usual.schema).read_all() == usual
    asked = pa.schema([(name, pa.string()) for name in REF_FIELDS])
    assert pa.table(store, schema=asked).schema == asked
    streams = nanoarrow.c_array_stream(store.columns(["name"]), schema=nanoarrow.struct({"name": nanoarrow.string()}))
    assert [row["name"] for row in nanoarrow.ArrayStream(streams).iter_py()] == [ref.name for ref in store]


REFUSED = [
    *((field, asked) for field in ("name", "target", "kind", "broken") for asked in (pa.int64(), pa.binary(20))),
    ("name", pa.dictionary(pa.int32(), pa.string())),
    ("name", pa.list_(pa.string())),
    ("oid", pa.uint64()),
    ("peeled", pa.list_(pa.uint8(), 20)),
    ("update_index", pa.int64()),
    ("update_index", pa.string()),
    ("namespace", pa.binary()),
    ("namespace", pa.dictionary(pa.int8(), pa.string())),
    ("name_bytes", pa.string()),
    ("name_bytes", pa.binary(20)),
]


@pytest.mark.parametrize(("field", "asked"), REFUSED, ids=str)
def test_other_types_are_refused_with_the_name_of_the_column(full: Repository, field: str, asked: pa.DataType) -> None:
    for refs in readers(full):
        with pytest.raises(ValueError, match=f"the column {field} cannot be .*, but: "):
            pa.table(refs.columns([field]), schema=pa.schema([(field, asked)]))


@pytest.mark.parametrize("asked", [pa.timestamp("ms", "UTC"), pa.timestamp("s"), pa.int64(), pa.string()], ids=str)
def test_times_have_one_type(full: Repository, asked: pa.DataType) -> None:
    for log in logs_of(full):
        with pytest.raises(ValueError, match=r"the column time cannot be .*, but: timestamp in seconds, UTC"):
            pa.table(log.columns(["time"]), schema=pa.schema([("time", asked)]))


def test_object_ids_of_another_width_are_refused(full: Repository) -> None:
    width = HEX_LEN[full.store().hash] // 2
    for other in (width - 1, width + 1, 52 - width):
        for refs in readers(full):
            with pytest.raises(ValueError, match=f"the column oid holds object ids of {width} bytes, not {other}"):
                pa.table(refs.columns(["oid"]), schema=pa.schema([("oid", pa.binary(other))]))


@pytest.mark.parametrize("names", [["oid"], ["name"], ["oid", "name"], ["name", "oid", "peeled"], ["name", "OID"], []])
def test_other_columns_are_refused(full: Repository, names: list[str]) -> None:
    wanted = pa.schema([(name, pa.string()) for name in names])
    for refs in readers(full):
        with pytest.raises(ValueError, match=f"not other columns: they are name, oid, not {', '.join(names)}$"):
            pa.table(refs.columns(["name", "oid"]), schema=wanted)


def test_what_is_no_schema_is_refused(full: Repository) -> None:
    for columns in (*readers(full), *logs_of(full), refspan.diff(full.store(), full.store())):
        for other in (7, "utf8", pa.schema([]), object()):
            with pytest.raises(TypeError, match="a capsule 'arrow_schema', or None"):
                columns.__arrow_c_stream__(other)
        with pytest.raises(ValueError, match="incorrect name"):
            columns.__arrow_c_stream__(columns.__arrow_c_stream__())
        with pytest.raises(ValueError, match="the requested schema: "):
            columns.__arrow_c_stream__(pa.int64().__arrow_c_schema__())


def test_a_schema_that_was_released_is_refused(full: Repository) -> None:
    for refs in readers(full):
        capsule = pa.schema([("name", pa.string())]).__arrow_c_schema__()
        assert refs.columns(["name"]).__arrow_c_stream__(capsule)
        # Whoever takes a schema over releases it.
        pa.Schema._import_from_c_capsule(capsule)
        with pytest.raises(ValueError, match="the requested schema was released"):
            refs.columns(["name"]).__arrow_c_stream__(capsule)


def test_namespaces_are_a_dictionary_or_text(full: Repository) -> None:
    for refs in readers(full):
        names = [encode(name) for (name,) in read(refs.columns(["name"]))]
        expected = [namespace(name) for name in names]
        for rows in (1, 65536):
            table = pa.table(refs.columns(["namespace"], batch_rows=rows))
            assert table["namespace"].to_pylist() == expected
            # Each value stands once in the dictionary of a batch.
            for chunk in table["namespace"].chunks:
                assert sorted(chunk.dictionary.to_pylist()) == sorted({*chunk.to_pylist()} - {None})
        for asked in (DICTIONARY, *TEXTS):
            assert as_asked(refs, {"namespace": asked})["namespace"].to_pylist() == expected
