"""The formats of an export: csv and ndjson from rows, Parquet and Arrow from columns."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from refspan import Columns, UnsupportedError
from refspan.cli.output import encode
from refspan.cli.target import Sink
from refspan.progress import Meter

if TYPE_CHECKING:
    import pyarrow.ipc
    import pyarrow.parquet

Row: TypeAlias = tuple[str | int | None, ...]

# Rows of text that are written at a time.
_ROWS = 1024
# The last second of the year 9999: what is later is no date to Python, nor to most readers.
_LAST = 253_402_300_799
_QUOTED = re.compile(r'[",\r\n]|^$')


@dataclass(frozen=True)
class Source:
    """What is exported, twice: as columns, and as the rows that these have, with times in seconds."""

    what: str
    columns: Columns
    rows: Callable[[], Iterable[Row]]
    total: int | None = None


def write_csv(source: Source, sink: Sink, meter: Meter) -> list[str]:
    """Write csv as of RFC 4180, but for lines that end in LF, with a header. Returns what to warn of.

    Null is empty, and empty text is quoted. (The module csv cannot tell them apart, and leaves a CR unquoted.)
    """

    def cell(value: str | int | None) -> str:
        if value is None:
            return ""
        text = str(value)
        return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text

    def line(row: Row) -> str:
        return ",".join(map(cell, row)) + "\n"

    sink.write(encode(line(source.columns.fields)))
    return _write_lines(line, source, sink, meter)


def write_ndjson(source: Source, sink: Sink, meter: Meter) -> list[str]:
    """Write a JSON object a line. Returns what to warn of."""
    fields = source.columns.fields
    # Bytes that are not UTF-8 come out as the escapes of the lone surrogates that they are in Python.
    spell = json.JSONEncoder(separators=(",", ":")).encode
    return _write_lines(lambda row: spell(dict(zip(fields, row, strict=True))) + "\n", source, sink, meter)


def write_parquet(source: Source, sink: Sink, meter: Meter) -> list[str]:
    """Write Parquet, a row group a batch. Returns what to warn of; `UnsupportedError` without pyarrow."""
    with _from_pyarrow():
        from pyarrow import compute, parquet
    late = 0

    def dated(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        nonlocal late
        at = batch.schema.get_field_index("time")
        if at < 0:
            return batch
        is_date = compute.less_equal(batch[at].cast("int64"), _LAST)
        late += is_date.false_count
        return batch.set_column(at, batch.schema.field(at), compute.if_else(is_date, batch[at], None))

    warned = _write_batches(parquet.ParquetWriter, dated, source, sink, meter)
    return warned + _warn_of(late)


def write_arrow(source: Source, sink: Sink, meter: Meter) -> list[str]:
    """Write an Arrow IPC file. Returns what to warn of; `UnsupportedError` without pyarrow."""
    with _from_pyarrow():
        from pyarrow import ipc
    return _write_batches(ipc.new_file, lambda batch: batch, source, sink, meter)


def _write_lines(line: Callable[[Row], str], source: Source, sink: Sink, meter: Meter) -> list[str]:
    fields, late = source.columns.fields, 0

    def dated(row: Row) -> Row:
        nonlocal late
        at = fields.index("time")
        time = row[at]
        if not isinstance(time, int):
            return row
        late += time > _LAST
        date = f"{datetime.fromtimestamp(time, UTC):%Y-%m-%dT%H:%M:%SZ}" if time <= _LAST else None
        return *row[:at], date, *row[at + 1 :]

    rows = iter(source.rows())
    if "time" in fields:
        rows = map(dated, rows)
    while some := list(itertools.islice(rows, _ROWS)):
        sink.write(encode("".join(map(line, some))))
        meter.add(len(some))
    return _warn_of(late)


def _warn_of(late: int) -> list[str]:
    return [f"{late} times are beyond the year 9999, and null for that"] if late else []


@contextlib.contextmanager
def _from_pyarrow() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        message = f"Parquet and Arrow need pyarrow ({error}): pip install 'refspan[analytics]'"
        raise UnsupportedError(message) from error


def _write_batches(
    start: Callable[[Sink, pyarrow.Schema], pyarrow.ipc.RecordBatchFileWriter | pyarrow.parquet.ParquetWriter],
    change: Callable[[pyarrow.RecordBatch], pyarrow.RecordBatch],
    source: Source,
    sink: Sink,
    meter: Meter,
) -> list[str]:
    import pyarrow

    types = {"time": pyarrow.timestamp("s", "UTC"), "index": pyarrow.uint64()}
    # Plain text, not views: every reader of such files knows it.
    schema = pyarrow.schema([(name, types.get(name, pyarrow.string())) for name in source.columns.fields])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stream = pyarrow.RecordBatchReader.from_stream(source.columns, schema=schema)
        writer = start(sink, schema)
        for batch in _batches(stream, source):
            writer.write_batch(change(batch))
            meter.add(batch.num_rows)
        writer.close()
    # What follows the semicolon is for who chooses fields.
    return [str(each.message).partition(";")[0] for each in caught if issubclass(each.category, UserWarning)]


def _batches(stream: pyarrow.RecordBatchReader, source: Source) -> Iterator[pyarrow.RecordBatch]:
    while True:
        try:
            batch = stream.read_next_batch()
        except StopIteration:
            return
        except Exception:
            # To the stream every failure is text: the rows raise what it was.
            for _ in source.rows():
                pass
            raise
        yield batch
