"""Order and duplicates: a false claim to be `sorted`, names that stand in several lines, damage met by seeks."""

from collections.abc import Callable
from pathlib import Path

import pytest
from refspan import CorruptError, PackedRefs, RefNotFoundError

SORTED = b"# pack-refs with: peeled fully-peeled sorted \n"
A = b"1" * 39 + b"a"
B = b"2" * 39 + b"b"
OUT_OF_ORDER = "refname sorts before the one above it, but the header claims 'sorted'"
DUPLICATE = "refname stands in more than one line"


@pytest.fixture(name="path")
def packed_refs_path(tmp_path: Path) -> Path:
    return tmp_path / "packed-refs"


def lines(*names: bytes, oid: bytes = A) -> bytes:
    return b"".join(b"%b %b\n" % (oid, name) for name in names)


def facts(action: Callable[[], object]) -> tuple[int, int | None, str]:
    with pytest.raises(CorruptError) as caught:
        action()
    return caught.value.offset, caught.value.line, caught.value.reason


def lookups(packed: PackedRefs, name: bytes) -> list[Callable[[], object]]:
    return [
        lambda: packed[name],
        lambda: packed.get(name),
        lambda: name in packed,
        lambda: packed.refs(name),
        lambda: packed.names(name),
        lambda: packed.records(name),
        lambda: packed.refs(start_after=name),
        lambda: packed.refs(exclude=[name]),
    ]


def false_sorted(others: int) -> tuple[bytes, tuple[int, int, str]]:
    """A file that is in the order of lengths first, and where that shows."""
    data = SORTED + lines(*(b"refs/heads/%05d" % i for i in range(others)), b"refs/tags/v0.43.0")
    wrong = (len(data), others + 3, OUT_OF_ORDER)
    return data + lines(b"refs/notes/x", b"refs/tags/v1"), wrong


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("others", [0, 1000], ids=["small", "large"])
def test_a_false_claim_to_be_sorted_is_found_by_reading(path: Path, others: int, mmap: bool) -> None:
    data, wrong = false_sorted(others)
    path.write_bytes(data)
    packed = PackedRefs(path, mmap=mmap)
    seen: list[str] = []
    refs = iter(packed)
    assert facts(lambda: seen.extend(ref.refname for ref in refs)) == wrong
    assert (len(seen), seen[-1]) == (others + 1, "refs/tags/v0.43.0")
    assert facts(lambda: next(refs)) == wrong


@pytest.mark.parametrize("read", [list, len, PackedRefs.check], ids=["iter", "len", "check"])
def test_lookups_raise_once_the_claim_is_known_to_be_false(path: Path, read: Callable[[PackedRefs], object]) -> None:
    data, wrong = false_sorted(3)
    path.write_bytes(data)
    packed = PackedRefs(path)
    assert "refs/heads/00000" in packed, "nothing has been read yet that would tell"
    assert facts(lambda: read(packed)) == wrong
    for name in (b"refs/heads/00000", b"refs/notes/x", b"refs/absent"):
        for lookup in lookups(packed, name):
            assert facts(lookup) == wrong


@pytest.mark.parametrize("read", [list, len, PackedRefs.check], ids=["iter", "len", "check"])
def test_a_false_claim_is_found_again_by_each_read(path: Path, read: Callable[[PackedRefs], object]) -> None:
    data, wrong = false_sorted(3)
    path.write_bytes(data)
    packed = PackedRefs(path)
    for _ in range(3):
        assert facts(lambda: read(packed)) == wrong


def test_reopening_knows_nothing_of_what_another_reader_found(path: Path) -> None:
    data, _ = false_sorted(3)
    path.write_bytes(data)
    assert facts(lambda: len(PackedRefs(path)))
    assert "refs/heads/00000" in PackedRefs(path)


@pytest.mark.parametrize("names", [(b"refs/b", b"refs/a"), (b"refs/a/b", b"refs/a-b"), (b"refs/\xb1", b"refs/z")])
def test_order_is_that_of_unsigned_bytes(path: Path, names: tuple[bytes, bytes]) -> None:
    path.write_bytes(SORTED + lines(*names))
    assert facts(lambda: list(PackedRefs(path))) == (46 + len(lines(names[0])), 3, OUT_OF_ORDER)
    path.write_bytes(SORTED + lines(*reversed(names)))
    assert [bytes(name) for name in PackedRefs(path).names()] == sorted(names)


def test_a_name_that_ends_sorts_before_one_that_goes_on(path: Path) -> None:
    """Also where it goes on with a byte below LF, which ends it: comparing lines would be wrong."""
    names = (b"refs/heads/a", b"refs/heads/a\x01", b"refs/heads/a\x09b", b"refs/heads/a-")
    path.write_bytes(SORTED + lines(*names))
    packed = PackedRefs(path)
    assert tuple(bytes(name) for name in packed.names()) == names
    assert all(name in packed for name in names)


@pytest.mark.parametrize("others", [0, 1000], ids=["small", "large"])
def test_a_file_that_claims_nothing_is_read_in_order(path: Path, others: int) -> None:
    names = [b"refs/x/%05d" % i for i in range(others)] + [b"refs/remotes/o/m", b"refs/heads/m", b"HEAD"]
    path.write_bytes(b"# pack-refs with: peeled \n" + lines(*names))
    packed = PackedRefs(path)
    assert [bytes(name) for name in packed.names()] == sorted(names)
    assert all(name in packed for name in names)
    packed.check()


