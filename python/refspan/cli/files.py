"""`dump` and `blocks`: what a single file, or a stack, holds."""

from __future__ import annotations

import argparse
import errno
import os
from pathlib import Path

from refspan import BlockInfo, PackedRefs, Reftable, ReftableStack
from refspan._native import show_logs, show_ref
from refspan.cli.output import DAMAGED, fail, write
from refspan.layout import fill


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands of this module."""
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


def _dump(args: argparse.Namespace) -> int:
    """Print the refs of a packed-refs file, a table or a stack, and name the broken ones on stderr."""
    reader = _open(args)
    code = 0

    def report(name: str, broken: str) -> None:
        nonlocal code
        code = fail(f"{reader.path}: {name!r} is broken: {broken}", DAMAGED)

    if args.logs:
        show_logs(reader, write)
    else:
        show_ref(reader, write, report)
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
        share = fill([block], table.block_size)
        print(row.format(block.kind, block.offset, block.length, block.records, block.restarts, share))
    for kind, blocks in totals.items():
        length, records = sum(b.length for b in blocks), sum(b.records for b in blocks)
        share = fill(blocks, table.block_size)
        print(row.format(kind, f"{len(blocks)} blocks", length, records, sum(b.restarts for b in blocks), share))
    return 0
