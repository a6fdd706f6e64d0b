"""Tables made to mislead: impossible lengths, counts, offsets and numbers, indexes that lie, names out of order.

Each is refused, or read as what it says; none takes long, and none is taken for less than it holds.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from refspan import CorruptError, ReftableStack
from reftable_probe import attempt, drain, is_refused, opened, probe, refs_of, row_of
from reftable_writer import (
    RefRow,
    Shape,
    Table,
    assemble,
    block,
    head,
    patched,
    sealed,
    varint,
    write,
    write_stack,
)

OID = b"\1" * 20
REFS = [RefRow(b"refs/heads/%02d" % i, bytes([i + 1]) * 20) for i in range(40)]
NAMES = {ref.name for ref in REFS}
SHAPE = Shape(block_size=256, index_from=2, objects=True)
HUGE = 2**64 - 1
ONE_REF = head(0, b"refs/heads/a", 1) + b"\0" + OID


def is_sound(path: Path, data: bytes) -> bool:
    return probe(path, data, NAMES | {b"refs/heads/20x", b"z"}, {OID}, exact_objects=False)


def one_block(records: bytes, restarts: tuple[int, ...] = (28,), *, size: int = 0) -> bytes:
    return assemble(Shape(block_size=size), block(b"r", records, restarts, 24))


def indexed() -> Table:
    """A table with an index of one block over several ref blocks."""
    table = write(REFS, shape=SHAPE)
    assert len(table.of_kind(b"r")) > 4
    return table


@pytest.mark.parametrize("length", [0, 1, 4, 5, 6, 27, 28, 29, 0xFFFF, 0xFFFFFF])
def test_a_block_length_that_cannot_be_is_damage(tmp_path: Path, length: int) -> None:
    table = indexed()
    for number in (0, 1):
        start = table.blocks[number].start
        data = patched(table.data, (start or 24) + 1, length.to_bytes(3))
        assert not is_sound(tmp_path / "t.ref", data)
        error = attempt(partial(refs_of, opened(tmp_path / "t.ref", data)))
        assert isinstance(error, CorruptError)
        assert error.offset == start


@pytest.mark.parametrize("count", [0, 100, 0xFFFF])
def test_a_restart_count_that_cannot_be_is_damage(tmp_path: Path, count: int) -> None:
    table = indexed()
    for placed in table.blocks:
        data = patched(table.data, placed.end - 2, count.to_bytes(2))
        assert not is_sound(tmp_path / "t.ref", data) or placed.kind != b"r"
        assert isinstance(attempt(opened(tmp_path / "t.ref", data).blocks), CorruptError)


@pytest.mark.parametrize("offset", [0, 4, 23, 27, 0x1000, 0xFFFFFF])
def test_a_restart_outside_its_records_is_damage_to_a_look_up(tmp_path: Path, offset: int) -> None:
    data = one_block(ONE_REF + head(0, b"refs/heads/b", 0) + b"\0", (28, offset))
    table = opened(tmp_path / "t.ref", data)
    assert isinstance(attempt(partial(table.get, "refs/heads/b")), CorruptError)


def test_a_restart_at_a_record_without_its_whole_name_is_damage_to_a_look_up(tmp_path: Path) -> None:
    data = one_block(ONE_REF + head(11, b"b", 0) + b"\0", (28, 28 + len(ONE_REF)))
    assert isinstance(attempt(partial(opened(tmp_path / "t.ref", data).get, "refs/heads/b")), CorruptError)


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"\x80",
        b"\xff" * 10,
        b"\0" + b"\xff" * 10,
        b"\0" + b"\x80" * 9,
        b"\0" + varint(HUGE) + b"a",
        b"\0" + varint(1 << 40) + b"a",
        head(0, b"a", 1),
        head(0, b"a", 1) + b"\0" + OID[:-1],
        head(0, b"a", 1) + b"\x80",
        head(0, b"a", 1) + b"\xff" * 10 + OID,
        head(0, b"a", 1) + b"\1" + OID,
        head(0, b"a", 1) + varint(HUGE) + OID,
        head(0, b"a", 3) + b"\0" + varint(HUGE) + b"x",
        head(0, b"a", 3) + b"\0" + varint(2) + b"x",
        head(0, b"", 0) + b"\0",
        head(1, b"a", 0) + b"\0",
        head(HUGE, b"a", 0) + b"\0",
        *(head(0, b"a", kind) + b"\0" + OID * 2 for kind in (4, 5, 6, 7)),
    ],
)
def test_a_record_that_cannot_be_is_damage(tmp_path: Path, record: bytes) -> None:
    assert not is_sound(tmp_path / "t.ref", one_block(record))


@pytest.mark.parametrize("second", [b"refs/heads/a", b"refs/heads/Z", b"refs/heads"])
@pytest.mark.parametrize("is_in_block", [True, False])
def test_names_out_of_order_are_damage(tmp_path: Path, second: bytes, is_in_block: bool) -> None:
    records = head(0, second, 1) + b"\0" + OID
    blocks = [ONE_REF + records] if is_in_block else [ONE_REF, records]
    data = b"".join(block(b"r", body, [4 + base], base) for body, base in zip(blocks, (24, 0), strict=False))
    table = assemble(Shape(block_size=0), data)
    assert not is_sound(tmp_path / "t.ref", table)
    rows, _ = drain(iter(opened(tmp_path / "t.ref", table)), row_of)
    # What came before is listed, a block at a time.
    assert [row.name for row in rows] == [b"refs/heads/a"][: 0 if is_in_block else 1]


@pytest.mark.parametrize("position", [HUGE, HUGE - 1, 1 << 63, 1 << 32, 1, 23])
@pytest.mark.parametrize("field", range(5))
def test_a_section_outside_the_table_is_refused(tmp_path: Path, field: int, position: int) -> None:
    table = indexed()
    positions = list(table.positions)
    positions[field] = position if field != 1 else position >> 5 << 5 | 2
    data = sealed(table.data, positions)
    if field == 1 and position < 32:
        positions[field] = position << 5 | 2
        data = sealed(table.data, positions)
    assert is_refused(tmp_path / "t.ref", data)


def test_a_section_may_not_start_at_the_footer(tmp_path: Path) -> None:
    table = indexed()
    for field in range(5):
        for at in range(len(table.data) - 68, len(table.data) + 1):
            positions = list(table.positions)
            positions[field] = at << 5 | 2 if field == 1 else at
            assert is_refused(tmp_path / "t.ref", sealed(table.data, positions))


@pytest.mark.parametrize("field", [0, 2, 4])
def test_an_index_elsewhere_is_told(tmp_path: Path, field: int) -> None:
    table = indexed()
    for placed in table.blocks:
        positions = list(table.positions)
        if placed.start in (0, positions[field]):
            continue
        positions[field] = placed.start
        is_sound(tmp_path / "t.ref", sealed(table.data, positions))


@pytest.mark.parametrize("target", ["itself", "forwards", "past the end", "footer", "header", "huge", "middle"])
def test_an_index_that_points_where_it_may_not_is_told(tmp_path: Path, target: str) -> None:
    body = block(b"r", ONE_REF, [28], 24)
    second = block(b"r", head(0, b"refs/heads/b", 1) + b"\0" + OID, [4])
    start = 24 + len(body) + len(second)
    place = {
        "itself": start,
        "forwards": start + 60,
        "past the end": 1 << 20,
        "footer": start + 40,
        "header": 1,
        "huge": HUGE,
        "middle": 30,
    }[target]
    index = block(b"i", head(0, b"refs/heads/b", 0) + varint(place), [4])
    data = assemble(Shape(block_size=0), body + second + index, (start, 0, 0, 0, 0))
    is_sound(tmp_path / "t.ref", data)
    table = opened(tmp_path / "t.ref", data)
    assert isinstance(attempt(partial(table.get, "refs/heads/b")), CorruptError)


def test_an_index_that_goes_round_in_circles_is_told(tmp_path: Path) -> None:
    body = block(b"r", ONE_REF, [28], 24)
    start = 24 + len(body)
    length = len(block(b"i", head(0, b"z", 0) + varint(start), [4]))
    circle = [block(b"i", head(0, b"z", 0) + varint(start + place * length), [4]) for place in (1, 0)]
    for root in (start, start + length):
        data = assemble(Shape(block_size=0), body + b"".join(circle), (root, 0, 0, 0, 0))
        is_sound(tmp_path / "t.ref", data)
        assert isinstance(attempt(partial(opened(tmp_path / "t.ref", data).get, "a")), CorruptError)


@pytest.mark.parametrize("lost", ["first", "middle", "last", "all but one"])
def test_an_index_that_leaves_out_blocks_hides_no_ref(tmp_path: Path, lost: str) -> None:
    table = write(REFS, shape=Shape(block_size=256, index_from=1 << 30))
    blocks = table.blocks
    kept = {"first": blocks[1:], "middle": blocks[:3] + blocks[4:], "last": blocks[:-1], "all but one": blocks[:1]}[
        lost
    ]
    body = b"".join(head(0, placed.keys[-1], 0) + varint(placed.start) for placed in kept)
    # In place of padding, the index starts where the block behind the last one would.
    padded = table.data[24:-68] + bytes(-(len(table.data) - 68) % 256)
    data = assemble(Shape(block_size=256), padded + block(b"i", body, [4]), (24 + len(padded), 0, 0, 0, 0))
    is_sound(tmp_path / "t.ref", data)


@pytest.mark.parametrize("key", [b"refs/heads/", b"refs/heads/00", b"refs/heads/39", b"zzz"])
def test_an_index_with_a_wrong_key_hides_no_ref(tmp_path: Path, key: bytes) -> None:
    table = write(REFS, shape=Shape(block_size=256, index_from=1 << 30))
    padded = table.data[24:-68] + bytes(-(len(table.data) - 68) % 256)
    for replaced in table.blocks:
        body = b"".join(
            head(0, key if placed is replaced else placed.keys[-1], 0) + varint(placed.start) for placed in table.blocks
        )
        data = assemble(Shape(block_size=256), padded + block(b"i", body, [4]), (24 + len(padded), 0, 0, 0, 0))
        is_sound(tmp_path / "t.ref", data)


@pytest.mark.parametrize("junk", [b"\0\1", b"\0" * 20 + b"x", b"\0r"])
def test_padding_that_is_none_is_damage(tmp_path: Path, junk: bytes) -> None:
    table = indexed()
    assert not is_sound(tmp_path / "t.ref", patched(table.data, table.blocks[1].end, junk))


@pytest.mark.parametrize("version", [0, 3, 0xFF])
def test_an_unknown_version_is_refused(tmp_path: Path, version: int) -> None:
    assert is_refused(tmp_path / "t.ref", patched(write(REFS).data, 4, bytes([version])))


@pytest.mark.parametrize("hash_id", [b"XXXX", b"\0\0\0\0", b"SHA1", b"s257"])
def test_an_unknown_hash_is_refused(tmp_path: Path, hash_id: bytes) -> None:
    assert is_refused(tmp_path / "t.ref", write(REFS, shape=Shape(version=2, hash_id=hash_id)).data)


def test_a_stack_of_two_hashes_is_refused(tmp_path: Path) -> None:
    long = [RefRow(b"refs/heads/a", b"\1" * 32)]
    tables = [write(REFS).data, write(long, shape=Shape(version=2, hash_id=b"s256")).data]
    directory = write_stack(tmp_path / "reftable", tables)
    with pytest.raises(CorruptError, match="another hash"):
        ReftableStack(directory)


@pytest.mark.parametrize("limits", [(2, 1), (HUGE, 0)])
def test_update_indices_that_run_backwards_are_refused(tmp_path: Path, limits: tuple[int, int]) -> None:
    assert is_refused(tmp_path / "t.ref", assemble(Shape(limits=limits), block(b"r", ONE_REF, [28], 24)))
