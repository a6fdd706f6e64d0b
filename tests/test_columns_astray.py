"""Large tables whose index leads astray, or whose blocks are out of order: no part is passed over in silence."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
import refspan
from columns_support import PART, Columnar, read
from reftable_support import NEVER
from reftable_writer import RefRow, Shape, Table, assemble, block, head, sealed, varint, write, write_stack
from store_models import repository

# Last names, and where the blocks that they end start.
Entries = Sequence[tuple[bytes, int]]

COUNT = 40_000


@functools.cache
def refs() -> list[RefRow]:
    """Refs whose names have little in common, so that a table of them is of several parts."""
    rng = random.Random(1)
    return [RefRow(b"refs/heads/%06d-%0110x" % (i, rng.getrandbits(440)), rng.randbytes(20)) for i in range(COUNT)]


@functools.cache
def without_index() -> Table:
    return write(refs(), shape=Shape(block_size=0, room=4096, padded=False, index_from=NEVER))


@functools.cache
def padded() -> Table:
    """The same refs in a larger table, as git lays it out."""
    return write(refs())


def with_index(entries: Entries, blocks: bytes | None = None) -> bytes:
    """That table, or one of these blocks, with an index of these entries, in one block."""
    records = [head(0, key, 0) + varint(start) for key, start in entries]
    offsets = [4]
    for record in records[:-1]:
        offsets.append(offsets[-1] + len(record))
    blocks = without_index().data[24:-68] if blocks is None else blocks
    index = block(b"i", b"".join(records), offsets)
    return assemble(Shape(block_size=0), blocks + index, (24 + len(blocks), 0, 0, 0, 0))


def right_entries() -> Entries:
    return [(placed.keys[-1], placed.start) for placed in without_index().blocks]


def led(change: Callable[[list[int]], list[int]]) -> Entries:
    """An index whose names are right, and which leads to other blocks."""
    keys, starts = zip(*right_entries(), strict=True)
    return list(zip(keys, change([*starts]), strict=True))


def named(change: Callable[[list[bytes]], list[bytes]]) -> Entries:
    """An index that leads to the right blocks by other names."""
    keys, starts = zip(*right_entries(), strict=True)
    return list(zip(change([*keys]), starts, strict=True))


ASTRAY: dict[str, Callable[[], Entries]] = {
    "to the block behind": lambda: led(lambda starts: [*starts[1:], starts[-1]]),
    "to the block before": lambda: led(lambda starts: [starts[0], *starts[:-1]]),
    "to the first block": lambda: led(lambda starts: starts[:1] * len(starts)),
    "to the last block": lambda: led(lambda starts: starts[-1:] * len(starts)),
    "to the other half": lambda: led(lambda starts: starts[len(starts) // 2 :] + starts[: len(starts) // 2]),
    "every third left out": lambda: [entry for i, entry in enumerate(right_entries()) if i % 3],
    "first half left out": lambda: right_entries()[len(right_entries()) // 2 :],
    "last half left out": lambda: right_entries()[: len(right_entries()) // 2],
    "all but one left out": lambda: right_entries()[:1],
    "names of the block before": lambda: named(lambda keys: [b"refs/", *keys[:-1]]),
    "names of the block behind": lambda: named(lambda keys: [*keys[1:], b"z"]),
    "names cut short": lambda: named(lambda keys: [key[:17] for key in keys]),
}


def told_by_checking(path: Path) -> refspan.Reftable:
    """The table, of which checking says that it is damaged."""
    table = refspan.Reftable(path)
    with pytest.raises(refspan.CorruptError):
        table.check()
    return table


def fails(source: Columnar, path: Path) -> None:
    with pytest.raises((pa.ArrowInvalid, refspan.CorruptError), match=rf"{path}: .* \(byte \d+\)"):
        pa.table(source)


def test_an_index_that_is_right_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "1.ref"
    path.write_bytes(with_index(right_entries()))
    assert path.stat().st_size > 2 * PART
    refspan.Reftable(path).check()
    assert [row[0] for row in read(refspan.Reftable(path).columns(["name_bytes"]))] == [ref.name for ref in refs()]


@pytest.mark.parametrize("way", ASTRAY)
def test_an_index_that_leads_astray_is_told(tmp_path: Path, way: str) -> None:
    path = tmp_path / "1.ref"
    path.write_bytes(with_index(ASTRAY[way]()))
    fails(told_by_checking(path), path)


@pytest.mark.parametrize("way", ASTRAY)
def test_an_index_that_leads_astray_is_told_of_a_table_that_is_not_the_largest(tmp_path: Path, way: str) -> None:
    tables = [padded().data, with_index(ASTRAY[way]())]
    assert len(tables[0]) > len(tables[1])
    stack = refspan.ReftableStack(write_stack(tmp_path / "stack", tables))
    with pytest.raises(refspan.CorruptError):
        stack.check()
    fails(stack, Path(stack.tables[1].path))


def test_an_index_that_starts_elsewhere_hides_nothing(tmp_path: Path) -> None:
    whole = padded()
    path = tmp_path / "1.ref"
    starts = [placed.start for placed in whole.of_kind(b"i")]
    assert len(starts) > 30
    found = 0
    for start in starts:
        # Not in place: the one before may still be mapped.
        path.unlink(missing_ok=True)
        path.write_bytes(sealed(whole.data, [start, *whole.positions[1:]]))
        table = refspan.Reftable(path)
        try:
            table.check()
        except refspan.CorruptError:
            fails(table, path)
        else:
            found += 1
            assert pa.table(table).num_rows == COUNT
    # The whole index, and its lowest level, whose blocks lie side by side.
    assert found == 2


@pytest.mark.parametrize("index_from", [4, NEVER], ids=["with index", "without index"])
@pytest.mark.parametrize("cut", [1000, COUNT // 3, COUNT // 2])
def test_blocks_out_of_order_are_told(tmp_path: Path, cut: int, index_from: int) -> None:
    path = tmp_path / "1.ref"
    path.write_bytes(write(refs()[cut:] + refs()[:cut], shape=Shape(index_from=index_from)).data)
    fails(told_by_checking(path), path)


def test_two_blocks_that_changed_places_are_told_wherever_they_lie(tmp_path: Path) -> None:
    data, entries = without_index().data, right_entries()
    step = len(entries) // (len(data) // PART)
    for at in (3, *range(step - 4, step + 4), len(entries) - 2):
        # The index still leads to both.
        (key, start), (next_key, middle) = entries[at : at + 2]
        end = without_index().blocks[at + 1].end
        blocks = data[24:start] + data[middle:end] + data[start:middle] + data[end:-68]
        moved = [*entries[:at], (key, start + end - middle), (next_key, start), *entries[at + 2 :]]
        (tmp_path / str(at)).mkdir()
        store = refspan.open(repository(tmp_path / str(at), "reftable", {}))
        write_stack(tmp_path / f"{at}/reftable", [with_index(moved, blocks)])
        (table,) = refspan.ReftableStack(tmp_path / f"{at}/reftable").tables
        fails(told_by_checking(Path(table.path)), Path(table.path))
        fails(store, Path(table.path))
