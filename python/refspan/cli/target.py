"""Where an export goes: a file that appears whole or not at all, or what cannot be replaced, such as stdout."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO

from refspan.cli.output import write


class Sink(io.RawIOBase):
    """What takes the bytes. Once abandoned it drops them: a writer that ends its file on its way out must not make what
    is there of it look whole.
    """

    def __init__(self, put: Callable[[bytes], object]) -> None:
        """`put` takes all that it is given."""
        self._put = put
        self._is_abandoned = False

    def writable(self) -> bool:
        """It is for nothing else."""
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Write all of it."""
        if not self._is_abandoned:
            self._put(data)
        return len(data)

    def abandon(self) -> None:
        """Take no more."""
        self._is_abandoned = True


def is_stdout(path: Path) -> bool:
    """Whether it leads where stdout does, as `/dev/stdout`."""
    try:
        return os.path.samestat(path.stat(), os.fstat(sys.stdout.fileno()))
    except OSError:
        return False


@contextlib.contextmanager
def opened(path: Path | None) -> Iterator[Sink]:
    """A sink into the file, or stdout. A regular file is replaced when the block ends well, else it stays as it is."""
    if path is None:
        file: AbstractContextManager[IO[bytes] | None] = contextlib.nullcontext()
    else:
        file = _replaced(path) if _is_replaceable(path) else path.open("wb")
    with file as opened:
        sink = Sink(write if opened is None else opened.write)
        try:
            yield sink
        except BaseException:
            sink.abandon()
            raise


def _is_replaceable(path: Path) -> bool:
    """Whether it is a regular file, or nothing yet."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return True


@contextlib.contextmanager
def _replaced(path: Path) -> Iterator[IO[bytes]]:
    """A file beside that one, which takes its place, and its mode, when the block ends well."""
    # A link stays, and leads to the new file.
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".refspan-{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            if target.exists():
                # Whoever may not write to it may not replace it, either.
                if not os.access(target, os.W_OK):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
                os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        if error.filename in (None, str(temporary)):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)
