"""Views of what tables hold: what they are, how long they last, and what readers tell of themselves."""

from __future__ import annotations

import ctypes
import gc
import itertools
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from refspan import Reftable, ReftableStack, RefView
from refspan._native import RefReader
from reftable_support import SHAPES, Row, listed, rows, write_table
from support import HASHES, Hash

MAIN = Row(b"refs/heads/main", b"c0ffee" * 6 + b"1234")
V1 = Row(b"refs/tags/v1", b"7a9" * 13 + b"7", b"1234567890" * 4)
HEAD = Row(b"HEAD", target=b"refs/heads/main")
GONE = Row(b"refs/gone")
OTHERS = [Row(b"refs/x/%04d" % i, b"%040x" % (i << 100 | 1)) for i in range(2000)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A table with a ref of each kind, and enough others to be mapped."""
    return write_table(tmp_path / "x.ref", [HEAD, MAIN, V1, GONE, *OTHERS], limits=(3, 7))


@pytest.fixture(params=[True, False], ids=["mapped", "copied"])
def table(path: Path, request: pytest.FixtureRequest) -> Reftable:
    return Reftable(path, mmap=request.param)


def raw(oid: bytes | None) -> bytes:
    return bytes.fromhex((oid or b"").decode())


def views_of(ref: RefView) -> dict[str, memoryview]:
    name, oid, peeled = ref
    return {"name": name, "oid": oid, "peeled": peeled, "record": memoryview(ref)}


CONTENT = {"name": V1.name, "oid": raw(V1.oid), "peeled": raw(V1.peeled)}


@pytest.mark.parametrize("field", CONTENT)
def test_a_view_is_read_only_bytes_that_compare_and_hash_like_bytes(table: Reftable, field: str) -> None:
    view, content = views_of(table["refs/tags/v1"])[field], CONTENT[field]
    assert view.readonly
    assert (view.format, view.itemsize, view.ndim, view.shape) == ("B", 1, 1, (len(content),))
    assert view == content
    assert view != content + b"x"
    assert hash(view) == hash(content)
    assert content in {view}
    with pytest.raises(TypeError):
        view[0] = 0


@pytest.mark.parametrize("hash_", HASHES)
def test_object_ids_are_raw_bytes(tmp_path: Path, hash_: Hash) -> None:
    digits = 40 if hash_ == "sha1" else 64
    table = Reftable(write_table(tmp_path / "x.ref", [Row(b"t", b"1" * digits, b"a" * digits)], hash_=hash_))
    (ref,) = table
    assert [bytes(oid) for oid in ref][1:] == [b"\x11" * (digits // 2), b"\xaa" * (digits // 2)]
    assert (ref.hex, ref.peeled_hex) == ("1" * digits, "a" * digits)


def address(view: memoryview) -> int:
    """Where its bytes lie."""

    # The module takes a writable buffer only, so this asks the interpreter itself.
    class Buffer(ctypes.Structure):
        _fields_ = [("buf", ctypes.c_void_p), ("rest", ctypes.c_char * 200)]

    buffer = Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(view), ctypes.byref(buffer), 0)
    found = buffer.buf or 0
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    return found


def test_object_ids_and_records_are_views_into_the_file(path: Path) -> None:
    data = path.read_bytes()
    tag = Reftable(path)["refs/tags/v1"]
    oid, peeled, record = views_of(tag)["oid"], views_of(tag)["peeled"], memoryview(tag)
    # Their distances in memory are those in the file.
    places = {bytes(view): address(view) for view in (oid, peeled, record)}
    assert {places[content] - places[bytes(oid)] for content in places} == {
        data.index(content) - data.index(bytes(oid)) for content in places
    }


def test_a_record_ends_with_its_value(table: Reftable) -> None:
    assert bytes(memoryview(table["refs/tags/v1"])).endswith(raw(V1.oid) + raw(V1.peeled))
    assert bytes(memoryview(table["HEAD"])).endswith(b"refs/heads/main")
    assert list(table.records("refs/")) == [memoryview(ref) for ref in table.refs("refs/")]


def test_records_of_an_unpadded_table_are_the_file_but_for_the_frames(tmp_path: Path) -> None:
    path = write_table(tmp_path / "x.ref", OTHERS, shape=SHAPES["bare"])
    table, data = Reftable(path), path.read_bytes()
    blocks = [block for block in table.blocks() if block.kind == "ref"]
    # A block is its type and length, its records, and its restart table.
    inside = [data[b.offset + 4 : b.offset + b.length - 3 * b.restarts - 2] for b in blocks]
    inside[0] = inside[0][24:]
    assert b"".join(table.records()) == b"".join(inside)


@pytest.mark.parametrize(
    ("name", "kind", "fields"),
    [
        ("refs/heads/main", "oid", (raw(MAIN.oid), None, None)),
        ("refs/tags/v1", "oid", (raw(V1.oid), raw(V1.peeled), None)),
        ("HEAD", "symref", (None, None, b"refs/heads/main")),
        ("refs/gone", "deletion", (None, None, None)),
    ],
)
def test_each_kind_of_ref_has_its_fields(
    table: Reftable, name: str, kind: str, fields: tuple[bytes | None, ...]
) -> None:
    ref = table[name]
    assert ref.kind == kind
    assert tuple(None if field is None else bytes(field) for field in (ref.oid, ref.peeled, ref.target)) == fields
    assert ref.hex == (None if fields[0] is None else fields[0].hex())
    assert ref.peeled_hex == (None if fields[1] is None else fields[1].hex())
    assert (ref.refname, ref.update_index, ref.peel_known, ref.broken) == (name, 7, fields[1] is not None, None)
    assert [*ref] == [ref.name, ref.oid, ref.peeled]


def test_refs_are_equal_only_to_themselves(table: Reftable) -> None:
    ref = table["refs/tags/v1"]
    assert [ref] == [ref]
    assert ref != table["refs/tags/v1"]


KEEPERS: dict[str, tuple[Callable[[Iterator[RefView]], list[RefView]], Callable[[list[Row]], list[Row]]]] = {
    "all": (list, list),
    "every third": (lambda refs: list(itertools.islice(refs, 0, None, 3)), lambda all_: all_[::3]),
    "pairs": (
        lambda refs: [ref for pair in itertools.pairwise(refs) for ref in pair],
        lambda all_: [row for pair in itertools.pairwise(all_) for row in pair],
    ),
    "first of pairs": (lambda refs: [first for first, _ in zip(refs, refs, strict=True)], lambda all_: all_[::2]),
}


@pytest.mark.parametrize("tables", [1, 3])
@pytest.mark.parametrize("how", KEEPERS)
def test_a_ref_that_is_kept_does_not_change(tmp_path: Path, how: str, tables: int) -> None:
    files = [write_table(tmp_path / f"{i}.ref", OTHERS[i::tables], shape=SHAPES["small"]) for i in range(tables)]
    keep, expected = KEEPERS[how]
    kept = keep(iter(ReftableStack(listed(tmp_path / "stack", files))))
    gc.collect()
    assert rows(kept) == expected(OTHERS)


def test_names_that_are_kept_do_not_change(tmp_path: Path) -> None:
    table = Reftable(write_table(tmp_path / "x.ref", OTHERS, shape=SHAPES["small"]))
    assert list(table.names()) == [row.name for row in OTHERS]
    names = [ref.name for ref in table]
    del table
    gc.collect()
    assert names == [row.name for row in OTHERS]


def test_views_outlive_ref_reader_and_file(path: Path) -> None:
    table = Reftable(path)
    alive = weakref.ref(table)
    kept = views_of(table["refs/tags/v1"])
    path.unlink()
    del table
    gc.collect()
    assert alive() is None
    assert {field: kept[field] for field in CONTENT} == CONTENT


def test_a_table_tells_what_its_header_says(table: Reftable, path: Path) -> None:
    assert isinstance(table, RefReader)
    assert (table.path, table.hash, table.version, table.block_size) == (str(path), "sha1", 1, 4096)
    assert (table.min_update_index, table.max_update_index) == (3, 7)
    assert len(table) == 2004
    assert table


def test_a_table_is_stale_once_its_path_leads_elsewhere(table: Reftable, path: Path) -> None:
    assert not table.is_stale()
    path.unlink()
    assert table.is_stale()


def test_blocks_lie_behind_each_other(table: Reftable, path: Path) -> None:
    blocks = table.blocks()
    assert blocks[0].offset == 0
    assert all(a.offset + a.length <= b.offset for a, b in itertools.pairwise(blocks))
    assert blocks[-1].offset + blocks[-1].length == path.stat().st_size - 68
    assert sum(block.records for block in blocks if block.kind == "ref") == 2004
    assert all(1 <= block.restarts <= block.records for block in blocks)


def test_repr_tells_what_it_is(table: Reftable, path: Path) -> None:
    assert all(word in repr(table) for word in ("Reftable", repr(str(path)), "sha1", "3-7"))
    words = {"refs/tags/v1": (V1.oid, V1.peeled), "HEAD": (b"refs/heads/main",), "refs/gone": (b"deleted",)}
    for name, expected in words.items():
        assert all(word and word.decode() in repr(table[name]) for word in (name.encode(), *expected))
    assert "kind='ref', offset=0" in repr(table.blocks()[0])


def test_repr_of_a_stack_tells_how_many_tables_it_has(path: Path, tmp_path: Path) -> None:
    stack = ReftableStack(listed(tmp_path / "stack", [path]))
    assert isinstance(stack, RefReader)
    assert all(word in repr(stack) for word in ("ReftableStack", repr(str(tmp_path / "stack")), "sha1", "1 table"))
