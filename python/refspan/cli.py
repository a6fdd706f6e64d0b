"""The command line: git's own words and exit codes, plus what git has no word for.

Exit codes: 0 done; 1 could not be done; 128 a damaged file, as git dies of one; 129 wrong usage, as in git.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from refspan import CorruptError, Error, PackedRefs, RefView
from refspan._native import show_ref

DAMAGED = 128
USAGE = 129
# What a shell reports for a git whose reader went away: 128 + SIGPIPE.
BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. `argv` defaults to the process's own."""
    args = _parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = args.run
    try:
        code = run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes stdout once more on its way out; that must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except CorruptError as error:
        return _fail(error, DAMAGED)
    except (Error, OSError) as error:
        return _fail(error, 1)
    except KeyboardInterrupt:
        return 130
    return code


def _dump(args: argparse.Namespace) -> int:
    """Print the refs of a packed-refs file as `git show-ref -d` would, and name the broken ones on stderr."""
    packed = PackedRefs(Path(*args.directory, args.path), hash=args.hash)
    code = 0

    def report(ref: RefView, broken: str) -> None:
        nonlocal code
        code = _fail(f"{packed.path}: {ref.refname!r} is broken: {broken}", DAMAGED)

    show_ref(packed, sys.stdout.buffer.write, report)
    return code


def _fail(message: object, code: int) -> int:
    text = f"refspan: {message}\n"
    # A path or name that is not UTF-8 must not turn an error into another one.
    sys.stderr.write(text.encode("utf-8", "backslashreplace").decode("utf-8"))
    return code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="refspan", description="Git's references, read without git.")
    parser.add_argument(
        "-C", dest="directory", metavar="DIR", action="append", default=[], help="take paths from DIR, as git does"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    dump = commands.add_parser(
        "dump",
        help="print a packed-refs file as `git show-ref -d` would",
        description="Print the refs of a packed-refs file as `git show-ref -d` would. Broken refs, "
        "duplicates among them, are named on stderr, and the exit code is then 128.",
    )
    dump.add_argument("path", help="the packed-refs file")
    dump.add_argument("--hash", choices=["sha1", "sha256"], help="the object ids' hash, if not the one they look like")
    dump.set_defaults(run=_dump)
    return parser
