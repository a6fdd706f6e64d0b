"""Tables cut at every byte, and with every bit flipped: read as what they then say, or refused.

Only the footer has a checksum, and the header by being repeated there. Whatever else is damaged must be told by the
structure, or be what the bytes say in every way in which they can be asked.
"""

from __future__ import annotations

import zlib
from functools import partial
from itertools import islice
from pathlib import Path

import pytest
from refspan import CorruptError, ReftableStack
from reftable_probe import attempt, drain, is_refused, log_of, logs_of, opened, probe, refs_of
from reftable_writer import LogRow, RefRow, Shape, assemble, block, patched, sealed, write, write_stack

OIDS = [bytes([i]) * 20 for i in range(5)]
NAMES = [b"HEAD", *(b"refs/heads/b%d" % i for i in range(4)), b"refs/tags/t0", b"refs/tags/t1"]
REFS = [
    RefRow(NAMES[0], target=NAMES[1]),
    RefRow(NAMES[1], OIDS[1]),
    RefRow(NAMES[2], OIDS[2], update_index=2),
    RefRow(NAMES[3]),
    RefRow(NAMES[4], OIDS[1]),
    RefRow(NAMES[5], OIDS[3], OIDS[1]),
    RefRow(NAMES[6], OIDS[4], OIDS[2]),
]
LOGS = [
    LogRow(NAMES[1], 2, OIDS[1], OIDS[2], b"Ann", b"a@b", 1700000000, 530, b"m\n"),
    LogRow(NAMES[1], 1),
    LogRow(NAMES[2], 1, OIDS[0], OIDS[2], b"Ann", b"a@b", 1700000000, -330, b"m\n"),
    LogRow(NAMES[4], 1, OIDS[0], OIDS[0]),
]
# Small enough that every section has several blocks, and an index if it may.
PLAIN = Shape(block_size=112, index_from=99, restart_interval=2, limits=(1, 2))
INDEXED = Shape(block_size=112, index_from=2, restart_interval=2, limits=(1, 2), objects=True)
SHAPES = {"plain": PLAIN, "indexed": INDEXED}
TABLES = {name: write(REFS, LOGS, shape) for name, shape in SHAPES.items()}
FOOTER = 68


def is_sound(path: Path, data: bytes, *, exact_objects: bool = True) -> bool:
    return probe(path, data, set(NAMES), set(OIDS[1:]), exact_objects=exact_objects)


def sections(name: str) -> dict[str, range]:
    """The bytes of each section, padding included."""
    table, starts, last = TABLES[name], dict[str, int](), b""
    for placed in table.blocks:
        kind = placed.kind.decode() + (last.decode() if placed.kind == b"i" else "")
        starts.setdefault(kind, placed.start or 24)
        last = placed.kind if placed.kind != b"i" else last
    ends = [*list(starts.values())[1:], len(table.data) - FOOTER]
    return {kind: range(start, end) for (kind, start), end in zip(starts.items(), ends, strict=True)}


SECTIONS = [pytest.param(name, kind, id=f"{name}-{kind}") for name in SHAPES for kind in sections(name)]


@pytest.mark.parametrize("name", SHAPES)
def test_the_table_that_is_damaged_here_is_sound(tmp_path: Path, name: str) -> None:
    data = TABLES[name].data
    assert is_sound(tmp_path / "t.ref", data)
    table = opened(tmp_path / "t.ref", data)
    assert refs_of(table) == REFS
    assert [log._replace(message=log.message + b"\n" * bool(log.who)) for log in logs_of(table)] == LOGS


@pytest.mark.parametrize("name", SHAPES)
def test_each_section_of_it_has_several_blocks(name: str) -> None:
    kinds = {"plain": b"rg", "indexed": b"rig"}[name]
    assert all(len(TABLES[name].of_kind(kinds[i : i + 1])) > 1 for i in range(len(kinds)))


@pytest.mark.parametrize("name", SHAPES)
def test_a_table_cut_anywhere_is_refused(tmp_path: Path, name: str) -> None:
    data = TABLES[name].data
    for end in range(len(data)):
        assert is_refused(tmp_path / "t.ref", data[:end])


def test_a_table_that_lost_blocks_but_not_its_footer_does_not_end_early_in_silence(tmp_path: Path) -> None:
    data = TABLES["indexed"].data
    for end in range(25, len(data) - FOOTER):
        assert not is_sound(tmp_path / "t.ref", data[:end] + data[-FOOTER:])


def test_bytes_behind_the_footer_are_damage(tmp_path: Path) -> None:
    for junk in (b"\0", b"\n", bytes(FOOTER)):
        assert is_refused(tmp_path / "t.ref", TABLES["plain"].data + junk)


