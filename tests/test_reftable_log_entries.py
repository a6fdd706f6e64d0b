"""Reflog entries: their fields, and how those of several tables are laid over each other."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refspan import LogEntry, Reftable, ReftableStack
from reftable_support import SHAPES, Row, listed, write_table
from reftable_writer import LogRow, Shape
from support import HASHES, Hash

RAW, OTHER, ZERO = b"\x11" * 20, b"\x22" * 20, bytes(20)
MAIN = LogRow(
    b"refs/heads/main", 7, RAW, OTHER, b"Gr\xc3\xb6\xc3\x9fe", b"g@example.com", 1_700_000_000, 530, b"moved\n"
)


def table_of(path: Path, *rows: LogRow, refs: Iterable[Row] = (), shape: Shape = SHAPES["git"]) -> Reftable:
    return Reftable(write_table(path / "x.ref", refs, rows, limits=(1, 100), shape=shape))


def only(path: Path, row: LogRow) -> LogEntry:
    (entry,) = table_of(path, row).logs()
    return entry


def test_an_entry_has_all_that_is_stored(tmp_path: Path) -> None:
    entry = only(tmp_path, MAIN)
    assert (entry.ref, entry.kind, entry.update_index) == ("refs/heads/main", "update", 7)
    assert (entry.old, entry.new) == ("11" * 20, "22" * 20)
    assert (entry.committer_name, entry.committer_email) == ("Größe", "g@example.com")
    assert (entry.time, entry.tz, entry.message) == (1_700_000_000, "+0530", "moved")


# Git stores the decimal digits of the zone, not minutes.
@pytest.mark.parametrize(
    ("stored", "zone", "offset"),
    [
        (530, "+0530", timedelta(hours=5, minutes=30)),
        (-330, "-0330", -timedelta(hours=3, minutes=30)),
        (1345, "+1345", timedelta(hours=13, minutes=45)),
        (0, "+0000", timedelta(0)),
        (-1, "-0001", -timedelta(minutes=1)),
        (-1200, "-1200", -timedelta(hours=12)),
    ],
)
def test_when_is_the_time_in_the_zone_of_the_committer(
    tmp_path: Path, stored: int, zone: str, offset: timedelta
) -> None:
    entry = only(tmp_path, MAIN._replace(tz=stored))
    assert entry.tz == zone
    assert entry.when == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert entry.when.utcoffset() == offset


@pytest.mark.parametrize(("time", "stored"), [(2**63, 0), (2**40, 0), (0, 9999), (0, -32768), (0, 32767)])
def test_a_time_that_python_has_not_is_an_error_of_when_alone(tmp_path: Path, time: int, stored: int) -> None:
    entry = only(tmp_path, MAIN._replace(time=time, tz=stored))
    assert (entry.time, entry.tz) == (time, f"{stored:+05}")
    with pytest.raises((ValueError, OverflowError)):
        assert entry.when


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (b"\n", ""),
        (b"", ""),
        (b"no LF", "no LF"),
        (b"caf\xe9\n", "caf\udce9"),
        (b"two\nlines\n", "two\nlines"),
        (b"two LFs\n\n", "two LFs\n"),
        (b"x" * 3000 + b"\n", "x" * 3000),
    ],
)
def test_a_message_is_text_without_its_last_lf(tmp_path: Path, stored: bytes, message: str) -> None:
    assert only(tmp_path, MAIN._replace(message=stored)).message == message


def test_bytes_that_are_not_utf8_become_lone_surrogates(tmp_path: Path) -> None:
    entry = only(tmp_path, MAIN._replace(name=b"refs/heads/caf\xe9", who=b"\xff", email=b"\xfe"))
    assert (entry.ref, entry.committer_name, entry.committer_email) == ("refs/heads/caf\udce9", "\udcff", "\udcfe")
    assert [found.ref for found in table_of(tmp_path, MAIN._replace(name=b"refs/heads/caf\xe9")).logs(entry.ref)]


@pytest.mark.parametrize(
    "change",
    [
        {"name": b"refs/heads/x"},
        {"old": ZERO},
        {"new": ZERO},
        {"who": b"x"},
        {"email": b"x"},
        {"time": 1},
        {"tz": 1},
        {"message": b"x\n"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_entries_are_equal_if_all_their_fields_are(tmp_path: Path, change: dict[str, object]) -> None:
    entry, same = only(tmp_path, MAIN), only(tmp_path, MAIN)
    other = only(tmp_path, LogRow(**(MAIN._asdict() | change)))
    assert entry == same
    assert hash(entry) == hash(same)
    assert entry != other
    assert {entry, same, other} == {entry, other}


def test_repr_tells_what_was_done(tmp_path: Path) -> None:
    text = repr(only(tmp_path, MAIN))
    assert all(word in text for word in ("LogEntry", "refs/heads/main", "11" * 20, "22" * 20, "moved"))


def test_an_entry_cannot_be_changed(tmp_path: Path) -> None:
    with pytest.raises(AttributeError):
        only(tmp_path, MAIN).__setattr__("message", "x")


def test_entries_outlive_their_table(tmp_path: Path) -> None:
    table = table_of(tmp_path, MAIN, MAIN._replace(name=b"refs/heads/other"))
    entries = list(table.logs())
    Path(table.path).unlink()
    del table
    assert [entry.ref for entry in entries] == ["refs/heads/main", "refs/heads/other"]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("with_refs", [False, True], ids=["logs alone", "with refs"])
def test_every_entry_is_found_by_seek_and_by_scan(tmp_path: Path, shape: Shape, hash_: Hash, with_refs: bool) -> None:
    size = 20 if hash_ == "sha1" else 32
    names = [b"refs/heads/%d" % i for i in range(100)]
    logs = [
        LogRow(name, index, b"\1" * size, b"\2" * size, b"A", b"a@b", index, 0, b"m\n")
        for name in names
        for index in range(1, 9)
    ]
    refs = [Row(name, b"1" * 2 * size) for name in names] if with_refs else []
    path = write_table(tmp_path / "x.ref", refs, logs, hash_=hash_, limits=(1, 9), shape=shape)
    table = Reftable(path)
    table.check()
    assert len(table) == len(refs)
    assert [(entry.ref.encode(), entry.update_index) for entry in table.logs()] == sorted(
        ((row.name, row[1]) for row in logs), key=lambda key: (key[0], -key[1])
    )
    for name in names:
        found = [entry.update_index for entry in table.logs(name) if entry.ref == name.decode()]
        assert found == list(range(8, 0, -1))
    assert list(table.logs("refs/heads/100")) == list(table.logs("refs/tags/")) == []


def test_a_table_of_refs_alone_has_no_logs(tmp_path: Path) -> None:
    assert list(table_of(tmp_path, refs=[Row(b"refs/heads/a", b"1" * 40)]).logs()) == []


def test_a_prefix_is_plain_bytes(tmp_path: Path) -> None:
    names = [b"HEAD", b"refs/heads/a", b"refs/heads/a/b", b"refs/heads/ab", b"refs/tags/a"]
    table = table_of(tmp_path, *(MAIN._replace(name=name) for name in names))
    assert [entry.ref for entry in table.logs("refs/heads/a")] == ["refs/heads/a", "refs/heads/a/b", "refs/heads/ab"]
    assert [entry.ref for entry in table.logs(b"refs/heads/a/")] == ["refs/heads/a/b"]
    assert [entry.ref for entry in table.logs("")] == [name.decode() for name in names]


some_entry = st.builds(
    lambda name, index, rest: LogRow(name, index, *rest),
    st.sampled_from([b"HEAD", b"refs/a", b"refs/a-b", b"refs/a/b", b"refs/b"]),
    st.integers(0, 6),
    # A change, a tombstone, a marker that the log exists.
    st.sampled_from([(RAW, OTHER, b"A", b"a@b", 1, 0, b"m\n"), (), (ZERO, ZERO)]),
)


@given(
    tables=st.lists(st.lists(some_entry, unique_by=lambda row: row[:2], max_size=20), max_size=4),
    shape=st.sampled_from([*SHAPES.values()]),
)
def test_newer_tables_override_and_delete_entries(scratch: Path, tables: list[list[LogRow]], shape: Shape) -> None:
    files = [
        write_table(scratch.with_name(f"{i}.ref"), (), rows, limits=(0, 6), shape=shape)
        for i, rows in enumerate(tables)
    ]
    stack = ReftableStack(listed(scratch.with_name("stack"), files))
    merged = {row[:2]: row for rows in tables for row in rows}
    expected = sorted((row[:2] for row in merged.values() if row.old == RAW), key=lambda key: (key[0], -key[1]))
    assert [(entry.ref.encode(), entry.update_index) for entry in stack.logs()] == expected
    for prefix in (b"HEAD", b"refs/a", b"refs/a/", b"refs/b", b"s"):
        found = [(entry.ref.encode(), entry.update_index) for entry in stack.logs(prefix)]
        assert found == [key for key in expected if key[0].startswith(prefix)]
    for table, rows in zip(stack.tables, tables, strict=True):
        assert len(list(table.logs())) == len(rows)
