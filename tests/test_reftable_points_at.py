"""Finding refs of tables and stacks by object id: the object index gives what a walk over the refs gives."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refspan import InvalidValueError, Reftable, ReftableStack
from refspan._native import RefReader
from reftable_support import SHAPES, Row, StackBuilder, fixtures, listed, needs_reftables, rows, write_table
from reftable_writer import Shape
from support import HASHES, Hash


def oid(number: int, hash_: Hash = "sha1") -> bytes:
    """An object id as git's are: all digits differ."""
    return hashlib.new(hash_, b"%d" % number).hexdigest().encode()


def naive(refs: Iterable[Row], wanted: bytes) -> list[Row]:
    return [row for row in refs if wanted in (row.oid, row.peeled)]


def assert_walk_agrees(reader: RefReader, *, step: int = 1) -> None:
    """Each object id that a walk sees is found, raw and as hex, with the very refs that it saw."""
    refs = rows(reader)
    found = sorted({oid for row in refs for oid in row[1:3] if oid is not None})[::step]
    for wanted in found:
        assert rows(reader.points_at(wanted)) == naive(refs, wanted)
        assert rows(reader.points_at(bytes.fromhex(wanted.decode()))) == naive(refs, wanted)
        # Of the same length, with the first bytes that the index knows, but not there.
        assert rows(reader.points_at(wanted[:-2] + b"%02x" % (int(wanted[-2:], 16) ^ 1))) == []


@needs_reftables
@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("objects", [True, False])
@pytest.mark.parametrize("block_size", [256, 4096])
def test_a_stack_of_git_is_searched_as_a_walk_would(
    stacked: StackBuilder, block_size: int, objects: bool, hash_: Hash
) -> None:
    stack = ReftableStack(stacked(1000, hash_, block_size=block_size, objects=objects) / "reftable")
    (table,) = stack.tables
    assert any(block.kind == "obj" for block in table.blocks()) == objects
    assert_walk_agrees(stack)
    assert_walk_agrees(table)


@needs_reftables
@pytest.mark.slow
@pytest.mark.parametrize("objects", [True, False])
def test_a_large_stack_is_searched_as_a_walk_would(stacked: StackBuilder, many: int, objects: bool) -> None:
    stack = ReftableStack(stacked(many, objects=objects) / "reftable")
    assert_walk_agrees(stack, step=1 if objects and many < 100_000 else 20)


@pytest.mark.parametrize("tables_list", fixtures("**/tables.list"))
def test_a_stack_of_another_program_is_searched_as_a_walk_would(tables_list: Path) -> None:
    stack = ReftableStack(tables_list.parent)
    for reader in (stack, *stack.tables):
        assert_walk_agrees(reader, step=10)


