"""Finding refs of tables and stacks by name: look-ups, prefixes, start_after and exclude, against the whole list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refspan import RefNameError, RefNotFoundError, Reftable, ReftableStack, RefView
from refspan._native import RefReader
from reftable_support import GIT, NEVER, SHAPES, Row, StackBuilder, fixtures, listed, needs_reftables, write_table
from reftable_writer import Shape
from support import HASHES, Hash

OID = b"1" * 40

# Few bytes, around the slash and at both ends of the order, so that names and limits meet often.
some_name = st.lists(st.sampled_from(list(b"\x01-./0ab\x80\xff")), min_size=1, max_size=5).map(bytes)
some_limit = some_name | st.just(b"")
some_shape = st.builds(
    Shape,
    block_size=st.sampled_from([80, 128, 4096]),
    restart_interval=st.sampled_from([1, 2, 16]),
    padded=st.booleans(),
    index_from=st.sampled_from([2, 4, NEVER]),
    objects=st.booleans(),
)


def names_of(refs: Iterable[RefView]) -> list[bytes]:
    return [bytes(ref.name) for ref in refs]


def table_with(path: Path, names: Iterable[bytes], shape: Shape = GIT) -> Reftable:
    return Reftable(write_table(path, (Row(name, OID) for name in names), shape=shape))


def assert_every_way_agrees(reader: RefReader) -> None:
    """By each name, every way to look leads to the very ref that a scan shows, and only to it."""
    count = 0
    for ref in reader:
        count += 1
        name, fields = ref.name, fields_of(ref)
        found = reader.get(name)
        assert name in reader
        assert found is not None
        assert fields_of(found) == fields_of(reader[name]) == fields_of(next(reader.refs(name))) == fields
        following = next(reader.refs(start_after=name), None)
        assert following is None or bytes(following.name) > bytes(name)
    assert len(reader) == count


def fields_of(ref: RefView) -> tuple[object, ...]:
    return (bytes(ref.name), ref.kind, ref.oid, ref.peeled, ref.target, ref.update_index, memoryview(ref).nbytes)


@needs_reftables
@pytest.mark.slow
@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("block_size", [256, 4096])
def test_every_way_to_a_ref_of_a_stack_leads_to_the_same(
    stacked: StackBuilder, many: int, block_size: int, hash_: Hash
) -> None:
    # Small blocks take git itself too long.
    repo = stacked(many // 10 if block_size == 256 else many, hash_, block_size=block_size)
    assert_every_way_agrees(ReftableStack(repo / "reftable"))


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("count", [1, 7, 450, 3000])
def test_every_way_to_a_ref_of_a_table_leads_to_the_same(tmp_path: Path, count: int, shape: Shape) -> None:
    names = (b"refs/heads/topic-%d" % i for i in range(1000, 1000 + count))
    assert_every_way_agrees(table_with(tmp_path / "x.ref", names, shape))


def test_a_deep_index_has_several_roots(tmp_path: Path) -> None:
    # What the tests around this one rely on: a level of two or three blocks gets no level above it.
    names = [b"refs/heads/topic-%d" % i for i in range(1000, 4000)]
    blocks = table_with(tmp_path / "x.ref", names, SHAPES["deep index"]).blocks()
    assert sum(block.kind == "index" for block in blocks) > 40
    assert not [
        block for block in table_with(tmp_path / "y.ref", names, SHAPES["no index"]).blocks() if block.kind == "index"
    ]


@pytest.mark.parametrize("count", range(1, 1200, 31))
def test_no_ref_is_lost_between_the_roots_of_an_index(tmp_path: Path, count: int) -> None:
    names = [b"refs/heads/topic-%d" % i for i in range(1000, 1000 + count)]
    table = table_with(tmp_path / "x.ref", names, SHAPES["deep index"])
    assert [name for name in names if name not in table] == []


@pytest.mark.parametrize("tables_list", fixtures("**/tables.list"))
def test_every_way_to_a_ref_of_another_programs_stack_leads_to_the_same(tables_list: Path) -> None:
    stack = ReftableStack(tables_list.parent)
    for reader in (stack, *stack.tables):
        assert_every_way_agrees(reader)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_names_next_to_existing_ones_are_not_found(tmp_path: Path, shape: Shape) -> None:
    there = {b"refs/heads/%d" % i for i in range(1000)}
    table = table_with(tmp_path / "x.ref", there, shape)
    for name in there:
        for other in (name[:-1], name + b"0", name + b"/", name[:-1] + b"\x01", name[:-1] + b"\xff", b"", b"\xff"):
            assert (other in table) == (other in there)


@pytest.fixture
def stack(tmp_path: Path) -> ReftableStack:
    """Two tables; the newer one takes a ref away."""
    older = write_table(tmp_path / "1.ref", (Row(b"refs/heads/%c" % letter, OID) for letter in b"abc"))
    newer = write_table(tmp_path / "2.ref", [Row(b"refs/heads/b"), Row(b"refs/heads/caf\xe9", OID)], limits=(2, 2))
    return ReftableStack(listed(tmp_path / "stack", [older, newer]))


@pytest.mark.parametrize("name", ["refs/heads/b", "refs/heads/caf\udcea", "", "refs/heads/", "zzz"])
def test_a_missing_name_is_a_key_error_that_tells_it(stack: ReftableStack, name: str) -> None:
    with pytest.raises(RefNotFoundError) as caught:
        stack[name]
    assert isinstance(caught.value, KeyError)
    assert caught.value.name == name
    assert stack.get(name) is None
    assert stack.get(name, 7) == 7
    assert name not in stack


def test_a_refview_of_another_reader_is_a_name(stack: ReftableStack, tmp_path: Path) -> None:
    (ref,) = table_with(tmp_path / "other.ref", [b"refs/heads/b"])
    (other,) = table_with(tmp_path / "another.ref", [b"refs/heads/c"])
    assert ref not in stack
    assert names_of([stack[other]]) == names_of(stack.refs(start_after=ref, exclude=["refs/heads/café"]))[:1]
    assert names_of(stack.refs(other)) == [b"refs/heads/c", b"refs/heads/caf\xe9"]
    assert names_of(stack.refs(exclude=[other])) == [b"refs/heads/a", b"refs/heads/caf\xe9"]


@pytest.mark.parametrize("name", ["refs/heads/caf\udce9", b"refs/heads/caf\xe9", bytearray(b"refs/heads/caf\xe9")])
def test_a_name_may_be_text_or_bytes(stack: ReftableStack, name: str | bytes | bytearray) -> None:
    assert name in stack
    assert stack[name].refname == "refs/heads/caf\udce9"
    assert list(stack.names(name)) == [b"refs/heads/caf\xe9"]


@pytest.mark.parametrize("pattern", ["refs/heads/*", "refs/heads/?", "refs/heads/[ab]", "refs/heads/\\a"])
def test_exclude_takes_no_patterns(stack: ReftableStack, pattern: str) -> None:
    for reader in (stack, stack.tables[0]):
        with pytest.raises(RefNameError) as caught:
            reader.refs(exclude=["refs/tags", pattern])
        assert caught.value.name == pattern


def selected(names: Iterable[bytes], prefix: bytes, start_after: bytes | None, exclude: Sequence[bytes]) -> list[bytes]:
    """What a filter leaves of the names."""

    def is_excluded(name: bytes) -> bool:
        return any(name.startswith(limit.removesuffix(b"/") + b"/") or name == limit for limit in exclude if limit)

    return [
        name
        for name in sorted(names)
        if name.startswith(prefix) and (start_after is None or name > start_after) and not is_excluded(name)
    ]


@given(
    names=st.sets(some_name, max_size=40),
    prefix=some_limit,
    start_after=st.none() | some_limit,
    exclude=st.lists(some_limit, max_size=5),
    shape=some_shape,
)
def test_limits_select_from_a_table_what_a_filter_selects(
    scratch: Path,
    names: set[bytes],
    prefix: bytes,
    start_after: bytes | None,
    exclude: list[bytes],
    shape: Shape,
) -> None:
    table = table_with(scratch, names, shape)
    expected = selected(names, prefix, start_after, exclude)
    assert names_of(table.refs(prefix, start_after=start_after, exclude=exclude)) == expected
    assert list(table.names(prefix)) == names_of(table.refs(prefix)) == selected(names, prefix, None, [])


@given(names=st.sets(some_name, max_size=40), wanted=st.lists(some_limit, max_size=10), shape=some_shape)
def test_a_name_is_found_if_it_is_there(scratch: Path, names: set[bytes], wanted: list[bytes], shape: Shape) -> None:
    table = table_with(scratch, names, shape)
    assert [name in table for name in wanted] == [name in names for name in wanted]
    assert [table[name].name for name in names] == list(names)
