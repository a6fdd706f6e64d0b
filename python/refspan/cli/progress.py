"""Progress on stderr: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TextIO, cast

from refspan.progress import Progress

# Seconds between two lines.
_PERIOD = 1.0


@contextlib.contextmanager
def shown(*, quiet: bool) -> Iterator[Progress | None]:
    """What shows progress as long as the block runs; None if `quiet`, or without a stderr."""
    if quiet or sys.stderr is None:
        yield None
        return
    with _bar() if sys.stderr.isatty() else _lines() as progress:
        yield progress


class _Stderr:
    """Stderr that takes everything: who looks on may go away, and the work goes on."""

    @property
    def encoding(self) -> str:
        return sys.stderr.encoding

    def isatty(self) -> bool:
        return sys.stderr.isatty()

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.flush()


def _text(done: int, total: int | None, what: str) -> str:
    return f"{what}: {done:,}" + ("" if total is None else f" of {total:,}")


@contextlib.contextmanager
def _lines() -> Iterator[Progress]:
    """A line about every second, and one with the final count."""
    stderr, latest, told = _Stderr(), "", time.monotonic()

    def progress(done: int, total: int | None, what: str) -> None:
        nonlocal latest, told
        latest = _text(done, total, what) + "\n"
        if time.monotonic() - told >= _PERIOD:
            told = time.monotonic()
            tell()

    def tell() -> None:
        nonlocal latest
        stderr.write(latest)
        stderr.flush()
        latest = ""

    yield progress
    tell()


def _bar() -> AbstractContextManager[Progress]:
    """A bar; lines if rich is not installed."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar
    except ImportError:
        return _lines()

    @contextlib.contextmanager
    def moved() -> Iterator[Progress]:
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        console = Console(file=cast(TextIO, _Stderr()))
        # Drawn when there is news, not by a thread; and the output is not rich's to redirect.
        bar = Bar(*columns, console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        task = bar.add_task("", total=None)

        def progress(done: int, total: int | None, what: str) -> None:
            bar.update(task, description=_text(done, total, what), completed=done, total=total, refresh=True)

        with bar:
            yield progress

    return moved()
