"""How far long work is, told at a bounded rate."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeAlias

# `progress(done, total, what)`: of `total`, which is None if nobody knows it, so many are done; `what` are they, in the
# plural. What it raises ends the work.
Progress: TypeAlias = Callable[[int, int | None, str], object]

# Seconds between two calls.
_PERIOD = 0.1


class Meter:
    """Calls a `Progress` for work done in a `with` block: at its start, with the final count at its end, and about ten
    times a second between. An exception ends it without a last call. With None nobody is called.
    """

    def __init__(self, progress: Progress | None, what: str, total: int | None = None) -> None:
        """`what` the work is counted in, in the plural, and how much of it there is, if that is known."""
        self._progress = progress
        self._what = what
        self._total = total
        self._done = 0
        self._told = (-1, 0.0)

    def add(self, count: int) -> None:
        """So many more are done."""
        self._done += count
        if time.monotonic() - self._told[1] >= _PERIOD:
            self._tell()

    def _tell(self) -> None:
        if self._progress is not None and self._told[0] != self._done:
            self._progress(self._done, self._total, self._what)
        self._told = (self._done, time.monotonic())

    def __enter__(self) -> Self:
        """Tell that nothing is done yet."""
        self._tell()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Tell how much was done, unless the last call did."""
        if kind is None:
            self._tell()