@pytest.mark.parametrize("name", SHAPES)
def test_a_flipped_bit_of_header_or_footer_is_refused(tmp_path: Path, name: str) -> None:
    data = TABLES[name].data
    for at in [*range(24), *range(len(data) - FOOTER, len(data))]:
        for bit in range(8):
            bad = flipped(data, at, bit)
            assert is_refused(tmp_path / "t.ref", bad)


@pytest.mark.parametrize("name", SHAPES)
def test_a_flipped_bit_of_header_or_footer_under_a_right_checksum_is_consistent(tmp_path: Path, name: str) -> None:
    data = TABLES[name].data
    # The object index is at the mercy of the footer: its position and the length of its keys.
    objects = range(len(data) - 36, len(data) - 20)
    for at in [*range(24), *range(len(data) - 44, len(data) - 4)]:
        for bit in range(8):
            is_sound(tmp_path / "t.ref", sealed(flipped(data, at, bit)), exact_objects=at not in objects)


@pytest.mark.parametrize(("name", "kind"), SECTIONS)
def test_a_flipped_bit_of_a_block_is_consistent(tmp_path: Path, name: str, kind: str) -> None:
    data = TABLES[name].data
    for at in sections(name)[kind]:
        for bit in range(8):
            is_sound(tmp_path / "t.ref", flipped(data, at, bit), exact_objects=kind not in ("o", "io"))


def test_a_flipped_bit_of_an_inflated_log_block_is_consistent(tmp_path: Path) -> None:
    # In the file its checksum would tell: here the stream is made anew.
    table = write([], LOGS, Shape(restart_interval=2, limits=(1, 2)))
    assert len(table.blocks) == 1
    image = zlib.decompress(table.data[28:-FOOTER])
    for at in range(len(image)):
        for bit in range(8):
            stream = zlib.compress(flipped(image, at, bit), 0)
            is_sound(tmp_path / "t.ref", table.data[:28] + stream + table.data[-FOOTER:])


def flipped(data: bytes, at: int, bit: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


@pytest.mark.parametrize("name", SHAPES)
def test_a_block_of_another_type_does_not_end_a_list_in_silence(tmp_path: Path, name: str) -> None:
    table = TABLES[name]
    for placed in table.blocks:
        for kind in {b"r", b"i", b"o", b"g", b"x", b"\0"} - {placed.kind}:
            data = patched(table.data, placed.start or 24, kind)
            sound = is_sound(tmp_path / "t.ref", data, exact_objects=placed.kind not in b"io")
            assert not (sound and placed.kind in b"rg")


@pytest.mark.parametrize("kind", [b"r", b"g"])
def test_a_block_that_is_gone_does_not_end_a_list_in_silence(tmp_path: Path, kind: bytes) -> None:
    table = TABLES["indexed"]
    for placed in table.of_kind(kind):
        start = placed.start or 24
        data = patched(table.data, start, bytes(placed.end - start))
        assert not is_sound(tmp_path / "t.ref", data)


def test_a_corrupt_stack_never_reads_as_empty(tmp_path: Path) -> None:
    data = TABLES["indexed"].data
    for bad in (b"", b"\0" * len(data), data[:60], data[:-1], data[:-5] + b"\0" + data[-4:], b"REFT" + data[5:]):
        directory = write_stack(tmp_path / "reftable", [bad])
        error = attempt(partial(ReftableStack, directory))
        assert isinstance(error, CorruptError)
        assert error.path == str(next(directory.glob("*.ref")))


def test_one_corrupt_table_is_named_whichever_of_the_stack_it_is(tmp_path: Path) -> None:
    good = TABLES["plain"].data
    # The second block is cut short by its own length.
    bad = patched(good, TABLES["plain"].blocks[1].start + 1, b"\0\0\5")
    for number in range(3):
        directory = write_stack(tmp_path / "reftable", [bad if i == number else good for i in range(3)])
        stack = ReftableStack(directory)
        error = attempt(stack.check)
        assert isinstance(error, CorruptError)
        assert error.path == stack.tables[number].path
        assert error.offset == TABLES["plain"].blocks[1].start


@pytest.mark.parametrize(
    "bad",
    [
        b"\0\x5ab\0" + b"\xff" * 8,
        b"\0\x49b\1" + b"\xff" * 8,
        b"\0\x08b",
        b"\1\x49b\0" + b"\xff" * 8 + b"cut",
        b"\xff" * 12,
    ],
    ids=["value type", "no NUL in the key", "short key", "cut", "varint"],
)
def test_the_error_in_a_log_record_is_raised_again_and_again(tmp_path: Path, bad: bytes) -> None:
    sound = b"\0\x50a\0" + b"\xff" * 8
    table = opened(tmp_path / "t.ref", assemble(Shape(), block(b"g", sound + bad, [28], 24)))
    assert list(islice(map(log_of, table.logs()), 1)) == [LogRow(b"a", 0)]
    assert drain(table.logs(), log_of)[1] is not None
