"""Progress: how often it is told, and how it is shown."""

from __future__ import annotations

import itertools
import sys

import pytest
from refspan.cli import progress as shows
from refspan.progress import Meter


class Clock:
    """Time that goes on only when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("time.monotonic", lambda: self.now)

    def go_on(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


Call = tuple[int, int | None, str]


@pytest.fixture
def calls() -> list[Call]:
    return []


@pytest.mark.parametrize("total", [10, None])
def test_the_first_and_the_last_count_are_told(clock: Clock, calls: list[Call], total: int | None) -> None:
    with Meter(lambda *call: calls.append(call), "refs", total) as meter:
        assert calls == [(0, total, "refs")]
        for _ in range(10):
            meter.add(1)
    assert calls == [(0, total, "refs"), (10, total, "refs")]


def test_between_them_it_is_told_ten_times_a_second_at_the_most(clock: Clock, calls: list[Call]) -> None:
    with Meter(lambda *call: calls.append(call), "refs") as meter:
        for _ in range(3000):
            clock.go_on(0.001)
            meter.add(2)
    told = [done for done, *_ in calls]
    assert told[0] == 0
    assert told[-1] == 6000
    assert 28 <= len(told) <= 32
    # The last call comes when it does.
    assert min(b - a for a, b in itertools.pairwise(told[:-1])) >= 200


def test_slow_work_is_told_each_time(clock: Clock, calls: list[Call]) -> None:
    with Meter(lambda *call: calls.append(call), "refs") as meter:
        for _ in range(3):
            clock.go_on(5)
            meter.add(1)
    # The last one is not repeated.
    assert [done for done, *_ in calls] == [0, 1, 2, 3]


def test_no_work_at_all_is_told_once(calls: list[Call]) -> None:
    with Meter(lambda *call: calls.append(call), "refs", 0):
        pass
    assert calls == [(0, 0, "refs")]


def test_work_that_failed_has_no_last_call(clock: Clock, calls: list[Call]) -> None:
    def work() -> None:
        with Meter(lambda *call: calls.append(call), "refs") as meter:
            meter.add(1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert calls == [(0, None, "refs")]


def test_what_is_raised_ends_the_work(clock: Clock) -> None:
    def stop(done: int, total: int | None, what: str) -> None:
        if done == 2:
            raise ZeroDivisionError

    counted = 0

    def work() -> None:
        nonlocal counted
        with Meter(stop, "refs") as meter:
            for _ in range(5):
                clock.go_on(1)
                meter.add(1)
                counted += 1

    with pytest.raises(ZeroDivisionError):
        work()
    assert counted == 1


def test_nobody_need_listen() -> None:
    with Meter(None, "refs") as meter:
        meter.add(1)


def test_lines_come_once_a_second_and_in_the_end(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with shows.shown(quiet=False) as progress:
        assert progress is not None
        for i in range(31):
            progress(i * 1000, 30_000, "refs")
            clock.go_on(0.1)
    assert capsys.readouterr().err == ("refs: 10,000 of 30,000\nrefs: 20,000 of 30,000\nrefs: 30,000 of 30,000\n")


def test_a_line_without_a_total_has_the_count_alone(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with shows.shown(quiet=False) as progress:
        assert progress is not None
        progress(1234, None, "changes")
    assert capsys.readouterr().err == "changes: 1,234\n"


def test_work_that_failed_has_no_last_line(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        with shows.shown(quiet=False) as progress:
            assert progress is not None
            progress(1, None, "refs")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert capsys.readouterr().err == ""


def test_nothing_is_shown_if_quiet_or_without_a_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    with shows.shown(quiet=True) as progress:
        assert progress is None
    monkeypatch.setattr(sys, "stderr", None)
    with shows.shown(quiet=False) as progress:
        assert progress is None
