"""`stats`: what refs a repository has, and how they are stored."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import refspan
from refspan.cli.output import encode, write

if TYPE_CHECKING:
    from refspan.stack_stats import StackStats
    from refspan.stats import FilesStats, Stats

_Line = tuple[str, int, str]

_NAMESPACES = 20


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "stats",
        help="count the refs of a repository, and tell how they are stored",
        description="Count the refs of a repository by namespace and kind, and tell how they are stored: sizes, "
        "fragmentation, and what optimizing would win. Lines that start with ~ are estimates.",
    )
    parser.add_argument("repo", metavar="REPO", help="the repository")
    parser.add_argument("--json", action="store_true", help="print a JSON object instead")
    parser.set_defaults(run=_stats)


def _stats(args: argparse.Namespace) -> int:
    # No other command waits for what this imports.
    from refspan.stats import stats

    found = stats(refspan.open(Path(*args.directory, args.repo)))
    write(json.dumps(found.to_dict()).encode() + b"\n" if args.json else encode(text(found)))
    return 0


def text(found: Stats) -> str:
    """What the command prints: a line each with a label, a number, and what there is to say of it."""
    lines = list(_lines(found))
    label = max(len(line[0]) for line in lines)
    number = max(len(f"{line[1]:,}") for line in lines)
    table = [f"{name:{label}}  {count:{number},}  {note}".rstrip() for name, count, note in lines]
    # What would steer a terminal is shown as git shows it.
    shown = [re.sub(r"[\x00-\x1f\x7f]", "?", line) for line in (f"{found.path}: {found.format}, {found.hash}", *table)]
    return "\n".join(shown) + "\n"


def _lines(found: Stats) -> Iterator[_Line]:
    yield "refs", found.refs, ""
    spaces = sorted(found.namespaces.items(), key=lambda item: -item[1])
    for space, count in spaces[:_NAMESPACES]:
        yield f"  {space}", count, ""
    if rest := spaces[_NAMESPACES:]:
        yield "  others", sum(count for _, count in rest), f"in {len(rest):,} more namespaces"
    if found.no_namespace:
        yield "  in none", found.no_namespace, ""
    yield "symbolic", found.symbolic, ""
    yield "annotated", found.annotated, "point at a tag object"
    yield "broken", found.broken, ""
    if found.files:
        yield from _files(found.files)
    for stack in found.stacks:
        yield from _stack(stack)
    yield "reflogs", found.reflogs.logs, f"{found.reflogs.entries:,} entries, {found.reflogs.bytes:,} bytes"


def _files(files: FilesStats) -> Iterator[_Line]:
    yield "loose", files.loose, f"{files.loose_bytes:,} bytes of disk, at a block each"
    yield "packed", files.packed, f"{files.packed_bytes:,} bytes; {' '.join(files.traits) or 'no traits'}"
    yield "overridden", files.overridden, f"{files.overridden_bytes:,} bytes of packed refs that are loose, too"
    yield "~ to win", files.optimizing_frees, "bytes, by git pack-refs --all"


def _stack(stack: StackStats) -> Iterator[_Line]:
    yield "tables", stack.tables, f"{stack.bytes:,} bytes in {stack.path}"
    yield "records", stack.records, f"{stack.live:,} live, {stack.shadowed:,} shadowed, {stack.tombstones:,} tombstones"
    for section in stack.sections:
        if section.blocks:
            fill = "" if section.fill is None else f", {section.fill:.0%} full"
            depth = f", index depth {section.depth}" if section.depth else ""
            yield (
                f"{section.kind} blocks",
                section.blocks,
                f"{section.records:,} records, {section.bytes:,} bytes{fill}{depth}",
            )
    yield "compaction due", stack.compaction_due, "tables that git would merge by itself"
    yield "~ to win", stack.compacting_frees, f"bytes, and {stack.compacting_saves:,} tables, by git pack-refs"
