"""Files of several MiB, which are read in parts by several threads: nothing shows at the edges of the parts."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
import refspan
from columns_support import (
    PART,
    RECORD,
    TOLD_FIELDS,
    Columnar,
    Consumer,
    large_records,
    read,
    rows_of,
    rows_of_views,
    through_each_consumer,
    write_records,
)
from store_models import repository, write_loose
from support import HASHES, HEX_LEN, Hash, Ref, write_packed

COUNT = 40_000
# Where parts may begin: the records about the first that starts in another `PART` of the file.
EDGES = [edge * (PART // RECORD) + near for edge in (1, 2) for near in range(-3, 6)]


@pytest.fixture(scope="module")
def records() -> list[bytes]:
    """Records of a file of three parts. Not to be changed."""
    return large_records(COUNT)


def rows_of_records(records: Sequence[bytes]) -> list[tuple[str, str, None, None]]:
    """What they hold, in the usual columns."""
    split = (record.decode().removesuffix("\n").split(" ") for record in records)
    return [(name, oid, None, None) for oid, name in split]


def test_a_large_file_has_several_parts(records: list[bytes]) -> None:
    assert len(records) * RECORD > 2.4 * PART
    assert {len(record) for record in records} == {RECORD}
    assert records == sorted(records)


@through_each_consumer
def test_a_large_file_is_read_whole(tmp_path: Path, records: list[bytes], consume: Consumer) -> None:
    packed = refspan.PackedRefs(write_records(tmp_path / "packed-refs", records))
    expected = rows_of_records(records)
    assert consume(packed).rows == expected
    assert consume(packed.columns(["oid", "name"], batch_rows=1000)).rows == [(oid, name) for name, oid, *_ in expected]


@pytest.mark.parametrize("batch_rows", [7, 16384, 16385, 2**40])
def test_batches_of_a_large_file_have_their_size_within_a_part(
    tmp_path: Path, records: list[bytes], batch_rows: int
) -> None:
    packed = refspan.PackedRefs(write_records(tmp_path / "packed-refs", records))
    names = []
    for batch in pa.RecordBatchReader.from_stream(packed.columns(["name"], batch_rows=batch_rows)):
        assert 0 < batch.num_rows <= batch_rows
        names += batch["name"].to_pylist()
    assert names == [row[0] for row in rows_of_records(records)]


@pytest.mark.parametrize("prefix", ["refs/heads/0", "refs/heads/001638", "refs/heads/0016384x", "refs/heads/003", "z"])
def test_a_prefix_of_a_large_file_begins_and_ends_anywhere(tmp_path: Path, records: list[bytes], prefix: str) -> None:
    store = refspan.open(repository(tmp_path, "files", {}))
    packed = refspan.PackedRefs(write_records(tmp_path / "packed-refs", records))
    expected = [row for row in rows_of_records(records) if row[0].startswith(prefix)]
    assert read(packed.columns(prefix=prefix)) == read(store.columns(prefix=prefix)) == expected


def told_by_checking(packed: refspan.PackedRefs) -> refspan.CorruptError:
    with pytest.raises(refspan.CorruptError) as caught:
        packed.check()
    return caught.value


def fails(source: Columnar, error: refspan.CorruptError) -> None:
    with pytest.raises((pa.ArrowInvalid, refspan.CorruptError), match=re.escape(str(error))):
        pa.table(source)


@pytest.mark.parametrize("damage", ["out of order", "garbage"])
def test_damage_at_every_edge_is_what_checking_finds(tmp_path: Path, damage: str) -> None:
    repository(tmp_path, "files", {})
    records = large_records(COUNT)
    for at in [1, 20_000, *EDGES, COUNT - 2]:
        wrong = records.copy()
        if damage == "garbage":
            wrong[at] = b"#" * (RECORD - 1) + b"\n"
        else:
            wrong[at - 1 : at + 1] = reversed(wrong[at - 1 : at + 1])
        packed = refspan.PackedRefs(write_records(tmp_path / "packed-refs", wrong))
        error = told_by_checking(packed)
        assert error.line == at + 2
        fails(packed, error)
        fails(refspan.open(tmp_path), error)


@through_each_consumer
@pytest.mark.parametrize("at", [20_000, *EDGES[12:15]])
def test_a_false_claim_to_be_sorted_is_told_to_each_consumer(tmp_path: Path, at: int, consume: Consumer) -> None:
    records = large_records(COUNT)
    records[at - 1 : at + 1] = reversed(records[at - 1 : at + 1])
    packed = refspan.PackedRefs(write_records(tmp_path / "packed-refs", records))
    with pytest.raises(Exception, match=re.escape(str(told_by_checking(packed)))):
        consume(packed)


def test_of_several_damages_the_first_is_told(tmp_path: Path) -> None:
    records = large_records(COUNT)
    for at in (10_000, 25_000, 39_000):
        records[at] = b"garbage %d" % at + b"\n"
    packed = refspan.PackedRefs(write_records(tmp_path / "packed-refs", records))
    error = told_by_checking(packed)
    assert error.line == 10_002
    for _ in range(5):
        fails(packed, error)


def test_the_last_line_of_a_large_file_must_end(tmp_path: Path) -> None:
    path = write_records(tmp_path / "packed-refs", large_records(COUNT))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(refspan.CorruptError, match="not terminated"):
        refspan.PackedRefs(path)


def test_duplicates_at_every_edge_are_all_listed_and_told(tmp_path: Path, records: list[bytes]) -> None:
    store = refspan.open(repository(tmp_path, "files", {}))
    fields = ["oid", "name", "broken"]
    for run in (2, 3, 7):
        for first in range(EDGES[0], EDGES[8] - run):
            twins = records.copy()
            starts = (first, first + PART // RECORD)
            for at in starts:
                twins[at : at + run] = [record[:41] + twins[at][41:] for record in twins[at : at + run]]
            packed = refspan.PackedRefs(write_records(tmp_path / "packed-refs", twins))
            told = pa.table(packed.columns(fields)).to_pydict()
            assert told["oid"] == [record[:40].decode() for record in twins]
            assert told["name"] == [record[41:-1].decode() for record in twins]
            runs = [range(at, at + run) for at in starts]
            assert [i for i, why in enumerate(told["broken"]) if why] == [i for twin in runs for i in twin]
            # A store has one ref of a name.
            once = [i for i in range(COUNT) if not any(i in twin[1:] for twin in runs)]
            assert pa.table(store.columns(fields)).to_pydict() == {f: [told[f][i] for i in once] for f in fields}


def test_a_name_may_stand_in_more_lines_than_a_part_has(tmp_path: Path) -> None:
    records = large_records(COUNT)
    records[1000:30_000] = [record[:41] + records[1000][41:] for record in records[1000:30_000]]
    packed = refspan.PackedRefs(write_records(tmp_path / "packed-refs", records))
    table = pa.table(packed.columns(["oid", "broken"]))
    assert table["oid"].to_pylist() == [record[:40].decode() for record in records]
    assert table["broken"].to_pylist() == [None] * 1000 + ["duplicate"] * 29_000 + [None] * 10_000


def odd_records(seed: int, hash_: Hash) -> Iterator[Ref]:
    """Refs of all lengths, some peeled, some duplicates."""
    rng = random.Random(seed)
    width = HEX_LEN[hash_]
    name = b""
    for i in range(40_000):
        if rng.random() > 0.01:
            name = b"refs/tags/%06d" % i + b"x" * rng.randrange(120)
        oid, peeled = (b"%0*x" % (width, rng.getrandbits(100)) for _ in range(2))
        yield Ref(name, oid, peeled if rng.random() < 0.4 else None)


@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("seed", range(2))
def test_records_of_all_lengths_are_what_iterating_yields(tmp_path: Path, hash_: Hash, seed: int) -> None:
    packed = refspan.PackedRefs(write_packed(tmp_path / "packed-refs", odd_records(seed, hash_)))
    assert (tmp_path / "packed-refs").stat().st_size > 2 * PART
    assert read(packed.columns(TOLD_FIELDS)) == rows_of_views(packed)


def test_a_large_file_that_claims_nothing_is_read_in_order(tmp_path: Path, records: list[bytes]) -> None:
    shuffled = records.copy()
    random.Random(1).shuffle(shuffled)
    (tmp_path / "packed-refs").write_bytes(b"# pack-refs with: peeled \n" + b"".join(shuffled))
    assert read(refspan.PackedRefs(tmp_path / "packed-refs")) == rows_of_records(records)


@pytest.mark.parametrize("hash_", HASHES)
def test_loose_refs_at_every_edge_stand_in_their_place(tmp_path: Path, hash_: Hash) -> None:
    store = refspan.open(repository(tmp_path, "files", {}, hash_))
    records = large_records(COUNT, hash_)
    write_records(tmp_path / "packed-refs", records)
    oid = "f" * HEX_LEN[hash_]
    packed = rows_of_records(records)
    # In front of all, behind all, between two, and in place of one.
    loose = ["refs/aaa", "refs/zzz", "refs/bisect/bad", "refs/heads/zzz"]
    loose += [f"{packed[at][0]}-" for at in EDGES] + [packed[at][0] for at in EDGES[::2]]
    write_loose(tmp_path, dict.fromkeys(loose, oid))
    expected = {row[0]: row for row in packed} | {name: (name, oid, None, None) for name in loose}
    rows = [expected[name] for name in sorted(expected)]
    for refs in (store, store.snapshot()):
        assert read(refs) == rows
    for prefix in ("refs/heads/001", "refs/heads/zzz", "refs/b", packed[EDGES[4]][0]):
        assert read(store.columns(prefix=prefix)) == [row for row in rows if row[0].startswith(prefix)]


@pytest.mark.parametrize("hash_", HASHES)
def test_refs_of_a_large_store_are_what_iterating_yields(tmp_path: Path, hash_: Hash) -> None:
    store = refspan.open(repository(tmp_path, "files", {}, hash_))
    write_packed(tmp_path / "packed-refs", odd_records(7, hash_))
    write_loose(tmp_path, {f"refs/tags/{i:06d}": "ref:refs/heads/none" for i in range(0, 40_000, 1001)})
    assert read(store.columns(TOLD_FIELDS)) == rows_of(store)


def test_a_file_that_is_replaced_while_it_is_read_stays_what_it_was(tmp_path: Path, records: list[bytes]) -> None:
    repo = repository(tmp_path, "files", {})
    path = write_records(tmp_path / "packed-refs", records)
    packed, store = refspan.PackedRefs(path), refspan.open(repo)
    snapshot = store.snapshot()
    for columns in (packed.columns(["name"], batch_rows=100), store.columns(["name"], batch_rows=100)):
        reader = pa.RecordBatchReader.from_stream(columns)
        names = reader.read_next_batch()["name"].to_pylist()
        write_records(path, records[:10])
        names += reader.read_all()["name"].to_pylist()
        assert names == [row[0] for row in rows_of_records(records)]
        assert len(read(store)) == 10
        write_records(path, records)
    write_records(path, records[:10])
    assert len(read(packed)) == len(read(snapshot)) == COUNT
