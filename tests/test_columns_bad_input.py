"""Names and logs that nobody would wish for: no row is lost, and none is changed on its way to a frame."""

from __future__ import annotations

import gc
import warnings
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
import refspan
from columns_support import (
    LOG_FIELDS,
    TOLD_FIELDS,
    Consumer,
    git_rows,
    in_seconds,
    rows_of,
    rows_of_log,
    rows_of_views,
    text,
    through_each_consumer,
    warned_of,
)
from reftable_support import Row, needs_reftables, write_table
from reftable_writer import LogRow
from store_models import KINDS, Refs, make
from store_support import FORMATS, Format, build, decode, encode, git_log, shown
from support import HASHES, HEX_LEN, Hash, Ref, write_packed

pytestmark = needs_reftables

OID = "1" * 40
# Of at most 12 bytes and of more, in the middle of a character, an overlong form, half a surrogate pair.
NO_UTF8 = [
    b"refs/a/\xff",
    b"refs/heads/latin1-\xe9",
    b"refs/heads/\xc3",
    b"refs/heads/\xc0\xaf",
    b"refs/b/\xed\xa0\x80x",
]
UTF8 = ["refs/a/b", "refs/heads/größe-\U0001f600", "refs/\U0010ffff", "refs/heads/\x7f", "refs/heads/e\u0300"]


def names_of(refs: Refs) -> list[bytes]:
    """The names of all refs, as bytes."""
    return [encode(name) if isinstance(name, str) else bytes(name) for name in refs.names()]


@through_each_consumer
@pytest.mark.parametrize("kind", KINDS)
def test_names_that_are_not_utf8_are_null_and_one_warning_counts_them(
    tmp_path: Path, kind: str, consume: Consumer
) -> None:
    refs = make(kind, tmp_path, dict.fromkeys([*map(decode, NO_UTF8), *UTF8], OID))
    names = names_of(refs)
    assert {*names} - {b"HEAD"} == {*NO_UTF8, *map(encode, UTF8)}
    with warned_of(len(NO_UTF8)):
        rows = consume(refs.columns(["name", "name_bytes"])).rows
    assert rows == [(text(name), name) for name in names]
    # Who asks for the bytes alone is not warned.
    with warned_of(0):
        assert consume(refs.columns(["name_bytes", "oid"])).rows == [(name, oid_of(name)) for _, name in rows]


def oid_of(name: bytes) -> str | None:
    return None if name == b"HEAD" else OID


@through_each_consumer
@pytest.mark.parametrize("refs", FORMATS)
def test_targets_and_messages_that_are_not_utf8_count_too(tmp_path: Path, refs: Format, consume: Consumer) -> None:
    repo = build(tmp_path / "repo", refs)
    target = decode(b"refs/heads/latin1-\xe9")
    repo.symref("refs/heads/alias", target)
    repo.create(target, "refs/heads/main")
    with warned_of(2):
        assert consume(repo.store()).rows == [row[:4] for row in git_rows(repo)]
    assert [row[3] for row in git_rows(repo)] == [None] * 3
    repo.git("update-ref", "-m", decode(b"caf\xe9"), "refs/heads/main", repo.commits[1])
    entries = list(repo.store().reflog("refs/heads/main"))
    assert decode(b"caf\xe9") in {entry.message for entry in entries}
    with warned_of(1):
        rows = in_seconds(consume(repo.store().reflog("refs/heads/main")))
    assert rows == rows_of_log(entries, newest_first=False)


def test_what_was_lost_is_told_of_a_stream_that_is_dropped_half_way(tmp_path: Path) -> None:
    names = sorted([b"refs/heads/%02d\xff" % i for i in range(10)])
    packed = refspan.PackedRefs(write_packed(tmp_path / "packed-refs", (Ref(n, OID.encode(), None) for n in names)))
    reader = pa.RecordBatchReader.from_stream(packed.columns(batch_rows=3))
    with warned_of(3):
        assert next(reader)["name"].to_pylist() == [None] * 3
        del reader
        gc.collect()


