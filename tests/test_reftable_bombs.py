"""Small tables that claim to be large: what reading them takes of memory is a small multiple of what they are.

Peaks are measured in processes of their own.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest
from refspan import CorruptError
from reftable_probe import drain, log_of, opened, probe
from reftable_writer import LogRow, Shape, assemble, block, head, log_record, restart_table, varint
from support import run_python

MIB = 1 << 20
OID = b"\1" * 20
UNALIGNED = Shape(block_size=0)

ASK_EVERYTHING = """
import resource, sys
from refspan import CorruptError, Reftable
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
table = Reftable(sys.argv[1])
questions = [
    lambda: len(table), table.check, table.blocks, lambda: table.get("refs/heads/z"), lambda: table.get("aaab"),
    lambda: [None for _ in table], lambda: [None for _ in table.names()], lambda: [None for _ in table.logs()],
    lambda: [None for _ in table.logs("refs/heads/z")], lambda: list(table.points_at(b"\\1" * 20)),
]
refusals = 0
for ask in questions:
    try:
        ask()
    except CorruptError:
        refusals += 1
peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * (1 if sys.platform == "darwin" else 1024)
print(refusals, peak)
"""


def ask_everything(path: Path, data: bytes) -> tuple[int, int]:
    """How many questions were refused, and by how much memory grew meanwhile."""
    path.write_bytes(data)
    refusals, peak = map(int, run_python(ASK_EVERYTHING, path).split())
    return refusals, peak


def log_table(stream: bytes, declared: int) -> bytes:
    return assemble(Shape(), b"g" + declared.to_bytes(3) + stream)


def one_log() -> bytes:
    key, extra, value = log_record(LogRow(b"refs/heads/a", 1, bytes(20), OID, b"A", b"a@b", 1, 0, b"m\n"))
    return head(0, key, extra) + value + restart_table([28])


def is_readable(path: Path, data: bytes) -> bool:
    return probe(path, data, {b"refs/heads/a"}, {OID})


def test_the_log_that_the_streams_are_made_of_is_sound(tmp_path: Path) -> None:
    data = log_table(zlib.compress(one_log()), 28 + len(one_log()))
    assert is_readable(tmp_path / "t.ref", data)
    assert len(list(opened(tmp_path / "t.ref", data).logs())) == 1


@pytest.mark.parametrize("declared", [0, 1, 4, 6, 27, 28, 29, 30, 100, 1 << 20, 0xFFFFFF])
def test_a_log_block_of_another_length_than_it_declares_is_damage(tmp_path: Path, declared: int) -> None:
    assert not is_readable(tmp_path / "t.ref", log_table(zlib.compress(one_log()), declared))


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_stream_that_is_cut_is_damage(tmp_path: Path, cut: int) -> None:
    stream = zlib.compress(one_log())
    data = log_table(stream[:-cut], 28 + len(one_log()))
    assert not is_readable(tmp_path / "t.ref", data)


@pytest.mark.parametrize("how", ["raw deflate", "gzip", "not compressed", "preset dictionary", "wrong checksum"])
def test_what_is_no_zlib_stream_is_damage(tmp_path: Path, how: str) -> None:
    def deflated(wbits: int) -> bytes:
        packer = zlib.compressobj(wbits=wbits)
        return packer.compress(one_log()) + packer.flush()

    packer = zlib.compressobj(zdict=one_log())
    stream = {
        "raw deflate": deflated(-15),
        "gzip": deflated(31),
        "not compressed": one_log(),
        "preset dictionary": packer.compress(one_log()) + packer.flush(),
        "wrong checksum": zlib.compress(one_log())[:-4] + b"\0\0\0\0",
    }[how]
    assert not is_readable(tmp_path / "t.ref", log_table(stream, 28 + len(one_log())))


def test_bytes_behind_the_last_stream_are_damage(tmp_path: Path) -> None:
    for junk in (b"\0", b"x", b"g", bytes(300)):
        data = log_table(zlib.compress(one_log()) + junk, 28 + len(one_log()))
        _, error = drain(opened(tmp_path / "t.ref", data).logs(), log_of)
        assert isinstance(error, CorruptError)


@pytest.mark.parametrize("declared", [6, 30, 0xFFFFFF])
@pytest.mark.parametrize("size", [MIB, 64 * MIB])
def test_a_stream_that_inflates_to_more_than_it_declares_takes_no_memory(
    tmp_path: Path, declared: int, size: int
) -> None:
    refusals, peak = ask_everything(tmp_path / "t.ref", log_table(zlib.compress(bytes(size)), declared))
    assert refusals >= 3
    # A block may be 16 MiB, if its stream is as long as it takes.
    assert peak < (20 * MIB if declared > MIB else 4 * MIB)


def test_a_block_that_declares_16_mib_of_64_bytes_takes_no_memory(tmp_path: Path) -> None:
    for stream in (os.urandom(60), zlib.compress(bytes(MIB))[:60], zlib.compress(one_log())):
        refusals, peak = ask_everything(tmp_path / "t.ref", log_table(stream, 0xFFFFFF))
        assert refusals >= 3
        assert peak < 4 * MIB


@pytest.mark.parametrize("kind", [b"r", b"i", b"o"])
def test_a_block_that_declares_16_mib_takes_no_memory(tmp_path: Path, kind: bytes) -> None:
    ref = block(b"r", head(0, b"refs/heads/a", 1) + b"\0" + OID, [28], 24)
    start = 24 + len(ref)
    large = block(kind, head(0, b"\1\1", 1) + b"\0" + OID, [4], length=0xFFFFFF)
    positions = {b"r": (0, 0, 0, 0, 0), b"i": (start, 0, 0, 0, 0), b"o": (0, start << 5 | 2, 0, 0, 0)}[kind]
    refusals, peak = ask_everything(tmp_path / "t.ref", assemble(UNALIGNED, ref + large, positions))
    assert refusals >= 1
    assert peak < 4 * MIB


@pytest.mark.parametrize("size", [4 << 10, 64 << 10, MIB])
def test_names_that_expand_a_thousandfold_take_no_memory(tmp_path: Path, size: int) -> None:
    records = bytearray(head(0, b"a" * (size // 2), 0) + b"\0")
    length = size // 2
    while len(records) < size:
        records += head(length, b"b", 0) + b"\0"
        length += 1
    data = assemble(UNALIGNED, block(b"r", bytes(records), [28], 24))
    _, peak = ask_everything(tmp_path / "t.ref", data)
    assert peak < 8 * MIB + 4 * size


def test_an_object_that_stands_in_the_same_block_many_times_takes_no_memory(tmp_path: Path) -> None:
    count = 16_000
    refs = block(b"r", b"".join(head(0, b"%05d" % i, 1) + b"\0" + OID for i in range(count // 30)), [28], 24)
    objects = block(b"o", head(0, OID[:2], 0) + varint(count) + bytes(count), [4])
    data = assemble(UNALIGNED, refs + objects, (0, (24 + len(refs)) << 5 | 2, 0, 0, 0))
    refusals, peak = ask_everything(tmp_path / "t.ref", data)
    assert refusals >= 1
    assert peak < 8 * MIB


def test_an_object_that_claims_to_stand_in_more_blocks_than_bytes_takes_no_memory(tmp_path: Path) -> None:
    refs = block(b"r", head(0, b"refs/heads/a", 1) + b"\0" + OID, [28], 24)
    for count in (1 << 20, 2**63, 2**64 - 1):
        objects = block(b"o", head(0, OID[:2], 0) + varint(count) + b"\0\1\1", [4])
        data = assemble(UNALIGNED, refs + objects, (0, (24 + len(refs)) << 5 | 2, 0, 0, 0))
        refusals, peak = ask_everything(tmp_path / "t.ref", data)
        assert refusals >= 1
        assert peak < 4 * MIB
