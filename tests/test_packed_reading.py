"""Reading a whole packed-refs file: what refspan lists is what git lists, name by name and id by id."""

from __future__ import annotations

import itertools
import random
import subprocess
from pathlib import Path

import pytest
from refspan import CorruptError, PackedRefs
from support import (
    HASHES,
    HEX_LEN,
    Builder,
    Hash,
    Ref,
    git,
    git_listing,
    header,
    listing,
    packed_files,
    remote_listing,
    split_records,
    write_packed,
)

TRAITS = ("peeled", "fully-peeled", "sorted")
TRAIT_SETS = [traits for size in range(4) for traits in itertools.combinations(TRAITS, size)]
SIZES = [0, 1, 1000]
UNSORTED_HEADERS = [None, "", "peeled", "peeled fully-peeled"]


def is_tag(name: bytes) -> bool:
    return name.startswith(b"refs/tags/")


@pytest.mark.parametrize("mmap", [True, False], ids=["mapped", "copied"])
@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("count", SIZES)
def test_a_file_that_git_packed_is_listed_as_git_lists_it(
    repository: Builder, count: int, hash_: Hash, mmap: bool
) -> None:
    repo = repository(count, hash_)
    packed = PackedRefs(repo / "packed-refs", mmap=mmap)
    assert listing(packed) == git_listing(repo)
    assert len(packed) == count
    assert bool(packed) == (count > 0)


