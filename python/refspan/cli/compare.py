"""`digest` and `diff`: whether two sets of refs are the same, and what is not."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import refspan
from refspan import Change, Error, LogEntry, Symref
from refspan.cli.output import DAMAGED, encode, fail, write
from refspan.cli.repository import open_refs, open_repository


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands of this module."""
    digest = commands.add_parser(
        "digest",
        help="print one number for all refs of a repository",
        description="Print the SHA-256 of the refs that a worktree sees, HEAD and other root refs among them: the same "
        "in both formats. See `RefStore.digest` for what is hashed. The repository is that of the directory, or of -C.",
    )
    digest.add_argument("--reflogs", action="store_true", help="the reflogs, too")
    digest.set_defaults(run=_digest)
    diff = commands.add_parser(
        "diff",
        help="print what makes the refs of A those of B",
        description="""
            Print what makes the refs of A those of B, in order of the names, a line a ref: what is to be done (create,
            update, delete), the name, the values before and after that there are (an object id, or ref: and a name).
            HEAD and other root refs are compared too, unless A or B is a single file. Logs that differ come last:
            reflog, the name, and behind TABs the first entry that differs in each, - for none. With --json an object a
            line: name, kind, before, after. The exit code is 0 if nothing differs, 1 if anything does, 128 for an
            error.""",
    )
    diff.add_argument("a", metavar="A", help="a repository, a packed-refs file, a table, or a reftable directory")
    diff.add_argument("b", metavar="B", help="the same")
    diff.add_argument("--reflogs", action="store_true", help="compare the reflogs, too")
    diff.add_argument("--json", action="store_true", help="print a JSON object a line")
    diff.set_defaults(run=_diff)


def _digest(args: argparse.Namespace) -> int:
    print(open_repository(args).digest(reflogs=args.reflogs))
    return 0


def _diff(args: argparse.Namespace) -> int:
    try:
        return _print_changes(args)
    except BrokenPipeError:
        raise
    except (Error, OSError) as error:
        return fail(error, DAMAGED)


def _print_changes(args: argparse.Namespace) -> int:
    a, b = (open_refs(Path(*args.directory, path)) for path in (args.a, args.b))
    code = 0
    for change in refspan.diff(a, b, reflogs=args.reflogs):
        write((_json(change) if args.json else _text(change)) + b"\n")
        code = 1
    return code


def spell(value: str | Symref | LogEntry | None) -> str | None:
    """A value of a change: an object id, or `ref:` and a name; of a reflog, its entry as a line of a file."""
    if isinstance(value, Symref):
        return f"ref:{value.target}"
    if isinstance(value, LogEntry):
        who = f"{value.committer_name} <{value.committer_email}> {value.time} {value.tz}"
        return f"{value.old} {value.new} {who}" + (f"\t{value.message}" if value.message else "")
    return value


def _text(change: Change) -> bytes:
    if change.kind == "reflog":
        return encode("\t".join([f"reflog {change.name}", spell(change.before) or "-", spell(change.after) or "-"]))
    values = [spell(value) for value in (change.before, change.after) if value is not None]
    return encode(" ".join([change.kind, change.name, *map(str, values)]))


def _json(change: Change) -> bytes:
    facts = {"name": change.name, "kind": change.kind, "before": spell(change.before), "after": spell(change.after)}
    # Bytes that are not UTF-8 come out as the escapes of the lone surrogates that they are in Python.
    return json.dumps(facts).encode()