def test_where_the_warning_is_an_error_there_is_no_frame(tmp_path: Path) -> None:
    packed = refspan.PackedRefs(write_packed(tmp_path / "packed-refs", [Ref(b"refs/heads/\xff", OID.encode(), None)]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(pa.ArrowInvalid, match="1 values are not UTF-8"):
            pa.table(packed)
        with pytest.raises(pl.exceptions.ComputeError, match="1 values are not UTF-8"):
            pl.DataFrame(packed)


LONG = [b"refs/heads/" + b"a" * 3989, b"refs/heads/" + b"b/" * 1994 + b"b", b"refs/tags/" + "é".encode() * 1995]


@through_each_consumer
@pytest.mark.parametrize("hash_", HASHES)
def test_names_of_4000_bytes_are_whole(tmp_path: Path, hash_: Hash, consume: Consumer) -> None:
    assert {len(name) for name in LONG} == {4000}
    oid = b"1" * HEX_LEN[hash_]
    write_packed(tmp_path / "packed-refs", [Ref(name, oid, oid) for name in LONG])
    rows = [Row(b"HEAD", target=LONG[0]), *(Row(name, oid, oid) for name in LONG)]
    write_table(tmp_path / "1.ref", rows, hash_=hash_)
    packed, table = refspan.PackedRefs(tmp_path / "packed-refs"), refspan.Reftable(tmp_path / "1.ref")
    expected = [(name.decode(), oid.decode(), oid.decode(), None) for name in LONG]
    assert consume(packed).rows == expected
    assert consume(table).rows == [("HEAD", None, None, LONG[0].decode()), *expected]
    repo = build(tmp_path / "repo", "files", hash_)
    (repo.gitdir / "packed-refs").write_bytes((tmp_path / "packed-refs").read_bytes())
    assert consume(repo.store()).rows == expected


ODD = [
    "it's",
    'a"b"c',
    "<b>bold</b>",
    "<script>alert(1)<",
    "&amp;",
    "a,b;c",
    "=1+1",
    "@",
    "a%00b",
    "$(id)",
    "`id`",
]
ODD += ["#", "-", "+", "null", "None", "NaN", "0x10", "1e5", "true", "e\u0301", "\u202ex", "\N{SNOWMAN}"]


@through_each_consumer
@pytest.mark.parametrize("refs", FORMATS)
def test_names_stay_as_they_are(tmp_path: Path, refs: Format, consume: Consumer) -> None:
    repo = build(tmp_path / "repo", refs)
    names = [f"refs/heads/{name}" for name in ODD] + [f"refs/{name}/x" for name in ODD if name != "@"]
    repo.create(*names)
    expected = git_rows(repo)
    assert {row[0] for row in expected} == {*names}
    for store in (repo.store(), repo.store().snapshot()):
        assert consume(store).rows == [row[:4] for row in expected]
        assert consume(store.columns(TOLD_FIELDS)).rows == rows_of(store)


@through_each_consumer
@pytest.mark.parametrize("hash_", HASHES)
def test_packed_refs_in_unusual_spelling_are_what_git_lists(tmp_path: Path, hash_: Hash, consume: Consumer) -> None:
    repo = build(tmp_path / "repo", "files", hash_)
    tag = repo.tag("v1", repo.commits[0])
    lines = [
        "# pack-refs with: peeled fully-peeled sorted ",
        f"{repo.commits[0].upper()} refs/heads/a",
        f"{repo.commits[1]}\trefs/heads/b",
        f"{repo.commits[2].upper()}\trefs/heads/c-and-more",
        f"{tag.upper()} refs/tags/v1",
        f"^{repo.commits[0].upper()}",
    ]
    repo.loose("packed-refs", "".join(f"{line}\n" for line in lines))
    expected = [row[:4] for row in git_rows(repo)]
    assert [row[1] for row in expected] == [*repo.commits, tag]
    assert consume(repo.store()).rows == expected
    packed = refspan.PackedRefs(repo.gitdir / "packed-refs")
    for columns in (packed, packed.columns(oid="hex", batch_rows=1)):
        assert consume(columns).rows == expected
    raw = [tuple(oid and bytes.fromhex(oid) for oid in row[1:3]) for row in expected]
    assert consume(packed.columns(["oid", "peeled"], oid="raw")).rows == raw


@through_each_consumer
@pytest.mark.parametrize("hash_", HASHES)
def test_zero_object_ids_are_kept_and_told(tmp_path: Path, hash_: Hash, consume: Consumer) -> None:
    zero, oid = b"0" * HEX_LEN[hash_], b"1" * HEX_LEN[hash_]
    records = [Ref(b"refs/heads/a", oid, None), Ref(b"refs/heads/z", zero, None), Ref(b"refs/tags/t", oid, zero)]
    packed = refspan.PackedRefs(write_packed(tmp_path / "packed-refs", records))
    rows = consume(packed.columns(TOLD_FIELDS)).rows
    assert rows == rows_of_views(packed)
    assert [(row[1], row[6]) for row in rows][1] == (zero.decode(), "zero oid")


BROKEN_LINES = [
    "",
    "garbage",
    "{a} {b}",
    "{a}  {b} C <c@e> 1 +0000\ttwo spaces",
    "{a} {b} C <c@e> never +0000\tno time",
    "{a} {b} <b>C</b> <c@e> 1 +0000\tbrackets in a name",
]
GOOD_LINES = [
    "{a} {b} C <c@example.com> 1700000000 +0530\t<script>alert('x')</script> & \"quotes\"",
    '{a} {b} C &amp; "D" <c@example.com> 1700000001 -0330\tin a name',
    "{a} {b} A  B <> 1700000002 -0000\tno address",
    "{a} {b} <c@example.com> 1700000003 +0000\tno name",
    "{a} {b} L\udce9 <l\udce9@example.com> 4102444800 -1200\tbytes \udcff",
    "{A} {b} C <c@example.com> 1700000004 +0000\tcarriage return\r",
    "{a} {b} C <c@example.com> 1700000005 +0000",
    "{a} {b} C <c@example.com> 1700000006 +0000\tone\ttwo\t",
    "{a} {b} C <c@example.com> 1700000007 +0000\tlong " + "x" * 70_000,
]


@through_each_consumer
def test_lines_of_a_log_that_are_none_are_passed_over_as_by_git(tmp_path: Path, consume: Consumer) -> None:
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/main")
    a, b, _ = repo.commits
    lines = [line for good in GOOD_LINES for line in (*BROKEN_LINES, good)]
    repo.loose("logs/refs/heads/main", "".join(line.format(a=a, b=b, A=a.upper()) + "\n" for line in lines))
    store = repo.store()
    newest = list(store.reflog("refs/heads/main", reverse=True))
    assert shown(newest) == git_log(repo, "refs/heads/main")
    assert len(newest) == len(GOOD_LINES)
    expected = rows_of_log(newest, newest_first=True)
    # A name, an address and a message of one line are not UTF-8.
    for reverse, rows in ((True, expected), (False, expected[::-1])):
        with warned_of(3):
            assert in_seconds(consume(store.reflog("refs/heads/main", reverse=reverse))) == rows
    with warned_of(3):
        found = in_seconds(consume(store.reflogs().columns(LOG_FIELDS, prefix="refs/heads/main")))
    assert found == expected


@through_each_consumer
def test_messages_in_tables_may_hold_anything(tmp_path: Path, consume: Consumer) -> None:
    messages = [b"", b"\n", b"two\nlines\n", b"<b>&amp;</b>", b"nul \0 byte", b"\xff", b"'\"`", b"x" * 3000]
    rows = [LogRow(b"refs/heads/a", i, b"\1" * 20, b"\2" * 20, b"<i>", b"a@b", i, 0, m) for i, m in enumerate(messages)]
    table = refspan.Reftable(write_table(tmp_path / "1.ref", logs=rows, limits=(0, 9)))
    entries = list(table.logs())
    assert len(entries) == len(messages)
    with warned_of(1):
        assert in_seconds(consume(table.logs())) == rows_of_log(entries, newest_first=True)


def test_times_beyond_any_calendar_are_counted_in_seconds(tmp_path: Path) -> None:
    times = [0, 1, 2**31, 2**40, 2**63 - 1, 2**63, 2**64 - 1]
    rows = [LogRow(b"refs/heads/a", i, b"\1" * 20, b"\2" * 20, time=time) for i, time in enumerate(times)]
    table = refspan.Reftable(write_table(tmp_path / "1.ref", logs=rows, limits=(0, 9)))
    found = pa.table(table.logs().columns(["time"]))
    found.validate(full=True)
    # What no signed number holds is null.
    assert found["time"].cast(pa.int64()).to_pylist() == [*[None] * 2, *times[4::-1]]
