"""Tables of several MiB, which are read in parts by several threads: nothing shows at the edges of the parts."""

from __future__ import annotations

import functools
import random
from pathlib import Path

import pyarrow as pa
import pytest
import refspan
from columns_support import (
    CONSUMERS,
    PART,
    TOLD_FIELDS,
    read,
    rows_of_views,
    text,
)
from reftable_support import (
    GIT,
    NEVER,
    NO_COMPACTION,
    Row,
    StackBuilder,
    git_rows,
    listed,
    needs_reftables,
    write_table,
)
from reftable_writer import Shape
from store_support import build
from support import HASHES, HEX_LEN, Hash, git

pytestmark = needs_reftables

COUNT = 30_000


@functools.cache
def names() -> list[bytes]:
    """Names in order of which neighbours have little in common, so that a table of them is of several parts."""
    rng = random.Random(1)
    return [b"refs/heads/%06d-%0110x" % (i, rng.getrandbits(440)) for i in range(COUNT)]


def refs_of(hash_: Hash) -> list[Row]:
    """A ref for each name, every second one peeled."""
    width = HEX_LEN[hash_]
    return [
        Row(name, b"%0*x" % (width, i + 1), b"%0*x" % (width, i + 2) if i % 2 else None)
        for i, name in enumerate(names())
    ]


# Most of them side by side, over the edge of a part.
GONE = sorted({*range(0, COUNT, 97), *range(COUNT // 4, COUNT // 2), *range(COUNT - 100, COUNT)})


@pytest.mark.parametrize(
    ("hash_", "index_from"),
    [("sha1", GIT.index_from), ("sha256", GIT.index_from), ("sha1", NEVER)],
    ids=["sha1", "sha256", "without index"],
)
def test_a_large_stack_is_what_iterating_yields(tmp_path: Path, hash_: Hash, index_from: int) -> None:
    oid = b"f" * HEX_LEN[hash_]
    changed = {name: Row(name, oid) for name in (names()[i] for i in range(50, COUNT, 89))}
    deleted = {name: Row(name) for name in (names()[i] for i in GONE)}
    more = [Row(b"HEAD", target=b"refs/heads/main"), Row(b"refs/tags/v1", oid, oid)]
    tables = [
        write_table(tmp_path / f"{i}.ref", rows, hash_=hash_, limits=(i, i), shape=Shape(index_from=index_from))
        for i, rows in enumerate([refs_of(hash_), [*changed.values()], [*deleted.values(), *more]], 1)
    ]
    assert tables[0].stat().st_size > 2 * PART
    stack = refspan.ReftableStack(listed(tmp_path / "stack", tables))
    fields = [*TOLD_FIELDS, "update_index"]
    for refs in (stack, *stack.tables):
        rows = [(*row, ref.update_index) for row, ref in zip(rows_of_views(refs), refs, strict=True)]
        assert read(refs.columns(fields, batch_rows=5000)) == rows
    merged = {row.name: row for row in refs_of(hash_)} | changed | {row.name: row for row in more}
    assert [row[0] for row in read(stack.columns(["name_bytes"]))] == sorted(merged.keys() - deleted.keys())


@pytest.mark.parametrize("hash_", HASHES)
def test_a_large_stack_that_git_wrote_is_what_git_lists(
    tmp_path: Path, hash_: Hash, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NO_COMPACTION, "false")
    repo = build(tmp_path / "repo", "reftable", hash_, bare=True)
    decoded = [name.decode() for name in names()]
    repo.create(*decoded)
    repo.update(*(f"delete {decoded[i]}" for i in GONE))
    repo.create(*(decoded[i] for i in range(50, COUNT, 89)), at=1)
    repo.tag("v1", repo.commits[0])
    stack = refspan.ReftableStack(repo.gitdir / "reftable")
    assert len(stack.tables) == 5
    assert max(path.stat().st_size for path in (repo.gitdir / "reftable").glob("*.ref")) > 2 * PART
    told = [(text(row.name), *(value and value.decode() for value in row[1:])) for row in git_rows(repo.gitdir)]
    listed = [row for row in told if row[0] != "HEAD"]
    assert len(listed) == COUNT - len(GONE) + len({*GONE} & {*range(50, COUNT, 89)}) + 1
    for consume in CONSUMERS.values():
        assert consume(stack).rows == told
        assert consume(repo.store()).rows == listed
    for refs in (repo.store(), repo.store().snapshot(), stack):
        for prefix in ("refs/", "refs/heads/0", "refs/heads/01", "refs/heads/019999", "refs/tags/", "z"):
            assert read(refs.columns(prefix=prefix)) == [row for row in listed if str(row[0]).startswith(prefix)]


def test_a_table_smaller_than_a_part_comes_in_batches_of_the_size_asked_for(stacked: StackBuilder) -> None:
    repo = stacked(1000)
    stack = refspan.ReftableStack(repo / "reftable")
    assert len(stack.tables[0].blocks()) > 10
    store = refspan.open(repo)
    for refs, rows in ((stack, 1001), (stack.tables[0], 1001), (store, 1000), (store.snapshot(), 1000)):
        for most in (100, 65536):
            batches = list(pa.RecordBatchReader.from_stream(refs.columns(["name_bytes"], batch_rows=most)))
            sizes = [min(most, rows - done) for done in range(0, rows, most)]
            assert [batch.num_rows for batch in batches] == sizes


def test_a_stack_that_is_compacted_while_it_is_read_stays_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NO_COMPACTION, "false")
    repo = build(tmp_path / "repo", "reftable", bare=True)
    repo.create(*(name.decode() for name in names()))
    reader = pa.RecordBatchReader.from_stream(repo.store().columns(["name_bytes"], batch_rows=100))
    found = reader.read_next_batch()["name_bytes"].to_pylist()
    repo.update(*(f"delete {name.decode()}" for name in names()[::2]))
    git("pack-refs", cwd=repo.path)
    found += reader.read_all()["name_bytes"].to_pylist()
    assert found == names()
    assert len(read(repo.store())) == COUNT // 2
