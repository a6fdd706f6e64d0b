"""Everything that can be asked of a table, compared with itself: answers agree, or the damage is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from refspan import CorruptError, LogEntry, Reftable, RefView
from reftable_writer import LogRow, RefRow

T = TypeVar("T")
U = TypeVar("U")


class Seen(NamedTuple):
    """What a walk shows, and the error that ended it."""

    rows: list[RefRow]
    error: CorruptError | None


def attempt(action: Callable[[], T]) -> T | CorruptError:
    """What came of it: a value, or the one error that damage is told by."""
    try:
        return action()
    except CorruptError as caught:
        error = caught
    assert error.offset is not None
    assert error.line is None
    return error


def drain(items: Iterator[T], convert: Callable[[T], U]) -> tuple[list[U], CorruptError | None]:
    """Everything that an iterator yields, and the error that ends it, which it then keeps raising."""
    got: list[U] = []
    error = attempt(lambda: got.extend(convert(item) for item in items))
    if not isinstance(error, CorruptError):
        return got, None
    for _ in range(2):
        again = attempt(lambda: next(items, None))
        assert isinstance(again, CorruptError), "the error is followed by an end, or by an item"
        assert again.args == error.args
    return got, error


def row_of(ref: RefView) -> RefRow:
    def raw(view: memoryview | None) -> bytes | None:
        return None if view is None else bytes(view)

    assert ref.update_index is not None
    return RefRow(bytes(ref.name), raw(ref.oid), raw(ref.peeled), raw(ref.target), ref.update_index)


def log_of(entry: LogEntry) -> LogRow:
    name = entry.ref.encode("utf-8", "surrogateescape")
    if entry.old is None or entry.new is None:
        return LogRow(name, entry.update_index)
    who, email, message = (
        (text or "").encode("utf-8", "surrogateescape")
        for text in (entry.committer_name, entry.committer_email, entry.message)
    )
    zone = int(entry.tz or "0")
    oids = bytes.fromhex(entry.old), bytes.fromhex(entry.new)
    return LogRow(name, entry.update_index, *oids, who, email, entry.time or 0, zone, message)


def opened(path: Path, data: bytes) -> Reftable:
    path.write_bytes(data)
    return Reftable(path)


def is_refused(path: Path, data: bytes) -> bool:
    """Whether the table cannot even be opened."""
    return isinstance(attempt(partial(opened, path, data)), CorruptError)


def refs_of(table: Reftable) -> list[RefRow]:
    return [row_of(ref) for ref in table]


def pointing_at(table: Reftable, oid: bytes) -> list[RefRow]:
    return [row_of(ref) for ref in table.points_at(oid)]


def logs_of(table: Reftable) -> list[LogRow]:
    return [log_of(entry) for entry in table.logs()]


def probe(path: Path, data: bytes, names: set[bytes], oids: set[bytes], *, exact_objects: bool = True) -> bool:
    """Asks everything of a table, and returns whether its refs and logs could all be read.

    With a damaged object index (`exact_objects` is false) a search may miss refs: nothing tells what it leaves out.
    """
    table = attempt(partial(opened, path, data))
    if isinstance(table, CorruptError):
        assert table.path == str(path)
        return False
    rows, error = drain(iter(table), row_of)
    assert [row.name for row in rows] == sorted({row.name for row in rows})
    _probe_lookups(table, Seen(rows, error), names)
    for oid in oids:
        found = attempt(partial(pointing_at, table, oid))
        if not isinstance(found, CorruptError) and error is None:
            pointing = [row for row in rows if oid in (row.oid, row.peeled)]
            assert found == pointing if exact_objects else set(found) <= set(pointing)
    logs, log_error = drain(table.logs(), log_of)
    for name in {log.name for log in logs} | names:
        some, some_error = drain(table.logs(name), log_of)
        if some_error is None and log_error is None:
            assert some == [log for log in logs if log.name.startswith(name)]
    _probe_totals(table, None if error else len(rows), None if log_error else len(logs))
    return error is None and log_error is None


def _probe_lookups(table: Reftable, seen: Seen, names: set[bytes]) -> None:
    by_name = {row.name: row for row in seen.rows}
    for name in by_name.keys() | names:
        ref = attempt(partial(table.get, name))
        if isinstance(ref, CorruptError):
            continue
        row = None if ref is None else row_of(ref)
        # Where reading all meets damage, a look-up may not reach the name, or find it again behind that.
        assert row == by_name.get(name) if seen.error is None else row is None or row.name == name
        prefix = name[:-1]
        some, error = drain(table.refs(prefix), row_of)
        if error is None and seen.error is None:
            assert some == [row for row in seen.rows if row.name.startswith(prefix)]


def _probe_totals(table: Reftable, refs: int | None, logs: int | None) -> None:
    count = attempt(lambda: len(table))
    assert count == refs or (refs is None and isinstance(count, CorruptError))
    blocks = attempt(table.blocks)
    is_damaged = refs is None or logs is None or isinstance(blocks, CorruptError)
    assert isinstance(attempt(table.check), CorruptError) == is_damaged
    if not isinstance(blocks, CorruptError):
        for kind, total in (("ref", refs), ("log", logs)):
            assert total in (None, sum(block.records for block in blocks if block.kind == kind))
