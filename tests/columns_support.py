"""What the tests of Arrow columns share: those who read them, what they should read, and large files of refs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import duckdb
import nanoarrow
import pandas as pd  # type: ignore[import-untyped, unused-ignore]
import polars as pl
import pyarrow as pa
import pytest
import refspan
from store_support import Format, Repository, Told, build, encode, git_refs
from support import GIT_TRAITS, HEX_LEN, Hash, git_listing, header

# The columns of refs and of reflog entries that nobody has to ask for, and all of them.
REF_FIELDS = ("name", "oid", "peeled", "target")
ALL_REF_FIELDS = (*REF_FIELDS, "kind", "update_index", "namespace", "broken", "name_bytes", "repository")
LOG_FIELDS = ("ref", "old", "new", "committer_name", "committer_email", "time", "tz", "message", "index")
ALL_LOG_FIELDS = (*LOG_FIELDS, "update_index", "namespace", "ref_bytes", "repository")

# What `rows_of` and `rows_of_views` tell.
TOLD_FIELDS = (*REF_FIELDS, "kind", "namespace", "broken", "name_bytes")

# Bytes of a file that are read as one part, by one thread.
PART = 2 << 20
# Records of a large file, all of one length.
RECORD = 128

Row = tuple[Any, ...]


class Columnar(Protocol):
    """What speaks the PyCapsule stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule `arrow_array_stream`."""


class Chosen(Columnar, Protocol):
    """What has columns to choose from."""

    def columns(
        self,
        fields: Iterable[str] | None = None,
        *,
        prefix: str | None = None,
        glob: str | None = None,
        oid: Literal["hex", "raw"] = "hex",
        batch_rows: int = 65536,
    ) -> refspan.Columns: ...


class Frame(NamedTuple):
    """What somebody made of columns; null is None."""

    fields: tuple[str, ...]
    rows: list[Row]


Consumer = Callable[[Columnar], Frame]


def by_pyarrow(source: Columnar) -> Frame:
    """Validated in full."""
    table = pa.table(source)
    table.validate(full=True)
    return Frame(tuple(table.column_names), list(zip(*(column.to_pylist() for column in table.columns), strict=True)))


def by_polars(source: Columnar) -> Frame:
    frame = pl.DataFrame(source)
    return Frame(tuple(frame.columns), frame.rows())


def by_pandas(source: Columnar) -> Frame:
    frame = pd.DataFrame.from_arrow(source)
    rows = [tuple(None if pd.isna(value) else value for value in row) for row in frame.itertuples(False, None)]
    return Frame(tuple(frame.columns), rows)


def by_duckdb(source: Columnar) -> Frame:
    """By SQL, in which `source` is the object itself."""
    found = duckdb.sql("FROM source")
    assert found is not None
    return Frame(tuple(found.columns), found.fetchall())


def by_nanoarrow(source: Columnar) -> Frame:
    stream = nanoarrow.ArrayStream(source)
    return Frame(tuple(field.name for field in stream.schema.fields), list(stream.iter_tuples()))


CONSUMERS = {
    "pyarrow": by_pyarrow,
    "polars": by_polars,
    "pandas": by_pandas,
    "duckdb": by_duckdb,
    "nanoarrow": by_nanoarrow,
}
through_each_consumer = pytest.mark.parametrize("consume", CONSUMERS.values(), ids=list(CONSUMERS))


def read(source: Columnar) -> list[Row]:
    """The rows alone, validated."""
    return by_pyarrow(source).rows


@contextmanager
def warned_of(lost: int) -> Iterator[None]:
    """Exactly one warning tells of so many values that are not UTF-8; of none there is no warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    told = [(warning.category, str(warning.message).partition(",")[0]) for warning in caught]
    assert told == [(UserWarning, f"{lost} values are not UTF-8")] * (lost > 0)


def text(name: str | bytes | None) -> str | None:
    """As a column of text has it: null if it is not UTF-8."""
    if name is None:
        return None
    try:
        return (name if isinstance(name, bytes) else encode(name)).decode()
    except UnicodeDecodeError:
        return None


def namespace(name: bytes) -> str | None:
    parts = name.split(b"/", 2)
    return text(b"/".join(parts[:2])) if len(parts) == 3 and parts[0] == b"refs" else None


