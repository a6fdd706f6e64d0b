"""What a rewrite of packed-refs makes of its records and its header: what git 2.47.3 makes, byte for byte, unless told.

Later versions of git do not peel again the tags of a file that does not say `fully-peeled`, but claim it all the same
(CONTRACT.md, 1.8). We do as 2.47.3.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refspan import ANY, CorruptError, Transaction
from store_support import Repository, build
from support import GIT_TRAITS, HASHES, HEX_LEN, Hash, header, split_records

NAMES = ("refs/heads/a", "refs/heads/b", "refs/heads/c", "refs/notes/n", "refs/tags/light", "refs/zzz")
TAGS = ("refs/tags/annotated", "refs/tags/nested", "refs/x/outside")
ALL = sorted(NAMES + TAGS)


@pytest.fixture(scope="module", params=HASHES)
def hash_(request: pytest.FixtureRequest) -> Hash:
    return HASHES[HASHES.index(request.param)]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, hash_: Hash) -> Repository:
    """Nine refs in a packed-refs file that git wrote, annotated tags among them. Not to be changed."""
    repo = build(tmp_path_factory.mktemp(f"original-{hash_}") / "repo.git", hash_=hash_, bare=True)
    repo.create(*NAMES)
    tag = repo.tag("annotated", repo.commits[1])
    repo.tag("nested", tag)
    repo.update(f"create refs/x/outside {tag}")
    repo.git("pack-refs", "--all")
    # The examples of hooks are most of its files.
    shutil.rmtree(repo.path / "hooks")
    return repo


@pytest.fixture
def repo(original: Repository, tmp_path: Path) -> Repository:
    return copied(original, tmp_path / "repo.git")


def copied(repo: Repository, path: Path) -> Repository:
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(repo.path, path)
    return Repository(path, path, repo.commits)


def delete(repo: Repository, *names: str) -> bytes:
    """Delete refs; the packed-refs file that comes of it."""
    with Transaction(repo.path) as transaction:
        transaction.apply(("delete", name, None, ANY) for name in names)
    return (repo.gitdir / "packed-refs").read_bytes()


def git_deletes(repo: Repository, *names: str) -> bytes:
    """The file that comes of it where git does that, in a copy."""
    copy = copied(repo, repo.path.with_suffix(".copy"))
    copy.update(*(f"delete {name}" for name in names))
    return (copy.gitdir / "packed-refs").read_bytes()


def records(repo: Repository) -> list[bytes]:
    return split_records((repo.gitdir / "packed-refs").read_bytes())


def write(repo: Repository, traits: str | None, lines: Sequence[bytes]) -> bytes:
    """Write the file by hand; its bytes."""
    data = header(traits) + b"".join(lines)
    (repo.gitdir / "packed-refs").write_bytes(data)
    return data


def bare(record: bytes) -> bytes:
    """A record without its peeled line."""
    return record.split(b"\n")[0] + b"\n"


def is_of(record: bytes, name: str) -> bool:
    return bare(record).endswith(b" %b\n" % name.encode())


def is_promised(record: bytes, traits: str | None) -> bool:
    """Whether a header promises that the record has a peeled line if it is of a tag."""
    words = (traits or "").split()
    return "fully-peeled" in words or ("peeled" in words and b" refs/tags/" in record)


@pytest.mark.parametrize(
    "names",
    [*[[name] for name in ALL], ALL[:2], ALL[-2:], [ALL[0], ALL[-1]], ALL[1:-1], ALL[::2], list(TAGS), ALL],
    ids=lambda names: "+".join(name.removeprefix("refs/") for name in names),
)
def test_deleted_records_go_and_all_others_stay_byte_for_byte(repo: Repository, names: list[str]) -> None:
    expected = git_deletes(repo, *names)
    before = records(repo)
    assert delete(repo, *names) == expected
    assert records(repo) == [record for record in before if not any(is_of(record, name) for name in names)]


def test_a_ref_that_is_loose_too_goes_from_both_files(repo: Repository) -> None:
    repo.create("refs/heads/b", at=2)
    expected = git_deletes(repo, "refs/heads/b")
    assert delete(repo, "refs/heads/b") == expected
    assert not (repo.gitdir / "refs/heads/b").exists()


@pytest.mark.parametrize("traits", [None, "", "sorted", "peeled", "peeled sorted", "fully-peeled sorted", "nonsense"])
def test_a_header_that_promises_less_is_earned(repo: Repository, traits: str | None) -> None:
    """What it does not promise is looked up: tags come out peeled, and then the header says so."""
    lines = records(repo)
    write(repo, traits, [record if is_promised(record, traits) else bare(record) for record in lines])
    expected = git_deletes(repo, "refs/heads/b")
    assert delete(repo, "refs/heads/b") == expected
    assert expected.startswith(header(GIT_TRAITS))
    assert records(repo) == [record for record in lines if not is_of(record, "refs/heads/b")]


def test_peeled_tags_below_refs_tags_are_believed_where_the_header_says_peeled(repo: Repository) -> None:
    """Git believes that too: whoever reads the file has been told before that this is no tag."""
    write(repo, "peeled sorted", [bare(record) for record in records(repo)])
    expected = git_deletes(repo, "refs/heads/b")
    assert delete(repo, "refs/heads/b") == expected
    peeled = [record.split()[1] for record in records(repo) if b"^" in record]
    assert peeled == [b"refs/x/outside"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True, max_examples=30)
@given(data=st.data(), traits=st.sampled_from([None, "peeled", "fully-peeled", "sorted", "peeled sorted", GIT_TRAITS]))
def test_generated_files_are_rewritten_as_by_git(
    original: Repository, tmp_path: Path, data: st.DataObject, traits: str | None
) -> None:
    """In any order, with any peeled lines, whatever the header says of the latter."""
    repo = copied(original, tmp_path / "repo.git")
    lines = records(repo)
    lines = [bare(line) if data.draw(st.booleans()) else line for line in lines if data.draw(st.integers(0, 3))]
    write(repo, traits, lines if traits and "sorted" in traits else data.draw(st.permutations(lines)))
    before = (repo.gitdir / "packed-refs").read_bytes()
    deleted = data.draw(st.lists(st.sampled_from(ALL), min_size=1, unique=True))
    expected = git_deletes(repo, *deleted)
    assert delete(repo, *deleted) == expected
    # Without any of them there is nothing to rewrite.
    assert (expected == before) or expected.startswith(header(GIT_TRAITS))


@pytest.mark.parametrize("traits", [None, "peeled fully-peeled"])
def test_records_without_order_come_out_in_order(repo: Repository, traits: str | None) -> None:
    write(repo, traits, records(repo)[::-1])
    expected = git_deletes(repo, "refs/heads/b", "refs/tags/nested")
    assert delete(repo, "refs/heads/b", "refs/tags/nested") == expected


@pytest.mark.parametrize("traits", [None, GIT_TRAITS])
@pytest.mark.parametrize("separator", [b" ", b"\t", b"\r"])
@pytest.mark.parametrize("is_upper", [True, False])
def test_records_are_spelled_as_git_spells_them(
    repo: Repository, traits: str | None, separator: bytes, is_upper: bool
) -> None:
    def spell(record: bytes) -> bytes:
        first, *peeled = record.splitlines(keepends=True)
        oid, name = first.split(b" ")
        parts = [oid, *peeled]
        oid, *peeled = [part.upper() for part in parts] if is_upper else parts
        return oid + separator + name + b"".join(peeled)

    plain = records(repo)
    write(repo, traits, [spell(record) for record in plain])
    expected = git_deletes(repo, "refs/heads/b")
    assert delete(repo, "refs/heads/b") == expected
    assert records(repo) == [record for record in plain if not is_of(record, "refs/heads/b")]


@pytest.mark.parametrize("name", [b"refs/heads/b\r", b"refs/heads/b..c", b"refs/heads/b c", b"refs/heads/b.lock"])
def test_a_badly_named_record_is_kept_as_it_is(repo: Repository, hash_: Hash, name: bytes) -> None:
    """Git writes zeros in the place of its object id: a file with CRLF loses all of its values so."""
    lines = records(repo)
    odd = repo.commits[2].encode() + b" " + name + b"\n"
    write(repo, GIT_TRAITS, [*lines[:2], odd, *lines[2:]])
    zeros = git_deletes(repo, "refs/heads/c")
    assert delete(repo, "refs/heads/c") == zeros.replace(b"0" * HEX_LEN[hash_], repo.commits[2].encode())
    assert odd in records(repo)
    assert zeros.count(b"0" * HEX_LEN[hash_]) == 1


def test_a_file_with_crlf_keeps_its_values(repo: Repository) -> None:
    """All but its header: its records are badly named, and a rewrite for the sake of another ref keeps them."""
    lines = [record.replace(b"\n", b"\r\n") for record in records(repo) if b"^" not in record]
    write(repo, GIT_TRAITS, [*lines, repo.commits[0].encode() + b" refs/zzzz\n"])
    assert delete(repo, "refs/zzzz") == header(GIT_TRAITS) + b"".join(lines)


@pytest.mark.parametrize("traits", [None, GIT_TRAITS])
def test_a_name_in_several_records_is_not_written_again(repo: Repository, traits: str | None) -> None:
    """Git writes it again, and both values stay in doubt."""
    lines = records(repo)
    other = repo.commits[2].encode() + b" refs/heads/b\n"
    data = write(repo, traits, [*lines[:2], other, *lines[2:]])
    assert git_deletes(repo, "refs/heads/c").count(b" refs/heads/b\n") == 2
    with pytest.raises(CorruptError) as caught:
        delete(repo, "refs/heads/c")
    line = 3 + (traits is not None)
    assert (caught.value.line, caught.value.offset) == (line, len(b"".join(data.splitlines(True)[: line - 1])))
    assert (repo.gitdir / "packed-refs").read_bytes() == data


@pytest.mark.parametrize("traits", [None, GIT_TRAITS])
def test_a_deleted_name_goes_from_all_of_its_records(repo: Repository, traits: str | None) -> None:
    """Git takes the first away, and the second comes to light: the ref has another value, and still exists."""
    lines = records(repo)
    other = repo.commits[2].encode() + b" refs/heads/b\n"
    write(repo, traits, [*lines[:2], other, *lines[2:]])
    assert git_deletes(repo, "refs/heads/b").count(b" refs/heads/b\n") == 1
    assert b" refs/heads/b\n" not in delete(repo, "refs/heads/b")
    assert "refs/heads/b" not in repo.store()
    assert records(repo) == [record for record in lines if not is_of(record, "refs/heads/b")]


@pytest.mark.parametrize(
    ("traits", "name", "left"),
    [
        (None, "refs/tags/annotated", "sorted"),
        ("sorted", "refs/x/outside", "sorted"),
        ("peeled sorted", "refs/x/outside", "peeled sorted"),
    ],
)
def test_a_tag_that_cannot_be_read_takes_a_promise_away(
    repo: Repository, traits: str | None, name: str, left: str
) -> None:
    """Git promises `fully-peeled` all the same, and others take the record for no tag."""
    lines = [bare(record) if is_of(record, name) else record for record in records(repo)]
    write(repo, traits, lines)
    oid = repo.git("rev-parse", name)
    (repo.gitdir / "objects" / oid[:2] / oid[2:]).unlink()
    assert git_deletes(repo, "refs/heads/b").startswith(header(GIT_TRAITS))
    assert delete(repo, "refs/heads/b").startswith(header(left))
    assert records(repo) == [record for record in lines if not is_of(record, "refs/heads/b")]


def test_a_promise_that_stands_already_is_kept(repo: Repository) -> None:
    """Nothing is read then that is not written: not even whether a tag is there."""
    shutil.rmtree(repo.gitdir / "objects")
    (repo.gitdir / "objects").mkdir()
    before = (repo.gitdir / "packed-refs").read_bytes()
    (gone,) = (record for record in records(repo) if is_of(record, "refs/heads/b"))
    assert delete(repo, "refs/heads/b") == before.replace(gone, b"")


def test_a_false_claim_to_be_sorted_stops_a_rewrite(repo: Repository) -> None:
    """Git writes such a file again in its own order, and may take the wrong records away."""
    lines = records(repo)
    data = write(repo, GIT_TRAITS, [*lines[:3], *lines[4:6], lines[3], *lines[6:]])
    with pytest.raises(CorruptError) as caught:
        delete(repo, "refs/heads/b")
    assert caught.value.line == data[: data.index(lines[3])].count(b"\n") + 1
    assert (repo.gitdir / "packed-refs").read_bytes() == data


@pytest.mark.parametrize("damage", ["cut", "junk", "blank", "peeled twice", "no hex"])
def test_damage_stops_a_rewrite_and_nothing_is_changed(repo: Repository, damage: str) -> None:
    lines = records(repo)
    digits = len(repo.commits[0])
    odd = {
        "cut": repo.commits[0].encode(),
        "junk": b"junk\n",
        "blank": b"\n",
        "peeled twice": b"^" + lines[0][:digits] + b"\n",
        "no hex": b"x" * digits + b" refs/xyz\n",
    }
    data = write(repo, GIT_TRAITS, [*lines[:-1], odd[damage], lines[-1]])
    with pytest.raises(CorruptError):
        delete(repo, "refs/heads/b")
    assert (repo.gitdir / "packed-refs").read_bytes() == data
    assert not [path for path in repo.gitdir.rglob("*") if path.name.endswith((".lock", ".new"))]
