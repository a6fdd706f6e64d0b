"""What the tests of exports share: the command, what it should have written, and what it wrote."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import warnings
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import refspan
from refspan.cli import main
from store_support import decode

TEXTS = ("csv", "ndjson")
BINARIES = ("parquet", "arrow")
FORMATS = (*BINARIES, *TEXTS)

Row = tuple[str | int | None, ...]


def command(*args: str | Path) -> list[str]:
    """An export in a process of its own."""
    return [sys.executable, "-m", "refspan", "export", *map(str, args)]


def run(*args: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command(*args), cwd=cwd, capture_output=True, timeout=60, check=False)


def export(file: Path, form: str, *args: str | Path) -> Path:
    """Export within this process, which must go well."""
    assert main(["export", *map(str, args), "--format", form, "-o", str(file), "-q"]) == 0
    return file


def expected(columns: refspan.Columns, form: str) -> list[Row]:
    """The rows of a frame, times in seconds. What is not UTF-8 is null, but in formats of text itself."""
    ids = {"oid", "peeled", "old", "new"}
    text = {name: pa.string() if name in ids or form in BINARIES else pa.binary() for name in columns.fields}
    schema = pa.schema(list((text | {"time": pa.timestamp("s", "UTC"), "index": pa.uint64()}).items()))
    schema = pa.schema([field for field in schema if field.name in columns.fields])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return rows_of(pa.RecordBatchReader.from_stream(columns, schema=schema).read_all())


def rows_of(table: pa.Table) -> list[Row]:
    """The rows of a table, times in seconds."""
    table.validate(full=True)
    columns = [
        (column.cast(pa.timestamp("s", "UTC")).cast(pa.int64()) if pa.types.is_timestamp(column.type) else column)
        for column in table.columns
    ]
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return [tuple(decode(cell) if isinstance(cell, bytes) else cell for cell in row) for row in rows]


def read(file: Path, form: str) -> tuple[list[str], list[Row]]:
    """The fields and rows of an exported file. Empty text in csv is null."""
    if form == "parquet":
        table = pa.parquet.read_table(file)
        return table.column_names, rows_of(table)
    if form == "arrow":
        with pa.ipc.open_file(file) as reader:
            table = reader.read_all()
        return table.column_names, rows_of(table)
    text = decode(file.read_bytes())
    if form == "ndjson":
        objects = [json.loads(line) for line in text.splitlines()]
        rows: list[Row] = [tuple(found.values()) for found in objects]
        fields = list(objects[0]) if objects else []
        assert all(list(found) == fields for found in objects)
    else:
        fields, *lines = csv.reader(text.splitlines(keepends=True), strict=True)
        rows = [tuple(cell or None for cell in line) for line in lines]
    return fields, [_typed(dict(zip(fields, row, strict=True))) for row in rows]


def _typed(row: dict[str, str | int | None]) -> Row:
    """Times as seconds, and numbers as numbers."""
    if row.get("time") is not None:
        time = datetime.strptime(str(row["time"]), "%Y-%m-%dT%H:%M:%SZ")
        row["time"] = int(time.replace(tzinfo=UTC).timestamp())
    if "index" in row:
        row["index"] = int(row["index"] or 0)
    return tuple(row.values())
