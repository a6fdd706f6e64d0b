"""Finding refs by object id: the search over bytes gives what a walk over the records gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refspan import InvalidValueError, PackedRefs
from support import GIT_TRAITS, HASHES, HEX_LEN, Builder, Hash, Ref, git_listing, write_packed

if TYPE_CHECKING:
    from typing_extensions import Buffer

OID = "1234567890abcdefABCDEF1234567890abcdef12"
OTHER = b"f" * 40


def packed_with(path: Path, *refs: Ref, traits: str | None = GIT_TRAITS) -> PackedRefs:
    """A reader of these refs."""
    return PackedRefs(write_packed(path, refs, traits))


def pointing_at(packed: PackedRefs, oid: str | Buffer) -> list[bytes]:
    """The names of the refs that were found."""
    return [bytes(ref.name) for ref in packed.points_at(oid)]


def naive(refs: Iterable[Ref], oid: bytes) -> list[bytes]:
    """The names of the refs that a walk finds."""
    return [ref.name for ref in refs if oid.lower() in (ref.oid.lower(), (ref.peeled or b"").lower())]


@pytest.mark.parametrize("hash_", HASHES)
def test_every_object_is_pointed_at_by_the_refs_that_git_lists(repository: Builder, hash_: Hash) -> None:
    repo = repository(1000, hash_)
    packed, refs = PackedRefs(repo / "packed-refs"), git_listing(repo)
    oids = {ref.oid for ref in refs} | {ref.peeled for ref in refs if ref.peeled is not None}
    assert len(oids) > 100
    for oid in oids:
        assert pointing_at(packed, oid) == naive(refs, oid)


@pytest.mark.slow
def test_a_large_file_is_searched_as_a_walk_would(repository: Builder, many: int) -> None:
    repo = repository(many)
    packed, refs = PackedRefs(repo / "packed-refs"), git_listing(repo)
    for ref in refs[:: many // 10]:
        assert pointing_at(packed, ref.oid) == naive(refs, ref.oid)


def test_a_found_ref_is_whole(tmp_path: Path) -> None:
    tag = Ref(b"refs/tags/v1", b"1" * 40, b"2" * 40)
    (ref,) = packed_with(tmp_path / "packed-refs", Ref(b"refs/heads/main", OTHER, None), tag).points_at(tag.oid)
    assert memoryview(ref) == b"%s refs/tags/v1\n^%s\n" % (tag.oid, tag.peeled or b"")


@pytest.mark.parametrize(
    "name",
    [
        b"refs/keep-around/%s",
        b"%s",
        b"^%s",
        b"refs/heads/a ^%s",
        b"refs/heads/a\r%s refs/heads/b",
    ],
)
@pytest.mark.parametrize("oid", [b"1" * 40, b"a" * 40, b"1234567890" * 4, b"0" * 40])
def test_an_object_id_in_a_name_is_no_match(tmp_path: Path, name: bytes, oid: bytes) -> None:
    packed = packed_with(tmp_path / "packed-refs", Ref(name % oid, OTHER, None))
    assert pointing_at(packed, oid) == []
    assert pointing_at(packed, OTHER) == [name % oid]


def test_a_name_that_holds_its_own_object_id_is_found_once(tmp_path: Path) -> None:
    packed = packed_with(tmp_path / "packed-refs", Ref(b"refs/keep-around/" + b"12" * 20, b"12" * 20, None))
    assert pointing_at(packed, "12" * 20) == [b"refs/keep-around/" + b"12" * 20]


@pytest.mark.parametrize("stored", [str.upper, str.lower, str])
@pytest.mark.parametrize("asked", [str.upper, str.lower, str])
def test_case_does_not_matter(tmp_path: Path, stored: Callable[[str], str], asked: Callable[[str], str]) -> None:
    refs = [Ref(b"refs/heads/main", stored(OID).encode(), None), Ref(b"refs/tags/v1", OTHER, stored(OID).encode())]
    assert pointing_at(packed_with(tmp_path / "packed-refs", *refs), asked(OID)) == [
        b"refs/heads/main",
        b"refs/tags/v1",
    ]


@pytest.mark.parametrize(
    "spell",
    [str, str.encode, bytes.fromhex, lambda oid: bytearray.fromhex(oid), lambda oid: memoryview(bytes.fromhex(oid))],
    ids=["hex str", "hex bytes", "raw bytes", "raw bytearray", "raw memoryview"],
)
@pytest.mark.parametrize("hash_", HASHES)
def test_an_object_id_may_be_spelled_in_every_way(
    tmp_path: Path, hash_: Hash, spell: Callable[[str], str | Buffer]
) -> None:
    oid = "1a" * (HEX_LEN[hash_] // 2)
    packed = packed_with(tmp_path / "packed-refs", Ref(b"refs/heads/main", oid.encode(), None))
    assert pointing_at(packed, spell(oid)) == [b"refs/heads/main"]


def test_the_fields_of_a_ref_are_object_ids(tmp_path: Path) -> None:
    packed = packed_with(
        tmp_path / "packed-refs", Ref(b"refs/heads/main", b"2" * 40, None), Ref(b"refs/tags/v1", b"1" * 40, b"2" * 40)
    )
    tag = packed["refs/tags/v1"]
    assert pointing_at(packed, tag.oid) == [b"refs/tags/v1"]
    assert tag.peeled is not None
    assert pointing_at(packed, tag.peeled) == [b"refs/heads/main", b"refs/tags/v1"]


def test_a_ref_whose_two_object_ids_match_is_found_once(tmp_path: Path) -> None:
    packed = packed_with(tmp_path / "packed-refs", Ref(b"refs/tags/v1", b"1" * 40, b"1" * 40))
    assert pointing_at(packed, b"1" * 40) == [b"refs/tags/v1"]


@pytest.mark.parametrize(
    "oid",
    [
        "0" * 40,
        "1" * 40,
        "f" * 40,
        "abcdef" * 6 + "abcd",
        "a" * 39 + "1",
        "1" + "a" * 39,
        "1a" * 20,
        "a1" * 20,
        "11a" * 13 + "1",
        "1" * 20 + "a" + "1" * 19,
    ],
)
def test_awkward_object_ids_are_found(tmp_path: Path, oid: str) -> None:
    # Its neighbours' names end and begin with the same digits.
    refs = [Ref(name + oid.encode(), oid.encode(), oid.encode()) for name in (b"a", b"b", b"c")]
    assert pointing_at(packed_with(tmp_path / "packed-refs", *refs), oid) == naive(refs, oid.encode())


def test_refs_are_found_in_order_of_names_in_an_unsorted_file(tmp_path: Path) -> None:
    refs = [Ref(b"refs/heads/%d" % i, OID.encode(), None) for i in (3, 1, 4, 5, 9, 2, 6)]
    packed = packed_with(tmp_path / "packed-refs", *refs, traits=None)
    assert pointing_at(packed, OID) == sorted(ref.name for ref in refs)


def test_broken_and_duplicate_refs_are_found(tmp_path: Path) -> None:
    refs = [Ref(name, OID.encode(), None) for name in (b"refs/heads/a", b"refs/heads/a", b"refs/heads/b..c")]
    packed = packed_with(tmp_path / "packed-refs", *refs)
    assert [ref.broken for ref in packed.points_at(OID)] == ["duplicate", "duplicate", "bad name"]


@pytest.mark.parametrize(("stored", "asked"), [(40, 64), (64, 40)])
@pytest.mark.parametrize("digit", ["0", "1", "a"])
def test_an_object_id_of_the_other_hash_is_never_found(tmp_path: Path, digit: str, stored: int, asked: int) -> None:
    packed = packed_with(tmp_path / "packed-refs", Ref(b"refs/heads/main", digit.encode() * stored, None))
    assert pointing_at(packed, digit * asked) == []


@pytest.mark.parametrize(
    "value",
    ["", "main", "1" * 39, "1" * 41, "1" * 63, "1" * 65, "g" * 40, "é" * 20, "\udce9" * 40, b"", b"1" * 39, b"x" * 40],
)
def test_what_is_no_object_id_is_refused(tmp_path: Path, value: str | bytes) -> None:
    packed = packed_with(tmp_path / "packed-refs", Ref(b"refs/heads/main", OTHER, None))
    with pytest.raises(InvalidValueError) as caught:
        packed.points_at(value)
    assert isinstance(caught.value, ValueError)
    assert (caught.value.name, caught.value.value) == (None, value)


@pytest.mark.parametrize("length", [20, 32])
def test_text_is_never_taken_for_raw_bytes(tmp_path: Path, length: int) -> None:
    # Half an object id: an abbreviation would otherwise be a search for another object.
    packed = packed_with(tmp_path / "packed-refs", Ref(b"refs/heads/main", OTHER, None))
    with pytest.raises(InvalidValueError):
        packed.points_at("f" * length)


@pytest.mark.parametrize("value", [None, 1, ["1" * 40]])
def test_what_cannot_be_an_object_id_is_a_type_error(tmp_path: Path, value: object) -> None:
    packed = packed_with(tmp_path / "packed-refs", Ref(b"refs/heads/main", OTHER, None))
    with pytest.raises(TypeError):
        packed.points_at(cast(str, value))


def few_digits(width: int) -> st.SearchStrategy[bytes]:
    """Object ids of few distinct digits: runs repeat, overlap and nearly match."""
    short_period = st.text("1aA", min_size=1, max_size=4).map(lambda unit: (unit * width)[:width].encode())
    return short_period | st.text("1a", min_size=width, max_size=width).map(str.encode)


@given(data=st.data(), hash_=st.sampled_from(HASHES), traits=st.sampled_from([GIT_TRAITS, None]))
def test_search_and_walk_agree(scratch: Path, data: st.DataObject, hash_: Hash, traits: str | None) -> None:
    oids = few_digits(HEX_LEN[hash_])
    pool = st.sampled_from(data.draw(st.lists(oids, min_size=1, max_size=4)))
    names = st.builds(b"".join, st.tuples(st.sampled_from([b"", b"1", b"a", b"^", b"refs/1"]), st.just(b"") | pool))
    refs = data.draw(
        st.lists(st.builds(Ref, names.filter(bool), pool, st.none() | pool), max_size=8, unique_by=lambda ref: ref.name)
    )
    wanted = data.draw(pool | oids)
    packed = packed_with(scratch, *sorted(refs), traits=traits)
    assert pointing_at(packed, wanted) == naive(sorted(refs), wanted)
