"""How long things live: columns as long as somebody holds one, files, threads and memory not a moment longer."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
import refspan
from columns_support import Chosen, large_records, read, write_records
from reftable_support import Row, needs_reftables, write_table
from store_models import repository, write_loose
from store_support import build, encode
from support import run_python

pytestmark = needs_reftables

OID = "1" * 40
# So long that the files of these few are mapped.
NAMES = [f"refs/heads/{i:03d}" + "x" * 150 for i in range(300)]
# Whose columns are views into something.
KINDS = ("packed", "copied", "files", "snapshot", "table", "stack", "reftable")


def make(kind: str, folder: Path) -> Chosen:
    """A reader of that kind of all these names, whose files are so large that they are mapped."""
    if kind in ("packed", "copied"):
        return refspan.PackedRefs(write_packed_names(folder, NAMES), mmap=kind == "packed")
    if kind in ("files", "snapshot"):
        store = refspan.open(repository(folder, "files", {}))
        write_packed_names(folder, [name for name in NAMES if not name.endswith("77")])
        write_loose(folder, dict.fromkeys((name for name in NAMES if name.endswith("77")), OID))
        return store.snapshot() if kind == "snapshot" else store
    if kind == "reftable":
        return refspan.open(repository(folder, "reftable", dict.fromkeys(NAMES, OID)))
    write_table(folder / "1.ref", [Row(encode(name), OID.encode()) for name in NAMES])
    (folder / "tables.list").write_text("1.ref\n")
    stack = refspan.ReftableStack(folder)
    return stack if kind == "stack" else stack.tables[0]


def write_packed_names(folder: Path, names: list[str]) -> Path:
    return write_records(folder / "packed-refs", (f"{OID} {name}\n".encode() for name in names))


def remove(folder: Path) -> None:
    """Put other content in place of each file, and delete that."""
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        other = path.with_name("other")
        other.write_bytes(b"\xff" * path.stat().st_size)
        other.replace(path)
        path.unlink()


def held(folder: Path) -> list[str]:
    """The files of the folder that this process has mapped or open."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    opened = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return [line for line in [*maps, *map(str, opened)] if str(folder) in line]


def by_arrow(columns: Chosen) -> Callable[[], list[str]]:
    column = pa.table(columns.columns(["oid", "name"])).column("name")
    return lambda: column.to_pylist()


def by_slice(columns: Chosen) -> Callable[[], list[str]]:
    """Of a slice of each batch."""
    batches = [batch["name"].slice(0, 1) for batch in pa.RecordBatchReader.from_stream(columns.columns(batch_rows=1))]
    return lambda: [batch.to_pylist()[0] for batch in batches]


def by_polars(columns: Chosen) -> Callable[[], list[str]]:
    series = pl.DataFrame(columns)["name"]
    return lambda: series.to_list()


@pytest.mark.parametrize("keep", [by_arrow, by_slice, by_polars])
@pytest.mark.parametrize("kind", KINDS)
def test_a_column_outlives_all_it_came_from(
    tmp_path: Path, kind: str, keep: Callable[[Chosen], Callable[[], list[str]]]
) -> None:
    values = keep(make(kind, tmp_path))
    remove(tmp_path)
    assert [name for name in values() if name != "HEAD"] == NAMES
    assert (held(tmp_path) == []) == (kind == "copied")
    del values
    assert held(tmp_path) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_that_is_not_read_lets_go(tmp_path: Path, kind: str) -> None:
    refs = make(kind, tmp_path)
    streams = [refs.__arrow_c_stream__(), pa.RecordBatchReader.from_stream(refs)]
    remove(tmp_path)
    assert (held(tmp_path) == []) == (kind == "copied")
    del refs, streams
    assert held(tmp_path) == []


