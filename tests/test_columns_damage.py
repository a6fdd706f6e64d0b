"""Damage in a file: every consumer is told what iterating tells, and has no frame that lacks a row."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
import refspan
from columns_support import Chosen, Consumer, through_each_consumer
from reftable_support import needs_reftables
from reftable_writer import LogRow, RefRow, Shape, patched, write_stack
from reftable_writer import write as write_whole
from store_models import repository
from support import HASHES, HEX_LEN, Hash, header

pytestmark = needs_reftables

OID = "1" * 40
LINES = [f"{OID} refs/heads/{i:04d}" for i in range(1000)]


def packed(folder: Path, damage: str) -> Path:
    """A packed-refs file with that line in the middle of a thousand."""
    path = folder / "packed-refs"
    lines = [*LINES[:500], damage, *LINES[500:]]
    path.write_bytes(header("peeled fully-peeled sorted") + "".join(f"{line}\n" for line in lines).encode())
    return path


DAMAGES = {
    "garbage": "garbage",
    "empty line": "",
    "short oid": f"{OID[1:]} refs/heads/0499x",
    "no hex": f"{'g' * 40} refs/heads/0499x",
    "no name": OID,
    "peeled twice": f"^{OID}\n^{OID}",
    "peeled short": f"^{OID[1:]}",
    "comment": "# comment",
    "out of order": f"{OID} refs/heads/0100",
    "NUL": f"{OID}\0refs/heads/0499x",
}


def what_iterating_tells(read: Callable[[], object]) -> str:
    with pytest.raises(refspan.CorruptError) as caught:
        read()
    assert caught.value.path in str(caught.value)
    assert str(caught.value.offset) in str(caught.value)
    return str(caught.value)


def tells(consume: Consumer, columns: Chosen, message: str) -> None:
    """Whoever reads gets that message, however many rows a batch has, and again whenever it reads."""
    for source in (columns, columns.columns(batch_rows=10), columns.columns(["oid"]), columns):
        with pytest.raises(Exception, match=re.escape(message)):
            consume(source)


@through_each_consumer
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_damage_in_packed_refs_is_told_with_its_line(tmp_path: Path, damage: str, consume: Consumer) -> None:
    path = packed(tmp_path, damage)
    message = what_iterating_tells(lambda: list(refspan.PackedRefs(path)))
    assert f"{path}:{502 + damage.count(chr(10))}: " in message
    for mmap in (True, False):
        tells(consume, refspan.PackedRefs(path, mmap=mmap), message)


@through_each_consumer
@pytest.mark.parametrize("damage", ["garbage", "out of order"])
def test_damage_in_packed_refs_is_told_by_the_store(tmp_path: Path, damage: str, consume: Consumer) -> None:
    store = refspan.open(repository(tmp_path, "files", {"refs/heads/zz": OID}))
    packed(tmp_path, DAMAGES[damage])
    message = what_iterating_tells(lambda: list(store))
    assert f"{tmp_path / 'packed-refs'}:502: " in message
    for refs in (store, store.snapshot()):
        tells(consume, refs, message)


@through_each_consumer
def test_damage_that_opening_meets_is_an_error_of_our_own(tmp_path: Path, consume: Consumer) -> None:
    store = refspan.open(repository(tmp_path, "files", {"refs/heads/zz": OID}))
    (tmp_path / "packed-refs").write_text("garbage")
    message = what_iterating_tells(lambda: list(store))
    with pytest.raises(refspan.CorruptError, match=re.escape(message)):
        store.__arrow_c_stream__()
    with pytest.raises(Exception, match=re.escape(message)):
        consume(store)


def damaged_table(hash_: Hash) -> tuple[bytes, int]:
    """A table of many blocks, one of which in the middle has a record that is none, and where that block is."""
    width = HEX_LEN[hash_] // 2
    rows = [RefRow(b"refs/heads/%04d" % i, b"\1" * width) for i in range(1000)]
    version, hash_id = (1, b"sha1") if hash_ == "sha1" else (2, b"s256")
    table = write_whole(rows, shape=Shape(block_size=256, version=version, hash_id=hash_id))
    block = table.of_kind(b"r")[60]
    return patched(table.data, block.start + block.offsets[2], b"\xff" * 10), block.start


@through_each_consumer
@pytest.mark.parametrize("hash_", HASHES)
def test_damage_in_a_table_is_told_with_its_offset(tmp_path: Path, hash_: Hash, consume: Consumer) -> None:
    data, offset = damaged_table(hash_)
    stack = refspan.ReftableStack(write_stack(tmp_path / "stack", [data]))
    message = what_iterating_tells(lambda: list(stack))
    assert f"(byte {offset})" in message
    tells(consume, stack, message)
    tells(consume, stack.tables[0], message)


@through_each_consumer
def test_damage_in_a_table_is_told_by_the_store(tmp_path: Path, consume: Consumer) -> None:
    store = refspan.open(repository(tmp_path, "reftable", {"refs/heads/zz": OID}))
    write_stack(tmp_path / "reftable", [damaged_table("sha1")[0]])
    message = what_iterating_tells(lambda: list(store))
    for refs in (store, store.snapshot()):
        tells(consume, refs, message)


@through_each_consumer
def test_damage_in_the_logs_of_a_table_is_told(tmp_path: Path, consume: Consumer) -> None:
    rows = [LogRow(b"refs/heads/%04d" % i, 1, b"\1" * 20, b"\2" * 20) for i in range(1000)]
    table = write_whole(logs=rows, shape=Shape(block_size=256))
    block = table.of_kind(b"g")[30]
    data = patched(table.data, block.start + 10, b"\xff" * 4)
    stack = refspan.ReftableStack(write_stack(tmp_path / "stack", [data]))
    message = what_iterating_tells(lambda: list(stack.logs()))
    for source in (stack.logs(), stack.logs().columns(batch_rows=10), stack.tables[0].logs()):
        with pytest.raises(Exception, match=re.escape(message)):
            consume(source)


def test_rows_before_the_damage_may_come_but_the_end_does_not(tmp_path: Path) -> None:
    reader = pa.RecordBatchReader.from_stream(refspan.PackedRefs(packed(tmp_path, "garbage")).columns(batch_rows=10))
    names: list[str] = []
    with pytest.raises(pa.ArrowInvalid, match="hex digits"):
        names.extend(name for batch in reader for name in batch["name"].to_pylist())
    assert names == [line.split(" ")[1] for line in LINES[: len(names)]]
    # Asked again it says the same.
    for _ in range(3):
        with pytest.raises(pa.ArrowInvalid, match="hex digits"):
            reader.read_next_batch()
