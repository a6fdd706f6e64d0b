"""Frames that are read within functions that refspan itself has called."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
import refspan
from store_support import Repository, build
from support import Ref, write_packed

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = build(tmp_path / "r.git", bare=True)
    repository.create(*(f"refs/heads/b{i}" for i in range(200)))
    return repository


@pytest.fixture
def latin(tmp_path: Path) -> refspan.PackedRefs:
    """A file that makes the end of a stream warn."""
    return refspan.PackedRefs(write_packed(tmp_path / "latin", [Ref(b"refs/heads/caf\xe9", b"1" * 40, None)]))


def read(latin: refspan.PackedRefs) -> int:
    with pytest.warns(UserWarning, match="1 values are not UTF-8"):
        return int(pa.table(latin).num_rows)


def test_progress_may_read_frames_of_its_own(repository: Repository, latin: refspan.PackedRefs) -> None:
    seen = []

    def progress(*_: object) -> None:
        inner = refspan.scan(repository.path, progress=lambda *_: None)
        seen.append((pa.table(inner).num_rows, read(latin)))

    assert pa.table(refspan.scan([repository.path] * 3, progress=progress)).num_rows == 600
    assert set(seen) == {(200, 1)}


def test_the_names_of_fields_may_come_from_a_frame(repository: Repository, latin: refspan.PackedRefs) -> None:
    def fields() -> Iterator[str]:
        assert read(latin) == 1
        yield "name"

    assert repository.store().columns(fields()).fields == ("name",)


def test_a_signal_handler_may_read_a_frame(repository: Repository, latin: refspan.PackedRefs) -> None:
    seen = []

    def handler(_: int, __: FrameType | None) -> None:
        seen.append(read(latin))

    before = signal.signal(signal.SIGUSR1, handler)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        assert pa.table(refspan.scan([repository.path] * 3000, batch_rows=1000)).num_rows == 600_000
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
    assert seen == [1]


def test_the_stream_that_calls_is_not_read_by_what_it_calls(repository: Repository) -> None:
    said: list[str] = []

    def progress(*_: object) -> None:
        try:
            reader.read_next_batch()
        except pa.ArrowException as error:
            said.append(str(error))

    reader = pa.RecordBatchReader.from_stream(refspan.scan([repository.path] * 10, batch_rows=10, progress=progress))
    assert reader.read_all().num_rows == 2000
    assert said
    assert {"is being read" in text for text in said} == {True}


def test_an_error_with_a_nul_is_told(repository: Repository) -> None:
    def progress(*_: object) -> None:
        raise RuntimeError("a\0b")

    with pytest.raises(pa.ArrowException, match=r"RuntimeError: a\?b"):
        pa.table(refspan.scan(repository.path, progress=progress))


def read_until_interrupted(scan: refspan.Scan) -> None:
    with contextlib.suppress(pa.ArrowException):
        pa.table(scan)
    # The library said so in its own words; Ctrl-C comes right behind.
    time.sleep(5)


def test_ctrl_c_is_heard_while_batches_keep_coming(repository: Repository) -> None:
    scan = refspan.scan([repository.path] * 200_000, batch_rows=200)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        read_until_interrupted(scan)
    timer.join()


def test_many_namespaces_are_looked_up_not_searched(tmp_path: Path) -> None:
    names = [b"refs/n%06d/x" % i for i in range(100_000)]
    packed = refspan.PackedRefs(write_packed(tmp_path / "packed-refs", [Ref(name, b"1" * 40, None) for name in names]))
    column = pa.table(packed.columns(["namespace"], batch_rows=2**62))["namespace"]
    assert column.to_pylist() == [name[:-2].decode() for name in names]


def test_a_warning_does_not_take_the_place_of_the_consumers_error(tmp_path: Path) -> None:
    names = [b"refs/heads/a\xe9", *(b"refs/heads/b%06d" % i for i in range(80_000))]
    path = write_packed(tmp_path / "packed-refs", [Ref(name, b"1" * 40, None) for name in names])
    path.write_bytes(path.read_bytes().replace(b" refs/heads/b079000\n", b"garbage\n"))
    packed = refspan.PackedRefs(path)
    with pytest.warns(UserWarning, match="1 values"), pytest.raises(pa.ArrowInvalid, match="packed-refs:790"):
        pa.table(packed)