def test_a_peeled_line_travels_with_the_line_above_it(path: Path) -> None:
    tag = b"%b refs/tags/v1\n^%b\n" % (A, B)
    path.write_bytes(tag + lines(b"refs/heads/m"))
    packed = PackedRefs(path)
    assert [bytes(record) for record in packed.records()] == [lines(b"refs/heads/m"), tag]
    assert packed["refs/tags/v1"].peeled_hex == B.decode()


@pytest.mark.parametrize("header", [SORTED, b""], ids=["sorted", "bare"])
def test_duplicates_are_all_listed_and_none_is_chosen(path: Path, header: bytes) -> None:
    """Git returns whichever its bisection hits; who asks for that name here is told instead."""
    first = header + lines(b"refs/heads/a")
    path.write_bytes(first + lines(b"refs/heads/m") + lines(b"refs/heads/m", oid=B) + lines(b"refs/heads/z"))
    packed = PackedRefs(path)
    found = [(ref.refname, ref.hex, ref.broken) for ref in packed if ref.refname == "refs/heads/m"]
    assert found == [("refs/heads/m", A.decode(), "duplicate"), ("refs/heads/m", B.decode(), "duplicate")]
    assert len(packed) == 4
    where = (len(first), first.count(b"\n") + 1, DUPLICATE)
    for lookup in lookups(packed, b"refs/heads/m")[:3]:
        assert facts(lookup) == where
    assert packed["refs/heads/a"].broken is None
    assert packed["refs/heads/z"].broken is None
    assert [ref.hex for ref in packed.refs("refs/heads/m")] == [A.decode(), B.decode()]


def test_duplicates_far_apart_are_found_where_the_file_is_sorted_by_us(path: Path) -> None:
    path.write_bytes(lines(b"refs/z", b"refs/m") + lines(b"refs/m", oid=B) + lines(b"refs/a", b"refs/m"))
    packed = PackedRefs(path)
    assert [ref.refname for ref in packed if ref.broken == "duplicate"] == ["refs/m"] * 3
    assert facts(lambda: packed["refs/m"]) == (len(lines(b"refs/z")), 2, DUPLICATE)


def test_two_equal_lines_are_duplicates_too(path: Path) -> None:
    path.write_bytes(SORTED + lines(b"refs/m", b"refs/m"))
    packed = PackedRefs(path)
    assert [ref.broken for ref in packed] == ["duplicate"] * 2
    assert facts(lambda: "refs/m" in packed) == (46, 2, DUPLICATE)


def test_only_the_whole_name_makes_a_duplicate(path: Path) -> None:
    names = (b"refs/m", b"refs/m-", b"refs/m/x")
    path.write_bytes(SORTED + lines(*names))
    assert [ref.broken for ref in PackedRefs(path)] == [None] * 3


def damaged_at(index: int, count: int = 2000) -> tuple[bytes, list[bytes]]:
    """A sorted file, large enough to be mapped, whose record at `index` has lost its object id's last digit."""
    names = [b"refs/heads/%05d" % i for i in range(count)]
    records = [lines(name) for name in names]
    records[index] = b"g" + records[index][1:]
    return SORTED + b"".join(records), names


@pytest.mark.parametrize("mmap", [True, False])
def test_lookups_that_do_not_meet_damage_work(path: Path, mmap: bool) -> None:
    data, names = damaged_at(1003)
    path.write_bytes(data)
    packed = PackedRefs(path, mmap=mmap)
    met = []
    for name in names:
        try:
            assert packed[name].name == name
        except CorruptError as error:
            met.append((name, error.line))
    assert (names[1003], 1005) in met
    assert {line for _, line in met} == {1005}
    assert len(met) < 100, "a record at the bottom of the bisection stands in the way of its neighbours only"


def test_a_bisection_that_meets_damage_raises(path: Path) -> None:
    data, names = damaged_at(1000)
    path.write_bytes(data)
    packed = PackedRefs(path)
    for name in (names[0], names[-1], names[1000], b"refs/absent"):
        for lookup in lookups(packed, name):
            assert facts(lookup)[1] == 1002


def test_a_prefix_walk_reads_only_what_it_yields(path: Path) -> None:
    data, _ = damaged_at(1003)
    path.write_bytes(data)
    packed = PackedRefs(path)
    assert sum(1 for _ in packed.refs("refs/heads/000")) == 100
    seen: list[str] = []
    # Both limits of this prefix are away from the damage, which lies between them.
    assert facts(lambda: seen.extend(ref.refname for ref in packed.refs("refs/heads/")))[1] == 1005
    assert len(seen) == 1003


def test_names_beyond_damage_are_still_said_to_be_missing(path: Path) -> None:
    data, _ = damaged_at(1003)
    path.write_bytes(data)
    packed = PackedRefs(path)
    with pytest.raises(RefNotFoundError):
        packed["refs/tags/v1"]
    assert "HEAD" not in packed
