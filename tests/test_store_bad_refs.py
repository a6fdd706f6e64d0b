"""Refs that cannot be used: listed as what they are, found by name as listed, and in nobody's way."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import refspan
from refspan import CorruptError
from reftable_support import Row, needs_reftables, write_table
from store_models import broken, read, simple
from store_support import Repository, Told, build, encode, told
from support import HASHES, Hash, Ref, write_packed

NAME = "refs/heads/x"


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A repository in files with a packed ref, a loose one, and one that is both."""
    return simple(tmp_path / "repo")


DIRECT = ["%s", "%s\n", "%s\r\n", "%s garbage\n", "%s\tx", "%s\n\n", "%s\0junk", "%s\0", "%s \0"]
SYMBOLIC = ["ref: {}\n", "ref:{}", "ref:\t{}\r\n", "ref: {}  \n\n", "ref:\n\n{}", "ref: {}\0junk", "ref: {}\0\t"]
NEITHER = [
    "%s\v",
    "%s\f\n",
    "%sx\n",
    "%s\x80",
    " %s\n",
    "\n%s\n",
    "\ufeff%s\n",
    "",
    "\n",
    "\0" * 41,
    "x" * 41,
    "%s%s\n",
]
NEITHER += [" ref: {}", "REF: {}", "ref : {}", "gitdir: {}", "<<<<<<< HEAD\n%s\n=======\n%s\n>>>>>>>\n", "\0%s", "ref"]
UNFIT = [
    "{} garbage\n",
    "",
    " \n",
    "refs/heads/a..b",
    "../x",
    "/{}",
    "{}\nref: {}",
    "{}/",
    "{}.lock",
    "refs//heads/main",
]


def spell(content: str, repo: Repository) -> str:
    return content.replace("%s", repo.commits[2]).replace("{}", "refs/heads/main")


def git_says(repo: Repository) -> tuple[str, str]:
    """The object id and the target that git finds."""
    commands = (["rev-parse", "-q", "--verify", NAME], ["symbolic-ref", "-q", "--no-recurse", NAME])
    done = [subprocess.run(["git", *command], cwd=repo.path, capture_output=True, check=False) for command in commands]
    return done[0].stdout.decode().removesuffix("\n"), done[1].stdout.decode().removesuffix("\n")


@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("content", DIRECT)
def test_an_object_id_ends_at_a_space_or_a_nul(tmp_path: Path, content: str, hash_: Hash) -> None:
    repo = build(tmp_path / "repo", "files", hash_)
    for oid in (repo.commits[2], repo.commits[2].upper()):
        repo.loose(NAME, content.replace("%s", oid))
        assert told(read(repo).values()) == [Told(NAME, repo.commits[2])]
        assert git_says(repo) == (repo.commits[2], "")


@pytest.mark.parametrize("content", SYMBOLIC)
def test_a_symbolic_ref_may_have_space_around_its_target(repo: Repository, content: str) -> None:
    repo.loose(NAME, spell(content, repo))
    assert broken(repo, NAME) is None
    assert told([repo.store()[NAME]]) == [Told(NAME, target="refs/heads/main")]
    assert git_says(repo) == (repo.commits[1], "refs/heads/main")


@pytest.mark.parametrize("content", NEITHER)
def test_other_content_is_broken(repo: Repository, content: str) -> None:
    repo.loose(NAME, spell(content, repo))
    assert broken(repo, NAME) == "bad content"
    assert told([repo.store()[NAME]]) == [Told(NAME)]
    assert git_says(repo) == ("", "")


@pytest.mark.parametrize("target", UNFIT)
def test_a_target_that_is_no_refname_is_broken(repo: Repository, target: str) -> None:
    repo.loose(NAME, spell(f"ref: {target}", repo))
    assert broken(repo, NAME) == "bad target"
    assert repo.store()[NAME].oid is None
    assert git_says(repo) == ("", repo.store()[NAME].target or "")


@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("end", ["", "\n", " x\n"])
def test_the_zero_object_id_is_broken(tmp_path: Path, end: str, hash_: Hash) -> None:
    repo = build(tmp_path / "repo", "files", hash_)
    repo.loose(NAME, "0" * len(repo.commits[0]) + end)
    assert read(repo)[NAME].broken == "zero oid"


def test_an_object_id_of_the_other_hash_is_broken(tmp_path: Path) -> None:
    for hash_, width in (("sha1", 64), ("sha256", 40)):
        repo = build(tmp_path / hash_, "files", "sha1" if hash_ == "sha1" else "sha256")
        repo.loose(NAME, "1" * width + "\n")
        assert read(repo)[NAME].broken == "bad content"


