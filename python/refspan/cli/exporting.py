"""What `export` does. Its formats need much of the standard library, which no other command waits for."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import refspan
from refspan import LogEntry, PackedRefs, RefStore, UnsupportedError
from refspan._native import listed_peel
from refspan.cli.compare import spell
from refspan.cli.formats import Row, Source, write_arrow, write_csv, write_ndjson, write_parquet
from refspan.cli.output import fail
from refspan.cli.progress import shown
from refspan.cli.repository import Refs, open_refs
from refspan.cli.target import is_stdout, opened
from refspan.progress import Meter

_TEXTS = {"csv": write_csv, "ndjson": write_ndjson}
_FORMATS = {"parquet": write_parquet, "arrow": write_arrow} | _TEXTS


def run(args: argparse.Namespace) -> int:
    """Write the file, and return the exit code."""
    if (args.other is not None) != (args.what == "diff"):
        args.refuse("OTHER belongs to --what diff")
    path = None if args.file == "-" else Path(*args.directory, args.file)
    if path is not None and is_stdout(path):
        path = None
    is_terminal = path is None and sys.stdout.isatty()
    if is_terminal and args.format not in _TEXTS:
        args.refuse(f"{args.format} is not for a terminal: give a FILE with -o")
    source = _source(args)
    with (
        opened(path) as sink,
        shown(quiet=args.quiet or is_terminal) as progress,
        Meter(progress, source.what, source.total) as meter,
    ):
        warnings = _FORMATS[args.format](source, sink, meter)
    for warning in warnings:
        fail(warning, 0, "refspan: warning")
    return 0


def _source(args: argparse.Namespace) -> Source:
    refs = open_refs(Path(*args.directory, args.repo))
    if args.what == "diff":
        changes = refspan.diff(refs, open_refs(Path(*args.directory, args.other)))
        rows = ((each.name, each.kind, spell(each.before), spell(each.after)) for each in changes)
        return Source("changes", changes.columns(), lambda: rows)
    if args.what == "refs":
        return Source("refs", refs.columns(), lambda: _refs(refs), len(refs))
    if isinstance(refs, PackedRefs):
        raise UnsupportedError(f"{refs.path}: a packed-refs file has no reflogs")
    if not isinstance(refs, RefStore):
        return Source("reflog entries", refs.logs().columns(), lambda: _entries(refs.logs()))
    # Of logs that grow meanwhile, what they hold now.
    now = refs.snapshot()
    logs = (now.reflog(name, reverse=True) for name in now.reflogs())
    return Source("reflog entries", now.reflogs().columns(), lambda: _entries(itertools.chain.from_iterable(logs)))


def _refs(refs: Refs) -> Iterator[Row]:
    if isinstance(refs, RefStore):
        return ((ref.name, ref.oid, listed_peel(ref), ref.target) for ref in refs)
    return ((ref.refname, ref.hex, ref.peeled_hex, _decoded(ref.target)) for ref in refs)


def _decoded(name: memoryview | None) -> str | None:
    return None if name is None else str(name, "utf-8", "surrogateescape")


def _entries(logs: Iterable[LogEntry]) -> Iterator[Row]:
    for ref, entries in itertools.groupby(logs, key=lambda entry: entry.ref):
        for index, it in enumerate(entries):
            who = (it.committer_name, it.committer_email, it.time, it.tz)
            yield ref, it.old, it.new, *who, it.message, index
