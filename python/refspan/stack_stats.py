"""How refs and reflogs are stored in a stack of tables: sizes, what is of no use in it, what compacting would win."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from refspan._native import BlockInfo, Reftable, ReftableStack

Kind = Literal["ref", "index", "obj", "log"]

_KINDS: tuple[Kind, ...] = ("ref", "index", "obj", "log")
# `reftable.geometricFactor`, unless configured.
_FACTOR = 2


@dataclass(frozen=True)
class Section:
    """The blocks of a kind, in all tables of a stack."""

    kind: Kind
    blocks: int
    bytes: int
    records: int
    # How much of what the blocks are padded to is in use; None if they are not padded.
    fill: float | None
    # Levels of the index over them, in the table that has most.
    depth: int


@dataclass(frozen=True)
class StackStats:
    """Refs and reflogs in a stack of tables."""

    path: str
    tables: int
    bytes: int
    # Records of refs: all, those that count, those that a newer table hides, and tombstones, hidden ones too.
    records: int
    live: int
    shadowed: int
    tombstones: int
    sections: tuple[Section, ...]
    # How many tables git's geometric rule, with its usual factor, would merge as they stand.
    compaction_due: int
    # What merging all tables wins: tables, and, as an estimate, bytes.
    compacting_saves: int
    compacting_frees: int


def stack_stats(folder: Path, hash_: Literal["sha1", "sha256"]) -> StackStats:
    """Look at the stack in a directory. Reads it all: O(records). Raises `CorruptError`, `OSError`."""
    stack = ReftableStack(folder, hash=hash_)
    tables = [_Table.of(table) for table in stack.tables]
    size = sum(table.end + table.footer for table in tables)
    sections = {kind: _section(kind, tables) for kind in _KINDS}
    records, live = sum(len(table) for table in stack.tables), len(stack)
    tombstones = sum(ref.kind == "deletion" for table in stack.tables for ref in table)
    return StackStats(
        path=str(folder),
        tables=len(tables),
        bytes=size,
        records=records,
        live=live,
        shadowed=records - live - tombstones,
        tombstones=tombstones,
        sections=tuple(section for section in sections.values() if section.blocks),
        # Git takes a table to be as large as its blocks, and one byte.
        compaction_due=_due([table.end - table.header + 1 for table in tables]),
        compacting_saves=max(len(tables) - 1, 0),
        compacting_frees=size - _compacted(stack, tables, sections) if len(tables) > 1 else 0,
    )


@dataclass(frozen=True)
class _Table:
    block_size: int
    # Bytes before and behind the blocks; the first block counts those before in.
    header: int
    footer: int
    blocks: Sequence[BlockInfo]

    @classmethod
    def of(cls, table: Reftable) -> Self:
        header, footer = (24, 68) if table.version == 1 else (28, 72)
        return cls(table.block_size, header, footer, tuple(table.blocks()))

    @property
    def end(self) -> int:
        """Where the blocks end."""
        return self.blocks[-1].offset + self.blocks[-1].length if self.blocks else self.header


def _section(kind: Kind, tables: Sequence[_Table]) -> Section:
    found = [(block, table.block_size) for table in tables for block in table.blocks if block.kind == kind]
    used = sum(block.length for block, _ in found)
    # Log blocks are deflated, and not padded.
    room = 0 if kind == "log" else sum(size for _, size in found)
    return Section(
        kind=kind,
        blocks=len(found),
        bytes=used,
        records=sum(block.records for block, _ in found),
        fill=used / room if room else None,
        depth=max((_depths(table.blocks)[kind] for table in tables), default=0),
    )


def _depths(blocks: Iterable[BlockInfo]) -> Counter[str]:
    """How many levels of index each section of a table has."""
    depths: Counter[str] = Counter()
    section, below = "", 0
    for kind, group in itertools.groupby(blocks, key=lambda block: block.kind):
        if kind != "index":
            section, below = kind, len(list(group))
            continue
        # The lowest level comes first, and each has a record for every block of the one below.
        level = pointed = 0
        for block in group:
            level, pointed = level + 1, pointed + block.records
            if pointed == below:
                depths[section] += 1
                level, pointed, below = 0, 0, level
    return depths


def _due(sizes: Sequence[int]) -> int:
    """How many tables git merges so that each is at least `_FACTOR` times as large as all newer ones together."""
    last = next((i for i in range(len(sizes) - 1, 0, -1) if sizes[i - 1] < _FACTOR * sizes[i]), 0)
    first, merged = last, sizes[last] if sizes else 0
    for i in range(last - 1, -1, -1):
        if sizes[i] < _FACTOR * merged:
            first = i
        merged += sizes[i]
    return last - first + 1 if first < last else 0


def _compacted(stack: ReftableStack, tables: Sequence[_Table], sections: Mapping[Kind, Section]) -> int:
    """About how many bytes one table takes that has all that counts, if a record takes what it takes on average now."""
    refs, logs = sections["ref"].records, sections["log"].records
    log_bytes = sections["log"].bytes
    other_bytes = sum(table.end - table.header for table in tables) - log_bytes
    live, entries = len(stack), sum(1 for _ in stack.logs())
    parts = (other_bytes * live // refs if refs else 0, log_bytes * entries // logs if logs else 0)
    return tables[-1].header + sum(parts) + tables[-1].footer