@pytest.mark.slow
@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("share", [10, 1])
def test_a_large_file_is_listed_as_git_lists_it(repository: Builder, many: int, share: int, hash_: Hash) -> None:
    repo = repository(many // share, hash_)
    packed = PackedRefs(repo / "packed-refs")
    assert len(packed) == many // share
    for read, told in zip(packed, git_listing(repo), strict=True):
        assert read.name == told.name
        assert read.oid == told.oid
        assert read.peeled == told.peeled


@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("count", [1, 1000])
def test_the_first_object_id_tells_the_hash(repository: Builder, count: int, hash_: Hash) -> None:
    assert PackedRefs(repository(count, hash_) / "packed-refs").hash == hash_


@pytest.mark.parametrize("content", [b"", header("peeled fully-peeled sorted")], ids=["empty", "header alone"])
def test_a_file_without_refs_has_no_hash_unless_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "packed-refs"
    path.write_bytes(content)
    assert PackedRefs(path).hash is None
    assert PackedRefs(path, hash="sha256").hash == "sha256"


@pytest.mark.parametrize("content", [b"", header("peeled fully-peeled sorted")], ids=["empty", "header alone"])
def test_a_file_without_refs_lists_and_finds_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "packed-refs"
    path.write_bytes(content)
    packed = PackedRefs(path)
    assert not packed
    assert len(packed) == 0
    assert not [*packed, *packed.names(), *packed.records(), *packed.points_at("1" * 40)]
    assert "refs/heads/main" not in packed


@pytest.mark.parametrize("hash_", HASHES)
def test_records_are_the_file_without_its_header(repository: Builder, hash_: Hash) -> None:
    path = repository(1000, hash_) / "packed-refs"
    packed = PackedRefs(path)
    assert b"".join(packed.records()) == path.read_bytes().partition(b"\n")[2]


def test_names_and_records_are_those_of_the_refs(repository: Builder) -> None:
    packed = PackedRefs(repository(1000) / "packed-refs")
    prefix = b"refs/tags/"
    assert list(packed.names(prefix)) == [ref.name for ref in packed.refs(prefix)]
    assert list(packed.records(prefix)) == [memoryview(ref) for ref in packed.refs(prefix)]


@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("traits", [None, *TRAIT_SETS], ids=lambda traits: "+".join(traits) if traits else str(traits))
def test_a_header_promises_no_more_than_it_says(
    repository: Builder, tmp_path: Path, traits: tuple[str, ...] | None, hash_: Hash
) -> None:
    claimed = frozenset(traits or ())

    def covers(name: bytes) -> bool:
        return "fully-peeled" in claimed or ("peeled" in claimed and is_tag(name))

    # A writer leaves the peeled values out that its header does not promise.
    expected = [ref if covers(ref.name) else ref._replace(peeled=None) for ref in git_listing(repository(1000, hash_))]
    text = None if traits is None else " ".join(traits)
    packed = PackedRefs(write_packed(tmp_path / "packed-refs", expected, text))
    assert packed.traits == claimed
    assert listing(packed) == expected
    assert [ref.peel_known for ref in packed] == [covers(ref.name) for ref in expected]


@pytest.mark.parametrize("traits", [None, "", "sorted", "peeled"])
def test_a_peeled_line_is_believed_under_any_header(repository: Builder, tmp_path: Path, traits: str | None) -> None:
    expected = git_listing(repository(1000))
    packed = PackedRefs(write_packed(tmp_path / "packed-refs", expected, traits))
    assert listing(packed) == expected
    for ref in packed:
        promised = traits == "peeled" and is_tag(bytes(ref.name))
        assert ref.peel_known == (ref.peeled is not None or promised)


@pytest.mark.parametrize(
    ("line", "claimed"),
    [
        (b"# pack-refs with: sorted\n", {"sorted"}),
        (b"# pack-refs with: fully-peeled\n", {"fully-peeled"}),
        (b"# pack-refs with:   peeled  future sorted \n", {"peeled", "sorted"}),
        (b"# pack-refs with: Sorted unsorted peeled,sorted \n", set()),
        (b"# pack-refs with: sorted\r\n", set()),
    ],
)
def test_traits_are_whole_words_of_the_header(tmp_path: Path, line: bytes, claimed: set[str]) -> None:
    path = tmp_path / "packed-refs"
    path.write_bytes(line + b"1" * 40 + b" refs/heads/main\n")
    packed = PackedRefs(path)
    assert packed.traits == claimed
    assert list(packed.names()) == [b"refs/heads/main"]


@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("traits", UNSORTED_HEADERS)
@pytest.mark.parametrize("count", [2, 20, 1000])
def test_an_unsorted_file_is_listed_in_order(
    repository: Builder, tmp_path: Path, count: int, traits: str | None, hash_: Hash
) -> None:
    repo = repository(count, hash_)
    records = split_records((repo / "packed-refs").read_bytes())
    ordered = list(records)
    while records == ordered:
        random.Random(count).shuffle(records)
    path = tmp_path / "packed-refs"
    path.write_bytes(header(traits) + b"".join(records))
    packed = PackedRefs(path)
    assert len(packed) == count
    assert listing(packed) == git_listing(repo)
    assert list(packed.records()) == ordered


def test_names_below_space_sort_before_their_continuations(tmp_path: Path) -> None:
    # Compared with its LF, "a" would sort after "a\x01".
    names = [b"a", b"a\x01", b"a\t", b"a-", b"a.", b"a/b", b"a0", b"z", b"\x80", b"\xff"]
    refs = [Ref(name, b"1" * 40, None) for name in names]
    packed = PackedRefs(write_packed(tmp_path / "packed-refs", refs[::-1], None))
    assert list(packed.names()) == names


def test_object_ids_are_read_as_they_are_spelled(tmp_path: Path) -> None:
    upper = Ref(b"refs/tags/v1", b"ABCDEF7890" * 4, b"FEDCBA7890" * 4)
    (ref,) = PackedRefs(write_packed(tmp_path / "packed-refs", [upper]))
    assert ref.oid == upper.oid
    assert ref.peeled == upper.peeled
    assert (ref.hex, ref.peeled_hex) == ("abcdef7890" * 4, "fedcba7890" * 4)


def test_a_mirror_clone_is_read_as_git_reads_it(repository: Builder, tmp_path: Path) -> None:
    git("clone", "-q", "--mirror", repository(300), tmp_path / "clone")
    assert listing(PackedRefs(tmp_path / "clone" / "packed-refs")) == git_listing(tmp_path / "clone")


def test_a_plain_clone_is_read_as_git_reads_it(repository: Builder, tmp_path: Path) -> None:
    git("clone", "-q", repository(300), tmp_path / "clone")
    loose = {b"refs/heads/main", b"refs/remotes/origin/HEAD"}
    expected = [ref for ref in git_listing(tmp_path / "clone") if ref.name not in loose]
    assert listing(PackedRefs(tmp_path / "clone" / ".git" / "packed-refs")) == expected


def test_a_clone_that_was_worked_in_and_packed_is_read_as_git_reads_it(repository: Builder, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git("clone", "-q", repository(300), clone)
    git("remote", "set-head", "origin", "--delete", cwd=clone)
    git("commit", "-q", "--allow-empty", "-m", "more", cwd=clone)
    git("tag", "-a", "-m", "one", "one", cwd=clone)
    git("tag", "-a", "-m", "two", "two", "one", cwd=clone)
    git("tag", "of-a-tree", "HEAD^{tree}", cwd=clone)
    git("pack-refs", "--all", cwd=clone)
    packed = PackedRefs(clone / ".git" / "packed-refs")
    assert listing(packed) == git_listing(clone)
    assert packed["refs/tags/two"].peeled == packed["refs/heads/main"].oid


def repository_around(content: bytes, folder: Path, hash_: Hash = "sha1") -> Path:
    """A repository with nothing but this packed-refs file."""
    repo = folder / "repo.git"
    git("init", "-q", "--bare", f"--object-format={hash_}", repo)
    (repo / "packed-refs").write_bytes(content)
    return repo


@pytest.mark.parametrize("content", packed_files(terminated=True))
def test_files_of_other_projects_are_read_as_git_reads_them(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "packed-refs"
    path.write_bytes(content)
    packed = PackedRefs(path)
    expected = remote_listing(repository_around(content, tmp_path, packed.hash or "sha1"))
    assert listing(packed) == expected
    assert len(packed) == len(expected)
    assert all(len(ref.oid) == HEX_LEN[packed.hash or "sha1"] for ref in packed)


@pytest.mark.parametrize("content", packed_files(terminated=False))
def test_cut_files_of_other_projects_are_refused_as_git_refuses_them(tmp_path: Path, content: bytes) -> None:
    repo = repository_around(content, tmp_path)
    with pytest.raises(subprocess.CalledProcessError):
        remote_listing(repo)
    with pytest.raises(CorruptError):
        PackedRefs(repo / "packed-refs")
