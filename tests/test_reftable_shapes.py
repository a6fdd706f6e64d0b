"""Tables of shapes that the format allows and git never writes, read as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from refspan import Reftable, ReftableStack
from reftable_probe import log_of, opened, probe, refs_of
from reftable_writer import LogRow, RefRow, Shape, write, write_stack

ZERO = bytes(20)
COUNT = 400
REFS = [RefRow(b"refs/heads/%05d" % i, bytes([i % 50 + 1]) * 20) for i in range(COUNT)]
LOGS = [
    LogRow(ref.name, 1, ZERO, ref.oid or b"", b"Ann", b"a@b", 1700000000 + i, 100, b"made %d" % i)
    for i, ref in enumerate(REFS)
]
OIDS = {ref.oid for ref in REFS if ref.oid}

SHAPES = {
    "as git does it": Shape(),
    "small blocks": Shape(block_size=256, objects=True),
    "no index": Shape(block_size=256, index_from=1 << 30),
    "one root": Shape(block_size=256, index_from=2, objects=True),
    "three levels of index": Shape(block_size=256, room=128, index_from=2, objects=True),
    "one index block larger than the block size": Shape(block_size=128, index_room=1 << 20, index_from=2),
    "a restart for each record": Shape(block_size=512, restart_interval=1, objects=True),
    "one restart a block": Shape(block_size=512, restart_interval=1 << 30, objects=True),
    "unaligned": Shape(block_size=512, padded=False, objects=True),
    "no block size": Shape(block_size=0, room=300, objects=True, index_from=2),
    "no block size and one block": Shape(block_size=0),
    "the largest block size": Shape(block_size=0xFFFFFF),
    "objects that stand somewhere": Shape(block_size=256, objects=True, vague=(b"\1\1", b"\7\7")),
    "long object keys": Shape(block_size=256, objects=True, obj_id_len=20),
    "version 2 with SHA-1": Shape(version=2, block_size=256, objects=True),
    "update index 0": Shape(limits=(0, 1)),
    "the largest update index": Shape(limits=(1, 2**64 - 1)),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_way_to_read_it_finds_what_was_written(tmp_path: Path, shape: Shape) -> None:
    data = write(REFS, LOGS, shape).data
    path = tmp_path / "t.ref"
    assert probe(path, data, {ref.name for ref in REFS[::7]} | {b"refs/heads/", b"refs/heads/00100x", b"z"}, OIDS)
    table = Reftable(path)
    assert refs_of(table) == REFS
    assert [log_of(entry) for entry in table.logs()] == LOGS
    assert (table.block_size, table.version) == (shape.block_size, shape.version)
    assert (table.min_update_index, table.max_update_index) == shape.limits


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_layout_is_told_block_by_block(tmp_path: Path, shape: Shape) -> None:
    written = write(REFS, LOGS, shape)
    kinds = {b"r": "ref", b"i": "index", b"o": "obj", b"g": "log"}
    expected = [(kinds[placed.kind], placed.start, placed.end, len(placed.keys)) for placed in written.blocks]
    blocks = opened(tmp_path / "t.ref", written.data).blocks()
    assert [(block.kind, block.offset, block.offset + block.length, block.records) for block in blocks] == expected


def test_the_shapes_are_what_they_are_called() -> None:
    tables = {name: write(REFS, LOGS, shape) for name, shape in SHAPES.items()}
    roots = [
        block for block in tables["small blocks"].of_kind(b"i") if block.start >= tables["small blocks"].positions[0]
    ]
    assert len(roots) > 1
    large = tables["one index block larger than the block size"].of_kind(b"i")
    assert large[0].end - large[0].start > 4 * 128
    assert len(tables["three levels of index"].of_kind(b"i")) > 20
    assert any(placed.start % 512 for placed in tables["unaligned"].of_kind(b"r"))
    assert len(tables["no block size and one block"].blocks) == 2


@pytest.mark.parametrize("shape", [Shape(), Shape(version=2), Shape(version=2, hash_id=b"s256"), Shape(block_size=0)])
def test_a_table_of_header_and_footer_is_empty(tmp_path: Path, shape: Shape) -> None:
    data = write(shape=shape).data
    assert len(data) == (92 if shape.version == 1 else 100)
    assert probe(tmp_path / "t.ref", data, {b"refs/heads/main"}, {ZERO})
    table = Reftable(tmp_path / "t.ref")
    assert (list(table), list(table.logs()), list(table.blocks()), len(table)) == ([], [], [], 0)
    assert not table


@pytest.mark.parametrize(
    "shape", [Shape(), Shape(block_size=512), Shape(block_size=0), Shape(block_size=256, index_from=2)]
)
def test_a_table_of_logs_alone_starts_with_them(tmp_path: Path, shape: Shape) -> None:
    written = write([], LOGS, shape)
    assert written.positions[3] == 0
    assert probe(tmp_path / "t.ref", written.data, {LOGS[9].name}, {ZERO})
    table = Reftable(tmp_path / "t.ref")
    assert [log_of(entry) for entry in table.logs()] == LOGS
    assert list(table) == []
    assert {block.kind for block in table.blocks()} - {"index"} == {"log"}


def test_every_value_type_is_read(tmp_path: Path) -> None:
    rows = [
        RefRow(b"HEAD", target=b"refs/heads/a"),
        RefRow(b"refs/heads/a", b"\1" * 20, update_index=4),
        RefRow(b"refs/heads/b", update_index=9),
        RefRow(b"refs/tags/t", b"\2" * 20, b"\1" * 20, update_index=3),
    ]
    table = opened(tmp_path / "t.ref", write(rows, shape=Shape(limits=(1, 9))).data)
    assert refs_of(table) == rows
    assert [ref.kind for ref in table] == ["symref", "oid", "deletion", "oid"]


@pytest.mark.parametrize("count", [1, 6, 7, 8, 9, 130])
def test_an_object_may_stand_in_any_number_of_blocks(tmp_path: Path, count: int) -> None:
    rows = [RefRow(b"refs/heads/%03d" % i, b"\1\2" * 10 if i < count * 2 - 1 else b"\3\4" * 10) for i in range(300)]
    # Two records to a block, each with its whole name.
    shape = Shape(block_size=112, restart_interval=1, objects=True, index_from=2)
    written = write(rows, shape=shape)
    assert {len(placed.keys) for placed in written.of_kind(b"r")[1:]} == {2}
    table = opened(tmp_path / "t.ref", written.data)
    assert [bytes(ref.name) for ref in table.points_at(b"\1\2" * 10)] == [row.name for row in rows[: count * 2 - 1]]


def test_objects_that_share_the_start_of_their_ids_are_told_apart(tmp_path: Path) -> None:
    rows = [RefRow(b"refs/heads/%03d" % i, b"\1" * 19 + bytes([i])) for i in range(200)]
    table = opened(tmp_path / "t.ref", write(rows, shape=Shape(block_size=256, objects=True)).data)
    for row in rows[::20]:
        assert row.oid is not None
        assert [bytes(ref.name) for ref in table.points_at(row.oid)] == [row.name]
    assert list(table.points_at(b"\1" * 19 + b"\xff")) == []


def test_a_table_shows_tombstones_and_existence_markers_of_logs(tmp_path: Path) -> None:
    rows = [
        LogRow(b"a", 3, ZERO, ZERO),
        LogRow(b"a", 2),
        LogRow(b"b", 2, ZERO, b"\1" * 20, b"A", b"a@b", 1, -330, b"m"),
    ]
    data = write([], rows, Shape(limits=(1, 3))).data
    assert [log_of(entry) for entry in opened(tmp_path / "t.ref", data).logs()] == rows


def test_a_stack_hides_them_and_what_they_cancel(tmp_path: Path) -> None:
    entry = LogRow(b"a", 2, ZERO, b"\1" * 20, b"A", b"a@b", 1, 1345, b"m")
    old = write([], [entry, entry._replace(update_index=1)], Shape(limits=(1, 2))).data
    new = write([], [LogRow(b"a", 2), LogRow(b"b", 3, ZERO, ZERO)], Shape(limits=(3, 3))).data
    stack = ReftableStack(write_stack(tmp_path / "reftable", [old, new]))
    assert [log_of(entry) for entry in stack.logs()] == [entry._replace(update_index=1)]


def test_the_newest_table_wins_whatever_its_update_indices_say(tmp_path: Path) -> None:
    def table(limits: tuple[int, int], *rows: RefRow) -> bytes:
        return write([row._replace(update_index=limits[1]) for row in rows], shape=Shape(limits=limits)).data

    a, b, c = (RefRow(b"refs/heads/" + name, b"\1" * 20) for name in (b"a", b"b", b"c"))
    tables = [
        table((1, 5), a, b, c),
        table((3, 3), a._replace(oid=b"\2" * 20), RefRow(b.name)),
        table((0, 0), c._replace(oid=b"\3" * 20)),
    ]
    stack = ReftableStack(write_stack(tmp_path / "reftable", tables))
    assert [(bytes(ref.name), bytes(ref.oid or b"")[0], ref.update_index) for ref in stack] == [
        (a.name, 2, 3),
        (c.name, 3, 0),
    ]
    assert (stack.min_update_index, stack.max_update_index) == (0, 5)
    assert [bytes(ref.name) for ref in stack.points_at(b"\1" * 20)] == []