@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("refs_each", [1, 7, 8, 100, 1000])
def test_an_object_is_found_however_many_refs_it_has(tmp_path: Path, refs_each: int, shape: Shape, hash_: Hash) -> None:
    objects = 1000 // refs_each
    refs = [Row(b"refs/heads/%04d" % i, oid(i % objects, hash_)) for i in range(objects * refs_each)]
    refs += [Row(b"refs/tags/%d" % i, oid(-i, hash_), oid(0, hash_)) for i in range(1, 9)]
    table = Reftable(write_table(tmp_path / "x.ref", refs, hash_=hash_, shape=shape))
    assert_walk_agrees(table, step=40 if refs_each == 1 else 1)
    assert len(list(table.points_at(oid(0, hash_)))) == refs_each + 8


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_an_object_that_is_the_peeled_value_only_is_found(tmp_path: Path, shape: Shape) -> None:
    refs = [Row(b"refs/tags/%03d" % i, oid(i), oid(1000 + i // 2)) for i in range(200)]
    table = Reftable(write_table(tmp_path / "x.ref", refs, shape=shape))
    assert rows(table.points_at(oid(1050))) == refs[100:102]


def test_a_ref_whose_two_object_ids_match_is_found_once(tmp_path: Path) -> None:
    table = Reftable(write_table(tmp_path / "x.ref", [Row(b"refs/tags/v1", oid(1), oid(1))]))
    assert len(list(table.points_at(oid(1)))) == 1


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_what_a_newer_table_overrides_or_deletes_is_not_found(tmp_path: Path, shape: Shape) -> None:
    names = [b"refs/heads/%03d" % i for i in range(300)]
    changes = {name: Row(name, oid(2)) if i % 3 == 1 else Row(name) for i, name in enumerate(names) if i % 3}
    older = write_table(tmp_path / "1.ref", (Row(name, oid(1)) for name in names), shape=shape)
    newer = write_table(tmp_path / "2.ref", changes.values(), limits=(2, 2), shape=shape)
    stack = ReftableStack(listed(tmp_path / "stack", [older, newer]))
    assert [ref.name for ref in stack.points_at(oid(1))] == names[::3]
    assert [ref.name for ref in stack.points_at(oid(2))] == names[1::3]
    assert_walk_agrees(stack)


def test_symbolic_refs_are_not_found_by_what_they_lead_to(tmp_path: Path) -> None:
    refs = [Row(b"HEAD", target=b"refs/heads/main"), Row(b"refs/heads/main", oid(1))]
    table = Reftable(write_table(tmp_path / "x.ref", refs))
    assert [ref.name for ref in table.points_at(oid(1))] == [b"refs/heads/main"]


@pytest.mark.parametrize("hash_", HASHES)
def test_an_object_id_of_the_other_hash_is_never_found(tmp_path: Path, hash_: Hash) -> None:
    refs = [Row(b"refs/heads/main", b"1" * (40 if hash_ == "sha1" else 64))]
    table = Reftable(write_table(tmp_path / "x.ref", refs, hash_=hash_))
    assert rows(table.points_at("1" * (64 if hash_ == "sha1" else 40))) == []


@pytest.mark.parametrize("value", ["", "main", "1" * 39, "g" * 40, b"", b"1" * 39])
def test_what_is_no_object_id_is_refused(tmp_path: Path, value: str | bytes) -> None:
    table = Reftable(write_table(tmp_path / "x.ref", [Row(b"refs/heads/main", oid(1))]))
    with pytest.raises(InvalidValueError):
        table.points_at(value)


# Few of each, so that they meet.
some_oid = st.sampled_from([oid(i) for i in range(4)] + [oid(0)[:-1] + b"0", oid(0)[:4] + oid(1)[4:]])
some_name = st.integers(0, 29).map(lambda i: b"refs/%d" % i)
some_ref = st.builds(Row, some_name, some_oid, st.none() | some_oid, st.none())
some_change = some_ref | some_name.map(Row)


@given(
    tables=st.lists(st.lists(some_change, unique_by=lambda row: row.name, max_size=30), max_size=4),
    shape=st.sampled_from([*SHAPES.values(), *(replace(shape, block_size=160) for shape in SHAPES.values())]),
    vague=st.booleans(),
    wanted=some_oid,
)
def test_search_and_walk_agree(
    scratch: Path, tables: list[list[Row]], shape: Shape, vague: bool, wanted: bytes
) -> None:
    scratch.parent.joinpath("stack").mkdir(exist_ok=True)
    files = [
        write_table(scratch.with_name(f"{i}.ref"), refs, limits=(i, i), shape=shape, vague=vague)
        for i, refs in enumerate(tables)
    ]
    stack = ReftableStack(listed(scratch.with_name("stack"), files))
    merged = {row.name: row for refs in tables for row in refs}
    refs = sorted(row for row in merged.values() if row.oid is not None)
    assert rows(stack) == refs
    assert rows(stack.points_at(wanted)) == naive(refs, wanted)
    for table, own in zip(stack.tables, tables, strict=True):
        assert rows(table.points_at(wanted)) == naive(sorted(own), wanted)
