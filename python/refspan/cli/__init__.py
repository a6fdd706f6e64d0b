"""The command line: git's own words and exit codes, plus what git has no word for.

Exit codes: 0 done; 1 could not be done; 128 a damaged file, as git dies of one; 129 wrong usage, as in git; 130
interrupted; 141 the reader of the output went away.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from refspan import CorruptError, Error, RepositoryNotFoundError, __version__
from refspan.cli import compare, export, files, show_ref, stats
from refspan.cli.output import BROKEN_PIPE, DAMAGED, INTERRUPTED, USAGE, fail, settle


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. `argv` defaults to the process's own."""
    if sys.stdout is None:
        return fail(os.strerror(errno.EBADF), 1)
    try:
        args = _parser().parse_args(_prepared(list(sys.argv[1:] if argv is None else argv)))
        run: Callable[[argparse.Namespace], int] = args.run
        code = run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        code = BROKEN_PIPE
    except (CorruptError, RepositoryNotFoundError) as error:
        code = fail(error, DAMAGED)
    except (Error, OSError) as error:
        code = fail(error, 1)
    except KeyboardInterrupt:
        code = INTERRUPTED
    finally:
        settle()
    return code


def _prepared(arguments: list[str]) -> list[str]:
    """The arguments, those of `show-ref` told apart as git does."""
    command = 0
    while command < len(arguments) and arguments[command].startswith("-"):
        command += 2 if arguments[command] == "-C" else 1
    if arguments[command : command + 1] != ["show-ref"]:
        return arguments
    return arguments[: command + 1] + show_ref.prepare(arguments[command + 1 :])


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
    for module in (files, show_ref, compare, export, stats):
        module.add_to(commands)
    return parser
