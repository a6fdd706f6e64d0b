"""Finding refs by name: exact look-ups, prefixes, start_after and exclude, against plain Python over the whole list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refspan import CorruptError, PackedRefs, RefNameError, RefNotFoundError, RefView
from support import GIT_TRAITS, HASHES, Builder, Hash, Ref, write_packed

if TYPE_CHECKING:
    from typing_extensions import Buffer

OID = b"1" * 40
LOOK_ALIKES = [b"refs/heads/foo-bar", b"refs/heads/foo/bar", b"refs/tags/v1", b"refs/tags/v1.0", b"refs/tags/v1/x"]

SPELLINGS: dict[str, Callable[[bytes], str | Buffer]] = {
    "str": lambda name: name.decode("utf-8", "surrogateescape"),
    "bytes": lambda name: name,
    "bytearray": bytearray,
    "memoryview": memoryview,
    "every second byte": lambda name: memoryview(b"".join(b"%c-" % byte for byte in name))[::2],
}

# Few bytes, around the slash and at both ends of the order, so that names and limits meet often.
some_name = st.lists(st.sampled_from(list(b"\x01-./0ab\x80\xff")), min_size=1, max_size=5).map(bytes)
some_limit = some_name | st.just(b"")


def packed_with(path: Path, names: Sequence[bytes], traits: str | None = GIT_TRAITS) -> PackedRefs:
    """A reader of refs with these names, in this order."""
    return PackedRefs(write_packed(path, (Ref(name, OID, None) for name in names), traits))


def names_of(refs: Iterable[RefView]) -> list[bytes]:
    return [bytes(ref.name) for ref in refs]


@pytest.fixture
def look_alikes(tmp_path: Path) -> PackedRefs:
    """A reader of names that are beginnings of others, but for one byte."""
    return packed_with(tmp_path / "packed-refs", LOOK_ALIKES)


@pytest.mark.slow
@pytest.mark.parametrize("hash_", HASHES)
def test_every_way_to_a_ref_leads_to_the_same_record(repository: Builder, many: int, hash_: Hash) -> None:
    packed = PackedRefs(repository(many, hash_) / "packed-refs")
    for ref in packed:
        name, record = ref.name, memoryview(ref)
        found = packed.get(name)
        assert name in packed
        assert found is not None
        assert memoryview(found) == memoryview(packed[name]) == memoryview(next(packed.refs(name))) == record


@pytest.mark.slow
def test_names_next_to_existing_ones_are_not_found(repository: Builder, many: int) -> None:
    packed = PackedRefs(repository(many) / "packed-refs")
    there = {bytes(name) for name in packed.names()}
    for name in there:
        for other in (name[:-1], name + b"0", name + b"/", name[:-1] + b"\x01", name[:-1] + b"\xff"):
            assert (other in packed) == (other in there)


def test_a_missing_name_is_a_key_error_that_tells_it(look_alikes: PackedRefs) -> None:
    with pytest.raises(RefNotFoundError) as caught:
        look_alikes[b"refs/heads/caf\xe9"]
    assert isinstance(caught.value, KeyError)
    assert caught.value.name == "refs/heads/caf\udce9"


@pytest.mark.parametrize("name", [b"", b"refs", b"refs/tags/", b"refs/tags/v", b"zzz", b"\xff", b"refs/tags/v1\n"])
def test_get_gives_the_default_for_a_missing_name(look_alikes: PackedRefs, name: bytes) -> None:
    assert look_alikes.get(name) is None
    assert look_alikes.get(name, 7) == 7


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("name", [b"refs/heads/main", "refs/heads/größe".encode(), b"refs/heads/caf\xe9\xff"])
def test_a_name_may_be_spelled_in_every_way(
    tmp_path: Path, name: bytes, spell: Callable[[bytes], str | Buffer]
) -> None:
    packed = packed_with(tmp_path / "packed-refs", sorted([name, b"refs/heads/a", b"refs/heads/zz\xff"]))
    spelled = spell(name)
    assert spelled in packed
    assert packed[spelled].name == name
    assert names_of(packed.refs(spelled)) == [name]
    assert names_of(packed.refs(start_after=spelled)) == [other for other in packed.names() if bytes(other) > name]
    assert names_of(packed.refs(exclude=[spelled])) == [other for other in packed.names() if other != name]


def test_a_refview_of_another_reader_is_a_name(look_alikes: PackedRefs, tmp_path: Path) -> None:
    (ref,) = packed_with(tmp_path / "other", [b"refs/tags/v1.0"])
    assert ref in look_alikes
    assert look_alikes[ref].name == ref.name


def test_refname_of_a_name_that_is_not_utf8_finds_it(tmp_path: Path) -> None:
    packed = packed_with(tmp_path / "packed-refs", [b"refs/heads/caf\xe9"])
    (ref,) = packed
    assert ref.refname == "refs/heads/caf\udce9"
    assert packed[ref.refname].name == ref.name


@pytest.mark.parametrize("name", [None, 1, ["refs/heads/main"], object()])
def test_what_is_no_name_is_a_type_error(look_alikes: PackedRefs, name: object) -> None:
    with pytest.raises(TypeError):
        look_alikes[cast(str, name)]


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        (b"refs/tags/v1", [b"refs/tags/v1", b"refs/tags/v1.0", b"refs/tags/v1/x"]),
        (b"refs/tags/v1.0", [b"refs/tags/v1.0"]),
        (b"refs/tags/v1/", [b"refs/tags/v1/x"]),
        (b"refs/heads/foo/", [b"refs/heads/foo/bar"]),
        (b"refs/heads/foo", [b"refs/heads/foo-bar", b"refs/heads/foo/bar"]),
        (b"refs/heads/b", []),
        (b"refs/heads/foo/bar/longer", []),
        (b"", LOOK_ALIKES),
        (b"a", []),
        (b"zzz", []),
        (b"\xff", []),
    ],
)
def test_a_prefix_is_plain_bytes(look_alikes: PackedRefs, prefix: bytes, expected: list[bytes]) -> None:
    assert names_of(look_alikes.refs(prefix)) == list(look_alikes.names(prefix)) == expected


def test_bytes_above_ascii_sort_after_it(tmp_path: Path) -> None:
    names = [b"refs/heads/z", b"refs/heads/~", b"refs/heads/\x80", b"refs/heads/\xee\x90\xbf", b"refs/heads/\xff", b"s"]
    packed = packed_with(tmp_path / "packed-refs", names)
    assert all(name in packed for name in names)
    assert names_of(packed.refs(b"refs/heads/\xee")) == [b"refs/heads/\xee\x90\xbf"]
    assert names_of(packed.refs(b"refs/", start_after=b"refs/heads/z")) == names[1:5]


@pytest.mark.parametrize("name", [b"refs/tags/v1", b"refs/tags/v1-", b"", b"zzz"])
def test_start_after_need_not_exist(look_alikes: PackedRefs, name: bytes) -> None:
    assert names_of(look_alikes.refs(start_after=name)) == [other for other in LOOK_ALIKES if other > name]


@pytest.mark.parametrize(
    ("exclude", "left_out"),
    [
        ([b"refs/tags/v1"], [b"refs/tags/v1", b"refs/tags/v1/x"]),
        ([b"refs/tags/v1/"], [b"refs/tags/v1/x"]),
        ([b"refs/heads/fo"], []),
        ([b"refs/tags", b"refs/heads"], LOOK_ALIKES),
        ([b"refs/tags/v1/x", b"refs/tags/v1.0", b"refs/tags/v1"], LOOK_ALIKES[2:]),
        ([b"refs/tags/v1", b"refs/tags", b"refs/tags/v1/x", b"refs/tags"], LOOK_ALIKES[2:]),
        ([b"refs/none", b"zzz", b"a"], []),
        # Git drops empty ones too.
        ([b""], []),
        ([], []),
    ],
)
def test_exclude_leaves_out_refs_and_what_lies_below(
    look_alikes: PackedRefs, exclude: list[bytes], left_out: list[bytes]
) -> None:
    kept = [name for name in LOOK_ALIKES if name not in left_out]
    assert names_of(look_alikes.refs(exclude=exclude)) == kept
    assert names_of(look_alikes.refs(exclude=tuple(reversed(exclude)))) == kept


@pytest.mark.parametrize("pattern", ["refs/heads/*", "refs/heads/?", "refs/heads/[ab]", "refs/heads/\\a"])
def test_exclude_takes_no_patterns(look_alikes: PackedRefs, pattern: str) -> None:
    with pytest.raises(RefNameError) as caught:
        look_alikes.refs(exclude=["refs/tags", pattern])
    assert caught.value.name == pattern


@pytest.mark.parametrize("names", ["refs/tags", b"refs/tags"])
def test_exclude_is_no_single_name(look_alikes: PackedRefs, names: object) -> None:
    with pytest.raises(TypeError):
        look_alikes.refs(exclude=cast(list[str], names))


@given(
    names=st.sets(some_name, max_size=25),
    prefix=some_limit,
    start_after=st.none() | some_limit,
    exclude=st.lists(some_limit, max_size=5),
    traits=st.sampled_from([GIT_TRAITS, None]),
)
def test_limits_select_what_a_filter_selects(
    scratch: Path,
    names: set[bytes],
    prefix: bytes,
    start_after: bytes | None,
    exclude: list[bytes],
    traits: str | None,
) -> None:
    def is_excluded(name: bytes) -> bool:
        return any(name.startswith(limit.removesuffix(b"/") + b"/") or name == limit for limit in exclude if limit)

    packed = packed_with(scratch, sorted(names), traits)
    assert names_of(packed.refs(prefix, start_after=start_after, exclude=exclude)) == [
        name
        for name in sorted(names)
        if name.startswith(prefix) and (start_after is None or name > start_after) and not is_excluded(name)
    ]


@given(names=st.sets(some_name, max_size=25), wanted=some_limit)
def test_a_name_is_found_if_it_is_there(scratch: Path, names: set[bytes], wanted: bytes) -> None:
    assert (wanted in packed_with(scratch, sorted(names))) == (wanted in names)


@given(names=st.permutations([b"refs/heads/%d" % i for i in range(12)]))
def test_order_in_the_file_does_not_matter_without_sorted(scratch: Path, names: list[bytes]) -> None:
    packed = packed_with(scratch, names, "peeled fully-peeled")
    assert [packed[name].name for name in names] == names
    assert names_of(packed) == sorted(names)


LOOK_UPS: dict[str, Callable[[PackedRefs, bytes], object]] = {
    "[]": lambda packed, name: packed[name],
    "in": lambda packed, name: name in packed,
    "get": lambda packed, name: packed.get(name),
}


@pytest.mark.parametrize("look_up", LOOK_UPS.values(), ids=LOOK_UPS)
@pytest.mark.parametrize(
    ("names", "traits", "line"),
    [
        ([b"a", b"b", b"b", b"c"], GIT_TRAITS, 3),
        ([b"b", b"b"], GIT_TRAITS, 2),
        ([b"a", b"b", b"b", b"b"], None, 2),
        ([b"b", b"c", b"a", b"b"], None, 1),
        ([b"z", b"y", b"b", b"x", b"b", b"b"], "peeled", 4),
    ],
)
def test_looking_up_a_duplicate_tells_its_first_line(
    tmp_path: Path,
    names: list[bytes],
    traits: str | None,
    line: int,
    look_up: Callable[[PackedRefs, bytes], object],
) -> None:
    path = tmp_path / "packed-refs"
    oids = [b"%040x" % (i + 1) for i in range(len(names))]
    packed = PackedRefs(
        write_packed(path, (Ref(name, oid, oid) for name, oid in zip(names, oids, strict=True)), traits)
    )
    # Each record has a `^` line, which counts as well.
    line += sum(name != b"b" for name in names[: names.index(b"b")])
    with pytest.raises(CorruptError) as caught:
        look_up(packed, b"b")
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert path.read_bytes()[caught.value.offset :].startswith(oids[names.index(b"b")])


def test_refs_beside_a_duplicate_are_found(tmp_path: Path) -> None:
    packed = packed_with(tmp_path / "packed-refs", [b"a", b"b", b"b", b"c"])
    assert [packed[name].broken for name in ("a", "c")] == [None, None]
    assert [ref.broken for ref in packed] == [None, "duplicate", "duplicate", None]


def test_an_ill_formed_name_is_found(tmp_path: Path) -> None:
    packed = packed_with(
        tmp_path / "packed-refs", [b" two spaces", b"refs/../x", b"refs/heads/a..b", b"refs/heads/cr\r"]
    )
    found: list[RefView] = [packed[name] for name in packed.names()]
    assert [ref.broken for ref in found] == ["unsafe name", "unsafe name", "bad name", "bad name"]
