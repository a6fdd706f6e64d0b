"""`refspan export`: the rows of each format are those of the columns, which are git's."""

from __future__ import annotations

import itertools
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import refspan
from export_support import BINARIES, FORMATS, TEXTS, Row, expected, export, read, run
from refspan.cli import main
from refspan.cli.repository import open_refs
from refspan.cli.target import Sink
from reftable_support import SHAPES, listed, write_table
from reftable_support import Row as TableRow
from reftable_writer import LogRow
from store_models import make
from store_support import (
    DANGLING,
    SAMPLES,
    Format,
    Repository,
    Told,
    build,
    by_name,
    encode,
    git_refs,
    sample,
    sample_name,
)
from store_support import FORMATS as FORMATS_OF_REFS
from support import HASHES, HEX_LEN, Hash, Ref, git_listing, write_packed

OID = "ab" * 20
NAMES = [
    f"refs/heads/{name}"
    for name in ('"', 'a"b', "a,b", "größe-\U0001f600", "latin1-\udce9", "/".join(["x" * 200] * 19), "a'b;c")
]

PLACES = ("files", "reftable", "stack", "table", "packed")

each_format = pytest.mark.parametrize("form", FORMATS)


@pytest.fixture(params=SAMPLES, ids=sample_name)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Each worktree of each repository with refs of all kinds."""
    return sample(tmp_path_factory.getbasetemp(), request.param)


def made(folder: Path, kind: str, names: list[str], hash_: Hash = "sha1") -> Path:
    """The path of a reader of that kind; refs of different names have different values."""
    folder.mkdir()
    width = HEX_LEN[hash_]
    refs = make(kind, folder, {name: f"{len(names)}{i}".ljust(width, "1") for i, name in enumerate(names)}, hash_)
    return (
        Path(refs.path) if isinstance(refs, refspan.PackedRefs | refspan.Reftable | refspan.ReftableStack) else folder
    )


def as_written(rows: list[Row], form: str) -> list[Row]:
    """Empty text cannot be told from null by who reads csv without care."""
    return [tuple(None if cell == "" and form == "csv" else cell for cell in row) for row in rows]


@each_format
def test_refs_are_the_rows_of_their_columns(place: Repository, tmp_path: Path, form: str) -> None:
    fields, rows = read(export(tmp_path / "out", form, place.path), form)
    assert fields == ["name", "oid", "peeled", "target"]
    assert rows == expected(place.store().columns(), form)
    assert len(rows) == len(place.store()) > 20


def test_refs_are_those_that_git_lists(place: Repository, tmp_path: Path) -> None:
    _, rows = read(export(tmp_path / "out", "csv", place.path), "csv")
    listed = by_name([*git_refs(place), *DANGLING])
    assert [Told(str(name), oid, target) for name, oid, _, target in rows] == listed  # type: ignore[arg-type]
    peeled = {ref.name: ref.peeled for ref in git_listing(place.path)}
    assert any(peeled.values())
    for name, oid, peel, _ in rows:
        git_peel = peeled.get(encode(str(name))) if oid is not None else None
        assert peel == (None if git_peel is None else git_peel.decode())


@each_format
def test_reflog_entries_are_the_rows_of_their_columns(place: Repository, tmp_path: Path, form: str) -> None:
    fields, rows = read(export(tmp_path / "out", form, place.path, "--what", "reflogs"), form)
    columns = place.store().reflogs().columns()
    assert fields == list(columns.fields)
    assert rows == as_written(expected(columns, form), form)
    assert len(rows) > 20


@each_format
@pytest.mark.parametrize("kinds", list(itertools.permutations(PLACES, 2)), ids=" and ".join)
def test_changes_are_the_rows_of_their_columns(tmp_path: Path, kinds: tuple[str, str], form: str) -> None:
    paths = [made(tmp_path / f"{at}", kind, NAMES[at:]) for at, kind in enumerate(kinds)]
    fields, rows = read(export(tmp_path / "out", form, *paths, "--what", "diff"), form)
    assert fields == ["name", "kind", "before", "after"]
    assert rows == expected(refspan.diff(*map(open_refs, paths)).columns(), form)
    assert {row[1] for row in rows} >= {"update", "delete"}


@each_format
@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("kind", PLACES)
def test_whatever_holds_refs_is_exported(tmp_path: Path, kind: str, hash_: Hash, form: str) -> None:
    path = made(tmp_path / "a", kind, NAMES, hash_)
    _, rows = read(export(tmp_path / "out", form, path), form)
    assert rows == expected(open_refs(path).columns(), form)
    names = [name for name, *_ in rows if name not in ("HEAD", None)]
    lost = [] if form in TEXTS else ["refs/heads/latin1-\udce9"]
    gone = ["refs/heads/deleted", "refs/zz"] if kind == "table" else []
    assert set(names) >= set(NAMES) - set(lost) - set(gone)


@each_format
@pytest.mark.parametrize("kind", ["table", "stack"])
def test_reflogs_of_tables_are_exported_with_their_tombstones(tmp_path: Path, kind: str, form: str) -> None:
    oid = b"\1" * 20
    rows = [
        LogRow(b"refs/heads/a", at, oid, oid, b'A, U "Thor"', b"a@b", 1_700_000_000 + at, 530, b"m\n")
        for at in (1, 2, 3)
    ]
    rows += [
        LogRow(b"refs/heads/b", 1),
        LogRow(b"refs/heads/c", 2, oid, oid, b"\xe9", b"", 1, -1, b"two\nlines, \r\n\n"),
    ]
    table = write_table(tmp_path / "1.ref", [], rows, limits=(1, 3))
    path = table if kind == "table" else listed(tmp_path / "stack", [table])
    logs = open_refs(path).logs()  # type: ignore[union-attr]
    _, written = read(export(tmp_path / "out", form, path, "--what", "reflogs"), form)
    assert written == as_written(expected(logs.columns(), form), form)
    assert [row[-1] for row in written] == [0, 1, 2, 0, 0][: len(written)]
    assert len(written) == (5 if kind == "table" else 4)


@each_format
def test_hostile_names_and_targets_are_exported(tmp_path: Path, form: str) -> None:
    names = [
        b"refs/heads/" + name
        for name in (b"\r", b"\n", b"a\r\nb", b'"\n"', b"\xff\xfe", b",,", b" ", b"\t", b"x" * 4000)
    ]
    refs = [TableRow(name, target=name) for name in names]
    path = write_table(tmp_path / "1.ref", refs)
    _, rows = read(export(tmp_path / "out", form, path), form)
    assert rows == expected(refspan.Reftable(path).columns(), form)
    assert len(rows) == len(names)
    if form in TEXTS:
        assert [encode(str(name)) for name, *_ in rows] == sorted(names) == [encode(str(row[3])) for row in rows]


@each_format
def test_broken_refs_are_exported_as_the_columns_have_them(tmp_path: Path, form: str) -> None:
    repo = build(tmp_path / "repo", bare=True)
    repo.create("refs/heads/main")
    repo.loose("refs/heads/content", "nonsense\n")
    repo.loose("refs/heads/zero", "0" * 40 + "\n")
    repo.loose("refs/heads/target", "ref: refs/heads/..\n")
    records = [Ref(name, OID.encode(), None) for name in (b"refs/heads/a", b"refs/heads/a", b"refs/heads/a..b")]
    write_packed(repo.gitdir / "packed-refs", records)
    _, rows = read(export(tmp_path / "out", form, repo.path), form)
    assert rows == expected(repo.store().columns(), form)
    assert len(rows) == 6


@each_format
@pytest.mark.parametrize("what", ["refs", "reflogs"])
@pytest.mark.parametrize("refs", FORMATS_OF_REFS)
def test_a_repository_without_any_has_an_export_without_rows(
    tmp_path: Path, refs: Format, what: str, form: str
) -> None:
    repo = build(tmp_path / "repo", refs, bare=True)
    fields, rows = read(export(tmp_path / "out", form, repo.path, "--what", what), form)
    assert rows == []
    # In ndjson only rows have fields.
    columns = repo.store().columns() if what == "refs" else repo.store().reflogs().columns()
    assert fields == ([] if form == "ndjson" else list(columns.fields))


@pytest.mark.parametrize("form", TEXTS)
def test_bytes_that_are_not_utf8_are_written_as_they_are(tmp_path: Path, form: str) -> None:
    path = write_packed(tmp_path / "packed-refs", [Ref(b"refs/heads/\xe9\xff", OID.encode(), None)])
    text = export(tmp_path / "out", form, path).read_bytes()
    # An escape is what `diff --json` has for such a byte.
    assert (b"refs/heads/\xe9\xff," if form == "csv" else rb"refs/heads/\udce9\udcff") in text


@pytest.mark.parametrize("form", BINARIES)
def test_text_that_is_null_for_want_of_utf8_is_told_once_with_the_count(tmp_path: Path, form: str) -> None:
    refs = [Ref(b"refs/heads/\xe9%d" % i, OID.encode(), None) for i in range(3)]
    path = write_packed(tmp_path / "packed-refs", refs)
    done = run(path, "--format", form, "-o", tmp_path / "out", "-q")
    assert (done.returncode, done.stderr) == (0, b"refspan: warning: 3 values are not UTF-8, and null for that\n")
    assert read(tmp_path / "out", form)[1] == [(None, OID, None, None)] * 3


def test_csv_is_that_of_the_rfc_but_for_lf(tmp_path: Path) -> None:
    rows = [TableRow(b'refs/heads/"\n,', target=b"refs/heads/\r"), TableRow(b"refs/heads/plain name", OID.encode())]
    path = write_table(tmp_path / "1.ref", rows)
    assert export(tmp_path / "out", "csv", path).read_bytes() == (
        b'name,oid,peeled,target\n"refs/heads/""\n,",,,"refs/heads/\r"\nrefs/heads/plain name,' + OID.encode() + b",,\n"
    )


def test_csv_tells_empty_text_from_null(tmp_path: Path) -> None:
    log = [LogRow(b"refs/heads/a", 1, b"\xab" * 20, b"\xcd" * 20, time=1, message=b"\n"), LogRow(b"refs/heads/b", 1)]
    path = write_table(tmp_path / "1.ref", [], log)
    file = export(tmp_path / "out", "csv", path, "--what", "reflogs")
    careful = pa.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    assert pa.csv.read_csv(file, convert_options=careful)["message"].to_pylist() == ["", None]
    assert pl.read_csv(file)["message"].to_list() == ["", None]


def with_times(path: Path, *times: int) -> Repository:
    """A repository whose HEAD has entries of these times, oldest first."""
    repo = build(path, bare=True)
    lines = [f"{'0' * 40} {OID} A U Thor <a@b> {time} +0530\tm {time}\n" for time in times]
    repo.loose("logs/HEAD", "".join(lines))
    return repo


def test_times_in_csv_are_read_as_those_in_parquet(tmp_path: Path) -> None:
    repo = with_times(tmp_path / "repo", 1, 1_700_000_000, 2**32, 253_402_300_799)
    paths = [export(tmp_path / form, form, repo.path, "--what", "reflogs") for form in ("csv", "parquet")]
    assert pa.csv.read_csv(paths[0])["time"].type == pa.timestamp("s", "UTC")
    csv, parquet = pa.csv.read_csv(paths[0])["time"], pa.parquet.read_table(paths[1])["time"]
    assert csv.to_pylist() == parquet.to_pylist()
    assert [time.timestamp() for time in csv.to_pylist()] == [253_402_300_799, 2**32, 1_700_000_000, 1]
    ours, theirs = pl.read_csv(paths[0], try_parse_dates=True)["time"], pl.read_parquet(paths[1])["time"]
    assert ours.to_list() == theirs.to_list()
    assert ours.dtype == pl.Datetime("us", "UTC")


@each_format
def test_times_beyond_all_dates_are_null_and_told(tmp_path: Path, form: str) -> None:
    late = (253_402_300_800, 2**62, 2**63, 2**64 - 1)
    repo = with_times(tmp_path / "repo", 1, *late, 2)
    done = run(repo.path, "--what", "reflogs", "--format", form, "-o", tmp_path / "out", "-q")
    assert done.returncode == 0
    _, rows = read(tmp_path / "out", form)
    assert [row[7] for row in rows] == [f"m {time}" for time in (2, *reversed(late), 1)]
    if form == "arrow":
        # It has room for them, but for those that no signed number is.
        assert done.stderr == b""
        assert [row[5] for row in rows] == [2, None, None, 2**62, late[0], 1]
    else:
        assert [row[5] for row in rows] == [2, None, None, None, None, 1]
        told = {"parquet": 2, "csv": 4, "ndjson": 4}[form]
        assert done.stderr == b"refspan: warning: %d times are beyond the year 9999, and null for that\n" % told


@pytest.mark.parametrize("form", TEXTS)
def test_text_is_written_piece_by_piece(large_file: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[int] = []
    monkeypatch.setattr(Sink, "write", lambda self, data: pieces.append(len(data)))
    export(Path("/dev/null"), form, large_file)
    assert len(pieces) > 100
    assert max(pieces) < 1 << 20


def test_parquet_is_written_batch_by_batch(large_file: Path, tmp_path: Path) -> None:
    count = len(refspan.PackedRefs(large_file))
    file = pa.parquet.ParquetFile(export(tmp_path / "out", "parquet", large_file))
    groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert sum(groups) == count
    assert max(groups) <= 65536 < count


def test_binary_files_hold_text_of_the_plain_kind(tmp_path: Path) -> None:
    path = write_packed(tmp_path / "packed-refs", [Ref(b"refs/heads/a", OID.encode(), None)])
    assert pa.parquet.read_schema(export(tmp_path / "parquet", "parquet", path)).types == [pa.string()] * 4
    with pa.ipc.open_file(export(tmp_path / "arrow", "arrow", path)) as reader:
        assert reader.schema.types == [pa.string()] * 4


def test_a_packed_refs_file_has_no_reflogs_to_export(tmp_path: Path) -> None:
    path = write_packed(tmp_path / "packed-refs", [Ref(b"refs/heads/a", OID.encode(), None)])
    done = run(path, "--what", "reflogs", "--format", "csv")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"refspan: %s: a packed-refs file has no reflogs\n" % bytes(path)


def test_paths_are_taken_from_the_directory_of_c(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo", bare=True)
    repo.create("refs/heads/a")
    assert main(["-C", str(tmp_path), "export", "repo", "--format", "csv", "-o", "out", "-q"]) == 0
    assert read(tmp_path / "out", "csv")[1] == [("refs/heads/a", repo.commits[0], None, None)]


@pytest.mark.parametrize(
    "args",
    [
        ["x"],
        ["--format", "csv"],
        ["x", "y", "--format", "csv"],
        ["x", "--format", "csv", "--what", "diff"],
        ["x", "y", "--format", "csv", "--what", "reflogs"],
        ["x", "--format", "excel"],
    ],
    ids=" ".join,
)
def test_wrong_usage_has_the_exit_code_of_git(args: list[str], tmp_path: Path) -> None:
    done = run(*args, "-o", tmp_path / "out")
    assert (done.returncode, done.stdout) == (129, b"")
    assert done.stderr.startswith(b"usage: refspan export ")
    assert not (tmp_path / "out").exists()


@each_format
@pytest.mark.parametrize("kind", ["missing", "packed", "table"])
def test_what_is_missing_or_damaged_has_the_exit_code_of_git(tmp_path: Path, kind: str, form: str) -> None:
    path = tmp_path / "x"
    if kind == "packed":
        path.write_bytes(
            b"# pack-refs with: sorted \n%s refs/heads/a\n\n%s refs/heads/b\n" % (OID.encode(), OID.encode())
        )
    elif kind == "table":
        # The type of a block in its midst.
        refs = [TableRow(b"refs/heads/%04d" % i, OID.encode()) for i in range(1000)]
        data = bytearray(write_table(path, refs, shape=SHAPES["small"]).read_bytes())
        data[512] = ord("x")
        path.write_bytes(data)
    done = run(path, "--format", form, "-o", tmp_path / "out")
    assert (done.returncode, done.stdout) == (128, b"")
    assert done.stderr.startswith(b"refspan: ")
    assert bytes(path) in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert [found.name for found in tmp_path.iterdir() if found != path] == []


@each_format
def test_damage_in_reflogs_keeps_its_exit_code(tmp_path: Path, form: str) -> None:
    oid = b"\1" * 20
    logs = [LogRow(b"refs/heads/%04d" % i, 1, oid, oid, b"A", b"a@b", 1, 0, b"%d\n" % i) for i in range(1000)]
    path = tmp_path / "1.ref"
    data = bytearray(write_table(path, [], logs).read_bytes())
    second = refspan.Reftable(path).blocks()[1]
    # In the midst of a deflated block.
    data[second.offset + 20] ^= 0xFF
    path.write_bytes(data)
    done = run(path, "--what", "reflogs", "--format", form, "-o", tmp_path / "out")
    assert done.returncode == 128
    assert b"(byte %d)" % second.offset in done.stderr
    assert list(tmp_path.iterdir()) == [path]