def test_messages_outlive_the_log(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo")
    messages = [f"a message that is not short: {i}" for i in range(1000)]
    who = f"{repo.commits[0]} {repo.commits[1]} C <c@example.com> 1700000000 +0000"
    repo.loose("logs/refs/heads/main", "".join(f"{who}\t{message}\n" for message in messages))
    column = pa.table(repo.store().reflog("refs/heads/main")).column("message")
    remove(tmp_path)
    assert column.to_pylist() == messages
    del column
    assert held(tmp_path) == []


def threads() -> set[str]:
    return {task.name for task in Path("/proc/self/task").iterdir()}


def settled(before: set[str]) -> set[str]:
    """The threads that there are now and were not before: one that has ended may be listed a little longer."""
    deadline = time.monotonic() + 10
    while (more := threads() - before) and time.monotonic() < deadline:
        time.sleep(0.01)
    return more


def read_one_batch(columns: Chosen) -> pa.RecordBatch:
    return pa.RecordBatchReader.from_stream(columns.columns(batch_rows=10)).read_next_batch()


def read_nothing(columns: Chosen) -> object:
    return columns.__arrow_c_stream__()


def read_all(columns: Chosen) -> pa.Table:
    return pa.table(columns)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose packed-refs is read in several parts. Not to be changed."""
    path = repository(tmp_path_factory.mktemp("large"), "files", {})
    write_records(path / "packed-refs", large_records(40_000))
    return path


@pytest.mark.parametrize("use", [read_nothing, read_one_batch, read_all])
def test_no_thread_stays_behind(large: Path, use: Callable[[Chosen], object]) -> None:
    before = threads()
    for refs in (refspan.PackedRefs(large / "packed-refs"), refspan.open(large), refspan.open(large).snapshot()):
        for _ in range(5):
            used = use(refs)
            del used
    assert settled(before) == set()
    del refs
    assert held(large) == []


def test_a_stream_may_be_read_and_dropped_by_another_thread(large: Path) -> None:
    expected = read(refspan.PackedRefs(large / "packed-refs").columns(["name"]))
    readers = [
        pa.RecordBatchReader.from_stream(refs.columns(["name"], batch_rows=1000))
        for refs in (refspan.PackedRefs(large / "packed-refs"), refspan.open(large))
    ]
    first = [reader.read_next_batch() for reader in readers]
    with ThreadPoolExecutor(1) as pool:
        rest = list(pool.map(pa.RecordBatchReader.read_all, readers))
        half = [pa.RecordBatchReader.from_stream(refspan.open(large)) for _ in range(3)]
        half[0].read_next_batch()
        pool.submit(half.clear).result()
    for batch, table in zip(first, rest, strict=True):
        assert pa.concat_tables([pa.table(batch), table]).column("name").to_pylist() == [name for (name,) in expected]
    del readers, first, rest, batch, table
    assert held(large) == []


def test_many_streams_are_read_at_once(large: Path) -> None:
    packed, store = refspan.PackedRefs(large / "packed-refs"), refspan.open(large)
    snapshot, one = store.snapshot(), packed.columns(["name", "oid"])
    expected = pa.table(one).combine_chunks()
    sources = [packed.columns(["name", "oid"]), store.columns(["name", "oid"]), snapshot.columns(["name", "oid"]), one]
    with ThreadPoolExecutor(8) as pool:
        tables = list(pool.map(pa.table, sources * 8))
    assert all(table.combine_chunks() == expected for table in tables)


AT_THE_END = """
import sys
import pyarrow, refspan
packed = refspan.PackedRefs(sys.argv[1])
reader = pyarrow.RecordBatchReader.from_stream(packed.columns(batch_rows=10))
print(reader.read_next_batch().num_rows)
kept = [packed.__arrow_c_stream__(), pyarrow.RecordBatchReader.from_stream(packed), pyarrow.table(packed).column(1)]
"""


def test_the_interpreter_ends_while_streams_are_half_read(large: Path) -> None:
    assert run_python(AT_THE_END, large / "packed-refs") == "10\n"


IS_FLAT = """
import collections, os, sys
import pyarrow, refspan
path, kind = sys.argv[1:]
store = refspan.open(path)
source = {
    "packed": lambda: refspan.PackedRefs(path + "/packed-refs"),
    "stack": lambda: refspan.ReftableStack(path + "/reftable"),
    "store": lambda: store,
    "logs": store.reflogs,
}[kind]()
columns, kept = source.columns(batch_rows=100), collections.deque(maxlen=16)

def turn(number):
    if number % 4 == 0:
        source.__arrow_c_stream__()
    elif number % 4 == 1:
        pyarrow.RecordBatchReader.from_stream(columns).read_next_batch()
    elif number % 4 == 2:
        kept.append(pyarrow.table(columns).column(0))
    else:
        pyarrow.table(columns)

def state():
    with open("/proc/self/statm") as statm, open("/proc/self/maps") as maps:
        memory = int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        files = sum(path in line for line in maps)
    return memory, files, len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

for number in range(2_000):
    turn(number)
before = state()
for number in range(10_000):
    turn(number)
print(*(after - first for after, first in zip(state(), before)))
"""


@pytest.mark.parametrize("kind", ["packed", "store", "stack", "logs"])
def test_10_000_streams_dropped_and_kept_leave_nothing_behind(tmp_path: Path, kind: str) -> None:
    repo = build(tmp_path / "repo", "reftable" if kind in ("stack", "logs") else "files", bare=True)
    repo.git("config", "core.logAllRefUpdates", "always")
    repo.create(*NAMES)
    repo.git("pack-refs", "--all")
    repo.create("refs/heads/loose", *NAMES[:3], at=1)
    memory, maps, files, tasks = map(int, run_python(IS_FLAT, repo.path, kind).split())
    # A KiB lost in each fourth turn is more than that.
    assert memory < 2 << 20
    assert (maps, files, tasks) == (0, 0, 0)