def git_rows(where: Repository, unlisted: tuple[Told, ...] = ()) -> list[Row]:
    """What git says of the refs there, and of those that it does not list: the usual columns and `name_bytes`."""
    peeled = {ref.name: ref.peeled for ref in git_listing(where.path)}
    told = sorted((encode(ref.name), ref) for ref in (*git_refs(where), *unlisted))
    rows = []
    for name, ref in told:
        peel = peeled.get(name) if ref.target is None else None
        rows.append((text(name), ref.oid, peel.decode() if peel else None, text(ref.target), name))
    return rows


def rows_of(refs: Iterable[refspan.Ref]) -> list[Row]:
    """The refs of a store, in the columns `TOLD_FIELDS`."""
    rows = []
    for ref in refs:
        kind = "symref" if ref.target is not None else "oid" if ref.oid is not None else None
        name = encode(ref.name)
        rows.append((text(name), ref.oid, ref.peeled, text(ref.target), kind, namespace(name), ref.broken, name))
    return rows


def rows_of_views(refs: Iterable[refspan.RefView]) -> list[Row]:
    """The refs of a reader, in the shape of `rows_of`."""
    rows = []
    for ref in refs:
        name, target = bytes(ref.name), None if ref.target is None else bytes(ref.target)
        rows.append((text(name), ref.hex, ref.peeled_hex, text(target), ref.kind, namespace(name), ref.broken, name))
    return rows


def rows_of_log(entries: Sequence[refspan.LogEntry], *, newest_first: bool) -> list[Row]:
    """The entries of one log in the usual columns, the time in seconds."""
    rows = []
    for i, entry in enumerate(entries):
        who = (text(entry.committer_name), text(entry.committer_email), entry.time, entry.tz)
        index = i if newest_first else len(entries) - 1 - i
        rows.append((text(entry.ref), entry.old, entry.new, *who, text(entry.message), index))
    return rows


def in_seconds(frame: Frame) -> list[Row]:
    """The rows, with times as seconds since 1970."""
    at = frame.fields.index("time")
    return [(*row[:at], None if row[at] is None else int(row[at].timestamp()), *row[at + 1 :]) for row in frame.rows]


def everything(path: Path, refs: Format, hash_: Hash) -> Repository:
    """A repository with refs of all kinds, all of which log, and of which most are packed."""
    repo = build(path, refs, hash_)
    repo.git("config", "core.logAllRefUpdates", "always")
    repo.create("refs/heads/main", "refs/heads/größe", "refs/heads/a/b", "refs/notes/commits", "refs/stash")
    repo.tag("v1", repo.commits[0])
    repo.tag("v1-again", "refs/tags/v1")
    repo.git("pack-refs", "--all")
    repo.create("refs/heads/main", "refs/heads/loose", "ORIG_HEAD", at=1)
    repo.symref("refs/heads/alias", "refs/heads/main")
    repo.symref("refs/heads/dangling", "refs/heads/none")
    repo.update("delete refs/heads/a/b")
    return repo


def readers(repo: Repository) -> Iterator[Chosen]:
    """All that has refs as columns in a repository."""
    store = repo.store()
    yield from (store, store.snapshot())
    if store.format == "reftable":
        stack = refspan.ReftableStack(repo.gitdir / "reftable")
        yield from (stack, *stack.tables)
    elif (repo.gitdir / "packed-refs").exists():
        yield refspan.PackedRefs(repo.gitdir / "packed-refs")


def logs_of(repo: Repository) -> Iterator[Chosen]:
    """All that has reflog entries as columns."""
    store = repo.store()
    for reader in (store, store.snapshot()):
        yield from (reader.reflogs(), reader.reflog("HEAD"), reader.reflog("refs/heads/none"))
    if store.format == "reftable":
        stack = refspan.ReftableStack(repo.gitdir / "reftable")
        yield stack.logs()
        yield from (table.logs() for table in stack.tables)


def large_records(count: int, hash_: Hash = "sha1") -> list[bytes]:
    """As many records of packed-refs, in order, each `RECORD` bytes long."""
    width = HEX_LEN[hash_]
    length = RECORD - width - len(" \n")
    return [b"%0*x refs/heads/%s\n" % (width, i + 1, b"%07d" % i + b"x" * (length - 18)) for i in range(count)]


def write_records(path: Path, records: Iterable[bytes]) -> Path:
    """A packed-refs file of these records that claims what git's do; it replaces one as git does, by rename."""
    new = path.with_name("packed-refs.new")
    new.write_bytes(header(GIT_TRAITS) + b"".join(records))
    return new.replace(path)
