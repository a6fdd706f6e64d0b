"""`show-ref`: git's command, with its options, output and exit codes."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import BinaryIO

from refspan import CorruptError, Error, Ref, RefNotFoundError, RefStore
from refspan._native import is_below_a_file, is_well_formed, list_refs
from refspan.cli.output import DAMAGED, USAGE, encode, fail, write
from refspan.cli.repository import open_repository

# Git takes a value for these only behind "=", so what follows them is never theirs.
_BARE = ("--hash", "--abbrev", "--exclude-existing")
_LEAST_DIGITS, _MOST_DIGITS = 4, 64


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    flag = argparse.BooleanOptionalAction
    parser = commands.add_parser(
        "show-ref",
        help="list the refs of a repository, as `git show-ref`",
        description="List the refs of a repository and their object ids, as `git show-ref` does: with its exit codes.",
    )
    parser.add_argument("-q", "--quiet", action=flag, default=False, help="print nothing, only check")
    parser.add_argument("--branches", "--heads", action=flag, default=False, help="only branches (with tags too)")
    parser.add_argument("--tags", action=flag, default=False, help="only tags (with branches too)")
    parser.add_argument("--head", action=flag, default=False, help="show HEAD too, even if it matches no pattern")
    parser.add_argument("-d", "--dereference", action=flag, default=False, help="show what tags point at, too")
    parser.add_argument("--verify", action=flag, default=False, help="take the patterns for exact names")
    parser.add_argument("--exists", action=flag, default=False, help="check that one ref exists, resolved or not")
    parser.add_argument("-s", dest="hash_only", action="store_true", help="show object ids alone")
    parser.add_argument(
        "--hash", metavar="N", action=_Digits, help="as --hash[=N]: object ids alone, of N digits at least"
    )
    parser.add_argument(
        "--abbrev", metavar="N", action=_Digits, help="as --abbrev[=N]: N digits at least, or as many as git shows"
    )
    parser.add_argument("--no-hash", "--no-abbrev", nargs=0, action=_Digits, help=argparse.SUPPRESS)
    parser.add_argument(
        "--exclude-existing",
        metavar="PATTERN",
        help="as --exclude-existing[=PATTERN]: print the lines of stdin that end in no existing ref",
    )
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="the ends of names, at a slash")
    parser.set_defaults(run=_show_ref, digits=None)


def prepare(arguments: list[str]) -> list[str]:
    """Tell bare options from those with a value, as git does, in the arguments of the command."""
    prepared: list[str] = []
    for i, argument in enumerate(arguments):
        if argument == "--":
            return prepared + arguments[i:]
        digits = re.fullmatch(r"-s(\d+)", argument)
        prepared.append(f"{argument}=" if argument in _BARE else f"--hash={digits[1]}" if digits else argument)
    return prepared


def _show_ref(args: argparse.Namespace) -> int:
    try:
        return _run(args)
    except BrokenPipeError:
        raise
    except (Error, OSError) as error:
        sys.stdout.flush()
        return fail(error, DAMAGED, "fatal")


def _run(args: argparse.Namespace) -> int:
    modes = [args.exclude_existing is not None, args.verify, args.exists]
    names = ["--exclude-existing", "--verify", "--exists"]
    if sum(modes) > 1:
        first, second, *more = (name for name, mode in zip(names, modes, strict=True) if mode)
        options = f"'{first}', '{second}'" + "".join(f", '{name}'" for name in more)
        joined = " and ".join(f"'{n}'" for n in (first, second)) if not more else options
        return fail(f"options {joined} cannot be used together", DAMAGED, "fatal")
    store = open_repository(args)
    if args.exclude_existing is not None:
        return _exclude_existing(store, args.exclude_existing, sys.stdin.buffer)
    if args.exists:
        return _exists(store, args.patterns)
    if args.verify and not args.patterns:
        return fail("--verify requires a reference", DAMAGED, "fatal")
    prefixes = [b"refs/heads/"] * args.branches + [b"refs/tags/"] * args.tags
    patterns = [os.fsencode(pattern) for pattern in args.patterns]
    found, died = list_refs(
        store,
        write,
        names=patterns if args.verify else None,
        prefixes=prefixes or [b""],
        patterns=[] if args.verify else patterns,
        head=args.head,
        dereference=args.dereference,
        hash_only=args.hash_only,
        abbrev=args.digits,
        quiet=args.quiet,
    )
    if died is None:
        return 0 if found or args.verify else 1
    if args.verify and args.quiet and died.endswith("not a valid ref"):
        return 1
    sys.stdout.flush()
    return fail(died, DAMAGED, "fatal")


class _Digits(argparse.Action):
    """How many digits to show: None for all, 0 for as many as git takes by itself. The last option counts."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[str] | None,
        option_string: str | None = None,
    ) -> None:
        option = (option_string or "").removeprefix("--")
        if option in ("hash", "no-hash"):
            namespace.hash_only = option == "hash"
        if values == "":
            # A bare --hash says nothing of the digits.
            namespace.digits = namespace.digits if option == "hash" else 0
            return
        text = "0" if option.startswith("no-") else str(values)
        if not re.fullmatch(r"[+-]?\d+", text):
            parser.exit(USAGE, f"error: option `{option}' expects a numerical value\n")
        namespace.digits = min(max(int(text), _LEAST_DIGITS), _MOST_DIGITS) if int(text) else None


def _exists(store: RefStore, names: list[str]) -> int:
    if not names:
        return fail("--exists requires a reference", DAMAGED, "fatal")
    if len(names) > 1:
        return fail("--exists requires exactly one reference", DAMAGED, "fatal")
    try:
        ref = store[os.fsencode(names[0])]
    except RefNotFoundError:
        if is_below_a_file(store, os.fsencode(names[0])):
            return fail("failed to look up reference: Not a directory", 1, "error")
        return fail("reference does not exist", 2, "error")
    except (CorruptError, OSError) as error:
        return fail(f"failed to look up reference: {error}", 1, "error")
    if ref.broken is not None and ref.oid is None and ref.target is None:
        return fail("failed to look up reference: Invalid argument", 1, "error")
    return 0


def _is_listed(store: RefStore, ref: Ref) -> bool:
    """Whether git lists it: no symbolic ref that leads nowhere, and nothing but files."""
    if ref.target is None:
        return ref.broken not in ("not a file", "symlink loop")
    try:
        store.resolve(ref)
    except (CorruptError, RefNotFoundError):
        return False
    return True


def _exclude_existing(store: RefStore, pattern: str, lines: BinaryIO) -> int:
    """Print each line whose last word, without `^{}`, is a well-formed refname and no existing ref."""
    existing = {encode(ref.name) for ref in store.refs() if _is_listed(store, ref)}
    start = os.fsencode(pattern)
    for line in lines:
        text = line.removesuffix(b"\n").removesuffix(b"^{}")
        name = re.split(rb"[ \t\n\r\f\v]", text)[-1]
        if not name.startswith(start):
            continue
        if b"/" not in name or not is_well_formed(name):
            fail(f"ref '{name.decode('utf-8', 'replace')}' ignored", 0, "warning")
        elif name not in existing:
            write(text + b"\n")
    return 0
