"""The command line: git's own words and exit codes, plus what git has no word for.

Exit codes: 0 done; 1 could not be done; 128 a damaged file, as git dies of one; 129 wrong usage, as in git; 130
interrupted; 141 the reader of the output went away.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from refspan import BlockInfo, CorruptError, Error, PackedRefs, Reftable, ReftableStack, __version__
from refspan._native import show_logs, show_ref

DAMAGED = 128
USAGE = 129
# What a shell reports for a git whose reader went away, or that was interrupted: 128 and the signal's number.
BROKEN_PIPE = 141
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. `argv` defaults to the process's own."""
    if sys.stdout is None:
        return _fail(os.strerror(errno.EBADF), 1)
    try:
        args = _parser().parse_args(argv)
        run: Callable[[argparse.Namespace], int] = args.run
        code = run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        code = BROKEN_PIPE
    except CorruptError as error:
        code = _fail(error, DAMAGED)
    except (Error, OSError) as error:
        code = _fail(error, 1)
    except KeyboardInterrupt:
        code = INTERRUPTED
    finally:
        _settle_output()
    return code


def _settle_output() -> None:
    """The interpreter flushes stdout once more on its way out; where that must fail, it shall not fail again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write(data: bytes) -> None:
    """Write all of it: an unbuffered stdout (`python -u`) may take less at a time."""
    rest = memoryview(data)
    while rest:
        written = sys.stdout.buffer.write(rest)
        if written is None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        rest = rest[written:]


def _dump(args: argparse.Namespace) -> int:
    """Print the refs of a packed-refs file, a table or a stack, and name the broken ones on stderr."""
    reader = _open(args)
    code = 0

    def report(name: str, broken: str) -> None:
        nonlocal code
        code = _fail(f"{reader.path}: {name!r} is broken: {broken}", DAMAGED)

    if args.logs:
        show_logs(reader, _write)
    else:
        show_ref(reader, _write, report)
    return code


def _open(args: argparse.Namespace) -> PackedRefs | Reftable | ReftableStack:
    path = _path(args)
    if path.is_dir():
        stack = ReftableStack(path, hash=args.hash)
        # To the library that is an empty stack; on the command line it is rather another directory than was meant.
        if not stack.tables and not (path / "tables.list").exists():
            raise IsADirectoryError(errno.EISDIR, "Is a directory without a tables.list", str(path))
        return stack
    is_table = False
    # What is no regular file may make its reader wait for ever; the readers refuse it.
    if path.is_file():
        with path.open("rb") as file:
            is_table = file.read(4) == b"REFT"
    return Reftable(path, hash=args.hash) if is_table else PackedRefs(path, hash=args.hash)


def _path(args: argparse.Namespace) -> Path:
    if not args.path:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), args.path)
    return Path(*args.directory, args.path)


def _blocks(args: argparse.Namespace) -> int:
    """Print the layout of a table: a line a block, then one a section."""
    table = Reftable(_path(args))
    print(f"# version {table.version}, {table.hash}, block size {table.block_size}, ", end="")
    print(f"update indices {table.min_update_index}-{table.max_update_index}")
    row = "{:<6} {:>10} {:>10} {:>8} {:>8} {:>6}"
    print(row.format("kind", "offset", "bytes", "records", "restarts", "fill"))
    totals: dict[str, list[BlockInfo]] = {}
    for block in table.blocks():
        totals.setdefault(block.kind, []).append(block)
        fill = _fill([block], table.block_size)
        print(row.format(block.kind, block.offset, block.length, block.records, block.restarts, fill))
    for kind, blocks in totals.items():
        length, records = sum(b.length for b in blocks), sum(b.records for b in blocks)
        fill = _fill(blocks, table.block_size)
        print(row.format(kind, f"{len(blocks)} blocks", length, records, sum(b.restarts for b in blocks), fill))
    return 0


def _fill(blocks: Sequence[BlockInfo], block_size: int) -> str:
    """How full the blocks are. Log blocks are deflated and never padded, so they have no fill."""
    if not block_size or blocks[0].kind == "log":
        return "-"
    return f"{sum(block.length for block in blocks) / (block_size * len(blocks)):.0%}"


def _fail(message: object, code: int) -> int:
    # A path or name that is not UTF-8, or a stderr that takes nothing, must not turn an error into another one.
    text = f"refspan: {message}\n".encode("utf-8", "backslashreplace").decode("utf-8")
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
    return code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="refspan", description="Git's references, read without git.")
    parser.add_argument("--version", action="version", version=f"refspan {__version__}")
    parser.add_argument(
        "-C", dest="directory", metavar="DIR", action="append", default=[], help="take paths from DIR, as git does"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    dump = commands.add_parser(
        "dump",
        help="print the refs of a file or a stack as `git show-ref -d` would",
        description="Print the refs of a packed-refs file or a `reftable` directory as `git show-ref -d` would, or "
        "every record of a single table. Broken refs, duplicates among them, are named on stderr, and the exit code is "
        "then 128.",
    )
    dump.add_argument("path", help="a packed-refs file, a table, or a reftable directory")
    dump.add_argument("--hash", choices=["sha1", "sha256"], help="the object ids' hash, if not the one they look like")
    dump.add_argument("--logs", action="store_true", help="print reflog entries instead, each behind its ref's name")
    dump.set_defaults(run=_dump)
    blocks = commands.add_parser(
        "blocks",
        help="print the layout of a table",
        description="Print the layout of a table, a line a block, then the totals of each section.",
    )
    blocks.add_argument("path", help="the table")
    blocks.set_defaults(run=_blocks)
    return parser
