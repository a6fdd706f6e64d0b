"""What columns hold and how they come: windows on the file, no copies, a batch at a time."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pyarrow as pa
import pytest
import refspan
from columns_support import PART, RECORD, large_records, write_records
from store_support import build

COUNT = 4 * PART // RECORD


def data_of(column: pa.Array) -> list[int]:
    """The sizes of what views of a column point into: the arena, then the windows."""
    return [buffer.size for buffer in column.buffers()[2:]]


def test_each_batch_reaches_from_its_first_byte_to_its_last(tmp_path: Path) -> None:
    path = write_records(tmp_path / "packed-refs", large_records(COUNT))
    batches = list(pa.RecordBatchReader.from_stream(refspan.PackedRefs(path).columns(["name", "oid"])))
    assert len(batches) > 3
    for field in ("name", "oid"):
        sizes = [data_of(batch[field]) for batch in batches]
        assert all(arena == 0 for arena, _ in sizes)
        assert all(window <= batch.num_rows * RECORD for (_, window), batch in zip(sizes, batches, strict=True))


def test_loose_refs_are_not_copied_again(tmp_path: Path) -> None:
    repository = build(tmp_path / "r.git", bare=True)
    repository.create(*(f"refs/heads/a-longer-name-{i:03}" for i in range(100)))
    table = pa.table(repository.store().columns(["name", "oid"]))
    for field in ("name", "oid"):
        arena, *windows = data_of(table[field].chunk(0))
        assert arena == 0
        assert sum(windows) > 0


def test_the_first_batch_does_not_wait_for_the_others(tmp_path: Path) -> None:
    records = large_records(100)
    records[90] = b"garbage\n"
    reader = pa.RecordBatchReader.from_stream(
        refspan.PackedRefs(write_records(tmp_path / "packed-refs", records)).columns(batch_rows=10)
    )
    assert [reader.read_next_batch().num_rows for _ in range(9)] == [10] * 9
    with pytest.raises(pa.ArrowInvalid, match="packed-refs:92: "):
        reader.read_next_batch()


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is one processor")
def test_large_files_are_read_by_more_than_one_thread(tmp_path: Path) -> None:
    packed = refspan.PackedRefs(write_records(tmp_path / "packed-refs", large_records(COUNT * 4)))
    before = len(list(Path("/proc/self/task").iterdir()))
    # More than is read ahead, so that the thread waits for its reader.
    reader = pa.RecordBatchReader.from_stream(packed)
    assert len(list(Path("/proc/self/task").iterdir())) > before
    assert reader.read_all().num_rows == COUNT * 4


def test_progress_is_told_at_a_bounded_rate(tmp_path: Path) -> None:
    repository = build(tmp_path / "r.git", bare=True)
    repository.create("refs/heads/a", "refs/heads/b")
    told: list[int] = []
    scan = refspan.scan([repository.path] * 2000, batch_rows=1, progress=lambda done, *_: told.append(done))
    start = time.monotonic()
    assert pa.table(scan).num_rows == 4000
    assert told[-1] == 2000
    # Ten times a second, the first and the last.
    assert len(told) <= (time.monotonic() - start) * 10 + 2


@pytest.mark.slow
def test_a_file_of_more_than_2_gib_is_read_whole(tmp_path: Path, full: bool) -> None:
    count, name = (2200, b"x" * 1_000_000) if full else (40, b"x" * 100_000)
    path = write_records(
        tmp_path / "packed-refs", (b"%040x refs/heads/%06d%s\n" % (i, i, name) for i in range(1, count + 1))
    )
    assert (path.stat().st_size > 2**31) == full
    rows = 0
    for batch in pa.RecordBatchReader.from_stream(refspan.PackedRefs(path).columns(["oid", "name"], batch_rows=2**20)):
        batch.validate(full=True)
        for at in (0, batch.num_rows - 1):
            number = rows + at + 1
            assert batch["oid"][at].as_py() == f"{number:040x}"
            assert batch["name"][at].as_py() == f"refs/heads/{number:06}" + name.decode()
        rows += batch.num_rows
    assert rows == count
