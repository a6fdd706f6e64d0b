"""What a notebook shows of refspan's objects: short, and escaped.

The first refs are read, never all, and nothing is counted that would have to be read for it (a store reads its loose
refs first, as always). What cannot be read is shown as the text of its error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby, islice
from pathlib import Path

from refspan._native import (
    BlockInfo,
    Change,
    ChangeIterator,
    LogEntry,
    PackedRefs,
    Ref,
    RefReader,
    Reftable,
    ReftableStack,
    RefView,
    StoreReader,
    Symref,
    TableLayout,
)
from refspan.layout import fill

# At most so many rows of a table, and characters of a text.
_ROWS = 10
_WIDTH = 120
# Told apart by the colour-blind too, and seen on a light and on a dark ground.
_COLOURS = {"ref": "#0072b2", "index": "#e69f00", "obj": "#009e73", "log": "#cc79a7"}
_PICTURE_WIDTH = 600


def html(shown: object) -> str:
    """The HTML of a store, a snapshot, a reader, the layout of a table, or what `diff` returns.

    Damage, and files that are gone, are told in it, not raised. A `TypeError` for anything else.
    """
    if isinstance(shown, StoreReader):
        parts = [_facts(shown, "git_dir", "format", "hash", "head"), _refs(shown)]
    elif isinstance(shown, PackedRefs):
        parts = [_facts(shown, "path", "size", "hash", "traits"), _refs(shown)]
    elif isinstance(shown, Reftable):
        indices = ("min_update_index", "max_update_index")
        parts = [_facts(shown, "path", "size", "hash", "version", "block_size", *indices), _refs(shown)]
    elif isinstance(shown, ReftableStack):
        parts = [_facts(shown, "path", "hash"), _tables(shown), _refs(shown)]
    elif isinstance(shown, TableLayout):
        parts = [_facts(shown, "block_size"), _sections(shown), _picture(shown)]
    elif isinstance(shown, ChangeIterator):
        # A walk of its own: see `ChangeIterator._repr_html_`.
        parts = [_table(("change", "ref", "before", "after"), map(_change, shown))]
    else:
        raise TypeError(f"a store, reader, table layout or diff is wanted, not {type(shown).__name__}")
    return f"<div><b>{type(shown).__name__}</b>{''.join(parts)}</div>"


def _facts(shown: object, *names: str) -> str:
    """Properties, each with its value or the error that it raises."""
    return _table((), ((name, _fact(shown, name)) for name in names))


def _fact(shown: object, name: str) -> str:
    try:
        if isinstance(shown, RefReader) and name == "size":
            return _size(shown)
        value = getattr(shown, name)
    except Exception as error:
        return _error(error)
    if isinstance(value, Ref):
        return _value(value)
    return ", ".join(sorted(value)) if isinstance(value, frozenset) else str(value)


def _size(reader: RefReader) -> str:
    """How large a file is, unless its path now leads to another one."""
    return "changed or gone" if reader.is_stale() else f"{Path(reader.path).stat().st_size:,} bytes"


def _refs(refs: Iterable[Ref] | Iterable[RefView]) -> str:
    """The first refs; how many there are only a walk could tell."""
    return _table(("ref", "value"), ((_name(ref), _value(ref)) for ref in _each(refs)))


def _each(refs: Iterable[Ref] | Iterable[RefView]) -> Iterator[Ref | RefView]:
    # A generator, so that opening the walk can fail where the first step does.
    yield from refs


def _name(ref: Ref | RefView) -> str:
    return ref.refname if isinstance(ref, RefView) else ref.name


def _value(ref: Ref | RefView) -> str:
    """An object id, or the name that a symbolic ref points at; and why the ref is broken, if it is."""
    if isinstance(ref, RefView):
        target = None if ref.target is None else Symref(ref.target).target
        value = "deletion" if ref.kind == "deletion" else ref.hex
    else:
        target, value = ref.target, ref.oid
    value = f"ref: {target}" if target is not None else value or ""
    return f"{value} (broken: {ref.broken})" if ref.broken else value


def _change(change: Change) -> Sequence[str]:
    return (change.kind, change.name, *map(_side, (change.before, change.after)))


def _side(value: str | Symref | LogEntry | None) -> str:
    if isinstance(value, Symref):
        return f"ref: {value.target}"
    if isinstance(value, LogEntry):
        return f"{value.new} {value.message}"
    return value or ""


def _tables(stack: ReftableStack) -> str:
    """The tables of a stack, oldest first."""
    tables = stack.tables
    rows = (
        (Path(table.path).name, _fact(table, "size"), f"{table.min_update_index}-{table.max_update_index}")
        for table in tables
    )
    return _table(("table", "size", "update indices"), rows, len(tables))


def _sections(layout: TableLayout) -> str:
    """A row for each kind of block."""
    kinds: dict[str, list[BlockInfo]] = {}
    for block in layout:
        kinds.setdefault(block.kind, []).append(block)
    rows = (
        (kind, *(f"{number:,}" for number in _totals(blocks)), fill(blocks, layout.block_size))
        for kind, blocks in kinds.items()
    )
    return _table(("kind", "blocks", "records", "restarts", "bytes", "fill"), rows)


def _totals(blocks: Sequence[BlockInfo]) -> tuple[int, int, int, int]:
    records, restarts = sum(block.records for block in blocks), sum(block.restarts for block in blocks)
    return len(blocks), records, restarts, sum(block.length for block in blocks)


def _picture(layout: TableLayout) -> str:
    """The file as a strip, its blocks coloured by their kind, and a legend."""
    if not len(layout):
        return ""
    runs = [(kind, next(blocks).offset) for kind, blocks in groupby(layout, lambda block: block.kind)]
    end = layout[-1].offset + layout[-1].length
    stops = [*(start for _, start in runs[1:]), end]
    strip = "".join(
        f'<rect x="{start / end * _PICTURE_WIDTH:.1f}" width="{max((stop - start) / end * _PICTURE_WIDTH, 1):.1f}" '
        f'height="16" fill="{_COLOURS[kind]}"><title>{kind}: {stop - start:,} bytes with padding</title></rect>'
        for (kind, start), stop in zip(runs, stops, strict=True)
    )
    kinds = dict(runs)
    legend = " ".join(f'<span style="color:{_COLOURS[kind]}">&#9632;</span> {kind}' for kind in kinds)
    label = 'role="img" aria-label="blocks in file order"'
    return f'<svg width="{_PICTURE_WIDTH}" height="16" {label}>{strip}</svg><div>{legend}</div>'


def _table(head: Sequence[str], rows: Iterator[Sequence[str]], count: int | None = None) -> str:
    """The first rows, and whether there are more, or how many; behind the last one that could be read, the error."""
    shown: list[Sequence[str]] = []
    last = ""
    try:
        shown.extend(islice(rows, _ROWS))
        if count is not None and count > len(shown):
            last = f"... and {count - len(shown):,} more"
        elif count is None and next(rows, None) is not None:
            last = "... and more"
    except Exception as error:
        last = _error(error)
    lines = [_cells("th", head)] if head else []
    lines += [_cells("td", row) for row in shown]
    note = f"<p>{_text(last)}</p>" if last else ""
    return f"<table>{''.join(lines)}</table>{note}"


def _cells(tag: str, row: Sequence[str]) -> str:
    cells = "".join(f'<{tag} style="text-align:left">{_text(cell)}</{tag}>' for cell in row)
    return f"<tr>{cells}</tr>"


def _error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _text(text: str) -> str:
    """Text for HTML. What cannot be printed, and what is not UTF-8, is shown as Python writes it in a literal."""
    if len(text) > _WIDTH:
        text = f"{text[:_WIDTH]}..."
    return escape("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text))
