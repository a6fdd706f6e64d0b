"""Long calls: they let other threads run, hear signals, and say so where there is no memory."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest
from refspan import PackedRefs
from support import run_python

SORTED = b"# pack-refs with: peeled fully-peeled sorted \n"
# So long that each call below takes a few tens of milliseconds and more.
COUNT = 700_000


class RungError(Exception):
    """Raised by the signal handler."""


@pytest.fixture(name="lines", scope="module")
def ref_lines() -> list[bytes]:
    return [b"%040x refs/heads/%08d\n" % (i, i) for i in range(1, COUNT)]


@pytest.fixture(name="sorted_path", scope="module")
def sorted_file(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> Path:
    path = tmp_path_factory.mktemp("bulk") / "packed-refs"
    path.write_bytes(SORTED + b"".join(lines))
    return path


@pytest.fixture(name="unsorted_path", scope="module")
def unsorted_file(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> Path:
    path = tmp_path_factory.mktemp("bulk") / "packed-refs"
    path.write_bytes(b"".join(lines[1::2] + lines[::2]))
    return path


@pytest.fixture(name="alarm")
def ringing_alarm() -> Iterator[Callable[[float], None]]:
    """Sets an alarm whose handler raises."""

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise RungError

    def set_alarm(seconds: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds)

    before = signal.signal(signal.SIGALRM, ring)
    yield set_alarm
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_opening_lets_other_threads_run(unsorted_path: Path) -> None:
    ticks, done = 0, threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0)

    interval = sys.getswitchinterval()
    # A thread that must ask for the GIL would have to wait for the whole call.
    sys.setswitchinterval(1000)
    thread = threading.Thread(target=tick)
    try:
        thread.start()
        before = ticks
        PackedRefs(unsorted_path)
        after = ticks
    finally:
        done.set()
        sys.setswitchinterval(interval)
        thread.join()
    assert after - before > 10


@pytest.mark.parametrize("mmap", [True, False])
def test_opening_hears_a_signal(unsorted_path: Path, alarm: Callable[[float], None], mmap: bool) -> None:
    alarm(0.02)
    with pytest.raises(RungError):
        PackedRefs(unsorted_path, mmap=mmap)


@pytest.mark.parametrize(
    "call", [len, PackedRefs.check, lambda packed: packed.points_at("ab" * 20)], ids=["len", "check", "points_at"]
)
def test_a_bulk_call_hears_a_signal_and_leaves_the_reader_whole(
    sorted_path: Path, alarm: Callable[[float], None], call: Callable[[PackedRefs], object]
) -> None:
    def call_for_ever() -> None:
        # One call may be over before the alarm rings; ringing between two is just as good.
        while True:
            call(PackedRefs(sorted_path))

    alarm(0.01)
    with pytest.raises(RungError):
        call_for_ever()
    packed = PackedRefs(sorted_path)
    assert len(packed) == COUNT - 1


def test_a_thread_that_is_not_the_main_one_hears_no_signal(sorted_path: Path) -> None:
    counts: list[int] = []
    thread = threading.Thread(target=lambda: counts.append(len(PackedRefs(sorted_path))))
    thread.start()
    thread.join()
    assert counts == [COUNT - 1]


def test_no_memory_for_a_sorted_copy_is_a_memory_error(unsorted_path: Path) -> None:
    code = """
import resource, sys
from refspan import PackedRefs
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 60_000_000, -1))
try:
    PackedRefs(sys.argv[1])
except MemoryError:
    print("MemoryError")
"""
    assert run_python(code, str(unsorted_path)).strip() == "MemoryError"


def test_many_equal_names_keep_the_order_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "packed-refs"
    same = [b"%040x refs/heads/same\n" % i for i in range(1, 200)]
    path.write_bytes(b"".join(same[:100]) + b"%040x refs/heads/a\n" % 7 + b"".join(same[100:]))
    assert [bytes(record) for record in PackedRefs(path).records("refs/heads/same")] == same
