"""The list of a stack's tables: what may stand in it, what may be missing, and what is never an empty stack."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from refspan import CorruptError, Reftable, ReftableStack
from reftable_support import Row, listed, rows, write_table

OID = b"1" * 40
REF = Row(b"refs/heads/a", OID)


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    """A directory with two tables, `1.ref` and `2.ref`."""
    tables = [write_table(tmp_path / "1.ref", [REF]), write_table(tmp_path / "2.ref", [Row(b"refs/heads/b", OID)])]
    return listed(tmp_path / "reftable", tables)


@pytest.mark.parametrize("content", [b"\n1.ref\n\n\n2.ref\n", b"1.ref\n2.ref\n\n"])
def test_empty_lines_mean_nothing(stack: Path, content: bytes) -> None:
    (stack / "tables.list").write_bytes(content)
    assert [Path(table.path).name for table in ReftableStack(stack).tables] == ["1.ref", "2.ref"]


@pytest.mark.parametrize("content", [b"", b"\n", b"\n\n"])
def test_a_list_of_nothing_is_an_empty_stack(stack: Path, content: bytes) -> None:
    (stack / "tables.list").write_bytes(content)
    reader = ReftableStack(stack)
    assert (reader.tables, reader.hash, reader.min_update_index, reader.max_update_index) == ((), None, None, None)
    assert not reader
    assert not [*reader, *reader.names(), *reader.logs(), *reader.points_at(OID)]
    assert ReftableStack(stack, hash="sha256").hash == "sha256"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        pytest.param(b"1.ref\n2.ref", 2, id="no final LF"),
        pytest.param(b"1.ref\r\n2.ref\r\n", 1, id="CRLF"),
        pytest.param(b"1.ref\n2.ref\r\n", 2, id="CRLF at the end"),
        pytest.param(b"1.ref\n2.ref\n1.ref\n", 3, id="listed twice"),
        pytest.param(b"1.ref\n../outside.ref\n", 2, id="parent"),
        pytest.param(b"\n\n../outside.ref\n", 3, id="parent behind empty lines"),
        pytest.param(b"../reftable/1.ref\n", 1, id="there and back"),
        pytest.param(b"./1.ref\n", 1, id="the directory itself"),
        pytest.param(b"sub/x.ref\n", 1, id="below"),
        pytest.param(b"/x.ref\n", 1, id="absolute"),
        pytest.param(b"1.ref\0\n", 1, id="NUL"),
        pytest.param(b"..\n", 1, id="dots"),
        pytest.param(b".\n", 1, id="dot"),
        pytest.param(b"1.ref\nmissing.ref\n2.ref\n", 2, id="missing table"),
        pytest.param(b"\n\nmissing.ref\n", 3, id="missing table behind empty lines"),
        pytest.param(b"1.ref\n\xff.ref\n", 2, id="not text"),
    ],
)
def test_a_damaged_list_is_an_error_that_tells_the_line(stack: Path, content: bytes, line: int) -> None:
    write_table(stack.parent / "outside.ref", [REF])
    (stack / "tables.list").write_bytes(content)
    with pytest.raises(CorruptError) as caught:
        ReftableStack(stack)
    assert (caught.value.path, caught.value.line) == (str(stack / "tables.list"), line)
    assert caught.value.offset == sum(map(len, content.splitlines(keepends=True)[: line - 1]))


def test_an_absolute_path_to_a_real_table_is_an_error(stack: Path) -> None:
    (stack / "tables.list").write_text(f"{stack / '1.ref'}\n")
    with pytest.raises(CorruptError):
        ReftableStack(stack)


def test_tables_that_are_not_listed_do_not_matter(stack: Path) -> None:
    (stack / "tables.list").write_bytes(b"1.ref\n")
    (stack / "3.ref").write_bytes(b"garbage")
    for litter in ("tables.list.lock", "1.ref.lock", "0x1-0x1-1.temp.AbCdEf"):
        (stack / litter).touch()
    assert rows(ReftableStack(stack)) == [REF]


def test_a_directory_without_list_and_tables_is_an_empty_stack(tmp_path: Path) -> None:
    reader = ReftableStack(tmp_path)
    assert (reader.tables, len(reader), reader.is_stale()) == ((), 0, False)
    (tmp_path / "tables.list").touch()
    assert reader.is_stale()


@pytest.mark.parametrize("beside", ["1.ref", "1.log", "tables.list.lock"])
def test_a_missing_list_is_an_error_beside_a_table_or_a_lock(tmp_path: Path, beside: str) -> None:
    (tmp_path / beside).touch()
    with pytest.raises(CorruptError) as caught:
        ReftableStack(tmp_path)
    assert caught.value.path == str(tmp_path / "tables.list")


@pytest.mark.parametrize(("name", "error"), [("none", FileNotFoundError), ("file", NotADirectoryError)])
def test_what_is_no_directory_is_an_os_error(tmp_path: Path, name: str, error: type[OSError]) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(error) as caught:
        ReftableStack(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value.filename)


def test_a_list_that_is_a_directory_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "tables.list").mkdir()
    with pytest.raises(IsADirectoryError) as caught:
        ReftableStack(tmp_path)
    assert (caught.value.errno, caught.value.filename) == (errno.EISDIR, str(tmp_path / "tables.list"))


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut": lambda data: data[:-1],
    "checksum": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "magic": lambda data: b"REFX" + data[4:],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_table_is_an_error_that_names_it(stack: Path, damage: Callable[[bytes], bytes]) -> None:
    table = stack / "2.ref"
    table.write_bytes(damage(table.read_bytes()))
    with pytest.raises(CorruptError) as caught:
        ReftableStack(stack)
    assert (caught.value.path, caught.value.line) == (str(table), None)


def test_tables_of_two_hashes_are_an_error(stack: Path) -> None:
    write_table(stack / "2.ref", [Row(b"refs/heads/b", b"1" * 64)], hash_="sha256")
    with pytest.raises(CorruptError):
        ReftableStack(stack)


def test_a_stack_of_another_hash_than_demanded_is_an_error(stack: Path) -> None:
    assert ReftableStack(stack, hash="sha1").hash == "sha1"
    with pytest.raises(CorruptError) as caught:
        ReftableStack(stack, hash="sha256")
    assert caught.value.path == str(stack / "1.ref")
    with pytest.raises(CorruptError):
        Reftable(stack / "1.ref", hash="sha256")


def test_a_link_to_a_directory_is_followed(stack: Path) -> None:
    link = stack.with_name("link")
    link.symlink_to(stack)
    assert rows(ReftableStack(link))[0] == REF
    assert ReftableStack(os.fspath(link)).path == str(link)
