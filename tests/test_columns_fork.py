"""Streams with threads in a process that was forked: its threads are not in it, and nobody waits for them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest
import refspan
from store_support import build
from support import Ref, write_packed

pa = pytest.importorskip("pyarrow")


class Reader(Protocol):
    """What pyarrow makes of a stream."""

    def read_all(self) -> Any: ...  # noqa: ANN401 - pyarrow has no types


def in_a_fork(work: Callable[[], str]) -> str:
    """What the work returns in a forked process, which has ten seconds for it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        try:
            os.write(write, work().encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as told:
        text = told.read().decode()
    os.waitpid(child, 0)
    return text


def opened(frame: refspan.PackedRefs | refspan.Scan) -> Reader:
    reader = pa.RecordBatchReader.from_stream(frame)
    assert reader.read_next_batch().num_rows > 0
    return reader  # type: ignore[no-any-return]


def ending(reader: Reader) -> str:
    """How reading on ends, and the stream."""
    try:
        return f"{reader.read_all().num_rows} rows"
    except pa.ArrowException as error:
        return str(error)
    finally:
        del reader


def large(path: Path) -> refspan.PackedRefs:
    refs = (Ref(b"refs/pull/%07d/head" % i, b"%040x" % (i + 1), None) for i in range(150_000))
    return refspan.PackedRefs(write_packed(path, refs))


def test_a_stream_of_one_file_says_so_and_goes_on_where_it_was_opened(tmp_path: Path) -> None:
    reader = opened(large(tmp_path / "packed-refs"))
    assert "before this process was forked" in in_a_fork(lambda: ending(reader))
    assert 0 < reader.read_all().num_rows < 150_000


def test_a_stream_of_a_fleet_says_so_too(tmp_path: Path) -> None:
    repository = build(tmp_path / "r.git", bare=True)
    repository.create("refs/heads/main")
    reader = opened(refspan.scan([repository.path] * 1000, batch_rows=10))
    assert "before this process was forked" in in_a_fork(lambda: ending(reader))
    assert reader.read_all().num_rows > 0


def test_what_is_opened_in_the_fork_is_read_there(tmp_path: Path) -> None:
    packed = large(tmp_path / "packed-refs")
    opened(packed)
    assert in_a_fork(lambda: ending(pa.RecordBatchReader.from_stream(packed))) == "150000 rows"