@pytest.mark.parametrize("content", ["", "\0" * 41, "junk\n", "0" * 40])
def test_nothing_packed_shows_through_a_broken_ref(repo: Repository, content: str) -> None:
    repo.loose("refs/heads/packed", content)
    assert broken(repo, "refs/heads/packed") in ("bad content", "zero oid")
    assert repo.commits[0] not in (
        repo.store()["refs/heads/packed"].oid,
        repo.store().snapshot()["refs/heads/packed"].oid,
    )


@pytest.mark.parametrize("size", [5_000_000])
def test_long_files_are_read_as_short_ones(repo: Repository, size: int) -> None:
    repo.loose(NAME, repo.commits[0] + " " * size)
    assert broken(repo, NAME) is None
    repo.loose(NAME, repo.commits[0] + "x" * size)
    assert broken(repo, NAME) == "bad content"
    lines = f"{repo.commits[1]}\tnot-for-merge\tbranch 'x'\n" * (size // 60)
    for pseudo in ("FETCH_HEAD", "MERGE_HEAD"):
        repo.loose(pseudo, lines)
        assert repo.store()[pseudo].oid == repo.commits[1]


BAD_NAMES = [
    "a..b",
    "a b",
    "~",
    "a^",
    "a:b",
    "a?",
    "a*",
    "a[",
    "a\\b",
    "a@{b",
    "a.",
    "\x7f",
    "\x01",
    "main 2",
    "a..\udce9",
]


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
def test_a_bad_name_is_listed_as_such(repo: Repository, name: str, packed: bool) -> None:
    name = f"refs/heads/{name}"
    if packed:
        names = sorted([b"refs/heads/main", b"refs/heads/packed", encode(name)])
        write_packed(repo.gitdir / "packed-refs", [Ref(name, repo.commits[0].encode(), None) for name in names])
    else:
        repo.loose(name, f"{repo.commits[0]}\n")
    assert broken(repo, name) == "bad name"
    assert repo.store()[name].oid == repo.commits[0]
    with pytest.raises(refspan.Error):
        repo.store().resolve(name)


def test_a_badly_named_loose_ref_hides_the_packed_one(repo: Repository) -> None:
    name = "refs/heads/b..b"
    write_packed(repo.gitdir / "packed-refs", [Ref(encode(name), repo.commits[0].encode(), None)])
    repo.loose(name, f"{repo.commits[2]}\n")
    assert [ref.oid for ref in repo.store() if ref.name == name] == [repo.commits[2]]
    assert repo.store()[name].oid == repo.commits[2]


def test_an_unsafe_name_in_packed_refs_is_listed_as_such(repo: Repository) -> None:
    names = [b"refs/../config", b"refs/heads/../x", b"refs/heads/main", b"refs/heads/packed"]
    write_packed(repo.gitdir / "packed-refs", [Ref(name, repo.commits[0].encode(), None) for name in names])
    refs = {ref.name: ref for ref in repo.store()}
    assert [name for name, ref in refs.items() if ref.broken] == ["refs/../config", "refs/heads/../x"]
    assert {ref.broken for ref in refs.values()} == {None, "unsafe name"}
    assert all(repo.store().get(name) in (ref, None) for name, ref in refs.items())


def test_a_name_in_two_packed_lines_is_listed_as_such(repo: Repository) -> None:
    refs = [Ref(b"refs/heads/twice", oid.encode(), None) for oid in repo.commits[:2]]
    write_packed(repo.gitdir / "packed-refs", refs)
    assert [ref.broken for ref in repo.store() if ref.name == "refs/heads/twice"] == ["duplicate"]
    with pytest.raises(CorruptError):
        repo.store().get("refs/heads/twice")
    repo.create("refs/heads/twice", at=2)
    assert [ref.oid for ref in repo.store() if ref.name == "refs/heads/twice"] == [repo.commits[2]]
    assert repo.store()["refs/heads/twice"].broken is None


@needs_reftables
def test_broken_records_of_a_table_are_listed_as_such(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo", "reftable")
    oid = repo.commits[0].encode()
    rows = [Row(b"HEAD", target=b"refs/heads/main"), Row(b"refs/heads/a..b", oid), Row(b"refs/heads/main", oid)]
    rows += [
        Row(b"refs/heads/target", target=b"refs/heads/b..c"),
        Row(b"refs/heads/zero", b"0" * 40),
        Row(b"refs/../x", oid),
    ]
    (table,) = (repo.gitdir / "reftable").glob("*.ref")
    write_table(table, rows)
    refs = {ref.name: ref for ref in repo.store()}
    assert {name: ref.broken for name, ref in refs.items()} == {
        "refs/../x": "unsafe name",
        "refs/heads/a..b": "bad name",
        "refs/heads/main": None,
        "refs/heads/target": "bad target",
        "refs/heads/zero": "zero oid",
    }
    assert all(repo.store().get(name) == ref for name, ref in refs.items() if ref.broken != "unsafe name")
