"""What the commands print, and how they end."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys

# As git ends when it dies, and on wrong usage.
DAMAGED = 128
USAGE = 129
# What a shell reports for a git whose reader went away, or that was interrupted: 128 and the signal's number.
BROKEN_PIPE = 141
INTERRUPTED = 130


def write(data: bytes) -> None:
    """Write all of it: an unbuffered stdout (`python -u`) may take less at a time."""
    rest = memoryview(data)
    while rest:
        written = sys.stdout.buffer.write(rest)
        if written is None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        rest = rest[written:]


def encode(text: str) -> bytes:
    """A refname, or text that holds one, as the bytes it was read from."""
    return text.encode("utf-8", "surrogateescape")


def fail(message: object, code: int, prefix: str = "refspan") -> int:
    """Say what went wrong on stderr, and return the exit code. What would steer a terminal is shown as git shows it."""
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "?", f"{prefix}: {message}") + "\n"
    # A path or name that is not UTF-8, or a stderr that takes nothing, must not turn an error into another one.
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.flush()
            sys.stderr.buffer.write(text.encode("utf-8", "surrogateescape"))
            sys.stderr.flush()
    return code


def settle() -> None:
    """The interpreter flushes both once more on its way out; where that must fail, it shall not fail again."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
