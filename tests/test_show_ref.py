"""`refspan show-ref` has the text, exit code and complaints of `git show-ref`; then `refspan digest` and `diff`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import refspan
from store_support import FORMATS, LATIN1, SAMPLES, Format, Repository, build, encode, sample, sample_name
from support import Builder, Ref, write_packed

MODULE = [sys.executable, "-m", "refspan"]
Done = tuple[int, bytes, list[bytes]]

# What all options are tried on, each of which takes a new process.
CHOSEN = [("files", "sha1", "side"), ("reftable", "sha256", "main")]

LISTINGS = """
-d|--deref|--head|--head -d|--no-head|--head --no-head|--no-head --head|-d --no-dereference
--tags|--branches|--heads|--tags --branches|--tags --heads -d|--tags --no-tags|--tag -d
-s|--hash|--hash=10|--hash=3|--hash=0|--hash=100|-s10|-s -d|-s --abbrev=9 --hash|--hash=x
--abbrev|--abbrev=8|--abbrev=-1|--abbrev=99|--no-abbrev|--hash=7 --abbrev=9|-s --abbrev=9
-q|-q -d|-q --no-quiet|--quiet none
main|heads/main|refs/heads/main|light packed none|-d packed|main -d|-- main|/main|ain|refs|heads/|HEAD
--head main|--head none|--head HEAD|--head --tags packed|--tags main|none|-s main|d/e|bad|refs/bisect/bad
--bogus|-z|--hash 10
"""
EXACT = """
--verify refs/heads/main|--verify HEAD|--verify -d refs/tags/loose-nested|--verify -s HEAD|--verify --hash=9 HEAD
--verify refs/heads/main HEAD refs/heads/alias|--verify refs/heads/main refs/heads/none refs/tags/light
--verify main|--verify -q refs/heads/none|-q --verify HEAD|--verify refs/heads/dangling|--verify refs/heads/self
--verify ORIG_HEAD FOO|--verify refs/bisect/bad|--verify worktrees/side/HEAD|--verify main-worktree/HEAD
--verify FETCH_HEAD|--verify refs/heads/a..b|--verify refs/heads|--verify|--verify -- refs/heads/main
--exists refs/heads/main|--exists HEAD|--exists refs/heads/none|--exists refs/heads|--exists refs/heads/a
--exists refs/heads/dangling|--exists refs/heads/main/below|--exists FETCH_HEAD|--exists main|--exists ../config
--exists worktrees/side/refs/bisect/bad|--exists main-worktree/HEAD|--exists refs/heads/a..b|--exists|--exists HEAD FOO
--exists --verify HEAD|--exclude-existing --verify HEAD|--exclude-existing --exists HEAD
"""


def options(text: str) -> list[list[str]]:
    return [option.split() for line in text.split("\n") for option in line.split("|") if option]


def run(command: list[str], stdin: bytes = b"") -> Done:
    """The exit code, the output, and the complaints without who makes them and how loud."""
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=60, check=False)
    lines = [re.sub(rb"^(fatal|error|warning|refspan): ", b"", line) for line in done.stderr.split(b"\n")[:-1]]
    if done.returncode == 129:
        # How a command is to be used everybody says in words of their own.
        assert done.stderr
        lines = []
    return done.returncode, done.stdout, [line.replace(b"refspan show-ref", b"git show-ref") for line in lines]


def ours(where: Path, *args: str, stdin: bytes = b"") -> Done:
    return run([*MODULE, "-C", str(where), "show-ref", *args], stdin)


def gits(where: Path, *args: str, stdin: bytes = b"") -> Done:
    return run(["git", "-C", str(where), "show-ref", *args], stdin)


@pytest.fixture(params=[place for place in SAMPLES if place.values[0] in CHOSEN], ids=sample_name)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A linked worktree in files, a main one in a reftable."""
    return sample(tmp_path_factory.getbasetemp(), request.param)


@pytest.fixture(params=SAMPLES, ids=sample_name)
def anywhere(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Each worktree of each repository with refs of all kinds."""
    return sample(tmp_path_factory.getbasetemp(), request.param)


@pytest.mark.parametrize("args", [[], *options("-d --head|--verify HEAD refs/bisect/bad ORIG_HEAD")], ids=" ".join)
def test_every_worktree_is_shown_as_by_git(anywhere: Repository, args: list[str]) -> None:
    code, out, errors = gits(anywhere.path, *args)
    assert (code, errors) == (0, [])
    assert ours(anywhere.path, *args) == (code, out, errors)


@pytest.mark.parametrize("args", options(LISTINGS), ids=" ".join)
def test_listings_are_those_of_git(place: Repository, args: list[str]) -> None:
    assert ours(place.path, *args) == gits(place.path, *args)


@pytest.mark.parametrize("args", options(EXACT), ids=" ".join)
def test_single_refs_are_shown_as_by_git(place: Repository, args: list[str]) -> None:
    assert ours(place.path, *args) == gits(place.path, *args)


@pytest.mark.parametrize("pattern", ["", "=refs/heads", "=refs/heads/", "=none", "="])
@pytest.mark.parametrize("last", [b"", b"\n"], ids=["cut", "terminated"])
def test_the_refs_that_are_not_there_are_those_of_git(place: Repository, pattern: str, last: bytes) -> None:
    lines = [b"refs/heads/main", b"refs/heads/new", b"x refs/heads/a", b"x y refs/heads/b", b"refs/tags/light^{}"]
    lines += [b"refs/tags/new^{}", b"a..b", b"refs/heads/a..b", b"", b"main", b"heads/c", b"HEAD", b"refs/heads/\xe9"]
    stdin = b"\n".join(lines) + last
    option = f"--exclude-existing{pattern}"
    assert ours(place.path, option, stdin=stdin) == gits(place.path, option, stdin=stdin)


@pytest.mark.parametrize("where", [".git", ".git/refs"])
def test_it_may_run_anywhere_in_a_repository(tmp_path: Path, where: str) -> None:
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/main")
    assert ours(repo.path / where, "--head") == gits(repo.path / where, "--head")


def test_outside_of_a_repository_it_fails_as_git_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    code, out, errors = ours(tmp_path)
    assert (code, out) == gits(tmp_path)[:2] == (128, b"")
    assert len(errors) == 1
    assert b"not a git repository" in errors[0]


def test_git_dir_counts_as_for_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = build(tmp_path / "here"), build(tmp_path / "there")
    here.create("refs/heads/here")
    there.create("refs/heads/there")
    monkeypatch.setenv("GIT_DIR", str(there.gitdir))
    shown = ours(here.path)
    assert shown == gits(here.path)
    assert shown[1].endswith(b" refs/heads/there\n")


@pytest.mark.parametrize("refs", FORMATS)
def test_without_refs_nothing_is_shown(tmp_path: Path, refs: Format) -> None:
    path = build(tmp_path / "repo", refs).path
    for args in ([], ["--head"], ["-q"], ["--verify", "HEAD"], ["--exists", "HEAD"]):
        assert ours(path, *args) == gits(path, *args)


@pytest.mark.parametrize("option", ["--abbrev=4", "--hash=4", "--abbrev=5", "--abbrev", "--hash=4 -d"])
def test_object_ids_stay_unambiguous(repository: Builder, option: str) -> None:
    # 500 objects: some share their first four digits.
    repo = repository(1000)
    code, out, errors = gits(repo, *option.split())
    lengths = {len(line.split()[0]) for line in out.splitlines()}
    assert option == "--abbrev" or len(lengths) > 1 or "5" in option
    assert ours(repo, *option.split()) == (code, out, errors)


@pytest.mark.parametrize("value", ["4", "12", "no", "auto"])
def test_the_configuration_says_how_short_object_ids_are(tmp_path: Path, value: str) -> None:
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/main")
    repo.git("config", "core.abbrev", value)
    for option in ("--abbrev", "--hash", "--abbrev=9"):
        assert ours(repo.path, option) == gits(repo.path, option)


def lose(repo: Repository, oid: str) -> None:
    (repo.gitdir / "objects" / oid[:2] / oid[2:]).unlink()


@pytest.mark.parametrize("refs", FORMATS)
@pytest.mark.parametrize(
    "args", [[], *options("-d|-q|--tags|lost|main|--verify refs/heads/lost|--verify -q refs/heads/lost")], ids=" ".join
)
def test_a_missing_object_is_fatal_as_for_git(tmp_path: Path, refs: Format, args: list[str]) -> None:
    repo = build(tmp_path / "repo", refs)
    repo.create("refs/heads/kept", "refs/heads/main", "refs/tags/light")
    repo.create("refs/heads/lost", at=1)
    lose(repo, repo.commits[1])
    assert ours(repo.path, *args) == gits(repo.path, *args)
    assert ours(repo.path, "--exists", "refs/heads/lost")[0] == 0


@pytest.mark.parametrize("refs", FORMATS)
@pytest.mark.parametrize("packed", [False, True])
def test_a_tag_of_a_missing_object_is_peeled_as_far_as_by_git(tmp_path: Path, refs: Format, packed: bool) -> None:
    repo = build(tmp_path / "repo", refs)
    repo.tag("one", repo.commits[1])
    oid = repo.tag("two", "refs/tags/one")
    if packed:
        repo.git("pack-refs", "--all")
    lose(repo, repo.commits[1])
    assert ours(repo.path, "-d") == gits(repo.path, "-d")
    lose(repo, oid)
    assert ours(repo.path, "-d") == gits(repo.path, "-d")


CONTENTS = ["", "junk\n", "\0" * 41, "%(zero)s\n", "%(oid)sx\n", " %(oid)s\n"]


@pytest.mark.parametrize(
    ("name", "content"),
    [*(("m", content) for content in CONTENTS), ("m..m", "%(oid)s\n"), ("m ", "%(oid)s\n"), ("m@{", "junk\n")],
)
def test_a_broken_ref_is_fatal_as_for_git(tmp_path: Path, name: str, content: str) -> None:
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/main", "refs/heads/l", "refs/tags/light")
    full = f"refs/heads/{name}"
    repo.loose(full, content % {"oid": repo.commits[1], "zero": "0" * 40})
    for args in ([], ["--tags"], ["--verify", full], ["--exists", full]):
        assert ours(repo.path, *args) == gits(repo.path, *args)


@pytest.mark.parametrize("content", ["ref: refs/heads/m\n", "ref: refs/heads/a..b\n", "ref:\n", "ref: ../config\n"])
def test_a_symbolic_ref_to_nothing_is_left_out_as_by_git(tmp_path: Path, content: str) -> None:
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/main")
    repo.loose("refs/heads/m", content)
    for args in ([], ["--verify", "refs/heads/m"], ["--exists", "refs/heads/m"]):
        assert ours(repo.path, *args) == gits(repo.path, *args)


@pytest.mark.parametrize("name", [b"refs/heads/m..m", b"refs/heads/m\r", b"refs/heads/m "])
def test_a_broken_name_in_packed_refs_is_fatal_as_for_git(tmp_path: Path, name: bytes) -> None:
    repo = build(tmp_path / "repo")
    oid = repo.commits[0].encode()
    names = [b"refs/heads/l", name, b"refs/heads/n", b"refs/tags/t"]
    write_packed(repo.gitdir / "packed-refs", [Ref(name, oid, None) for name in names])
    for args in ([], ["--tags"], ["n"]):
        assert ours(repo.path, *args) == gits(repo.path, *args)


def test_a_damaged_packed_refs_file_is_fatal_as_for_git(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo")
    (repo.gitdir / "packed-refs").write_bytes(b"# pack-refs with: sorted \nx\n%s refs/heads/m\n" % (b"1" * 40))
    code, out, errors = ours(repo.path)
    assert (code, out) == gits(repo.path)[:2] == (128, b"")
    assert len(errors) == 1
    assert b"packed-refs:2: " in errors[0]


def command(where: Path, *args: str | Path) -> tuple[int, bytes]:
    """The exit code and the output of a command of our own, which must not complain."""
    done = subprocess.run([*MODULE, "-C", str(where), *args], capture_output=True, timeout=60, check=False)
    assert done.stderr == b""
    return done.returncode, done.stdout


def test_digest_prints_the_digest_of_a_worktree(place: Repository) -> None:
    store = place.store()
    assert command(place.path, "digest") == (0, f"{store.digest()}\n".encode())
    assert command(place.path, "digest", "--reflogs") == (0, f"{store.digest(reflogs=True)}\n".encode())


@pytest.fixture(params=FORMATS)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Repository, Repository]:
    """Two repositories, one in files, of which the second has two refs more, one less and one elsewhere."""
    a, b = build(tmp_path / "a"), build(tmp_path / "b", request.param)
    a.create("refs/heads/main", "refs/heads/old", "refs/tags/same")
    b.create("refs/tags/new", "refs/tags/same", LATIN1)
    b.create("refs/heads/main", at=1)
    return a, b


def test_diff_prints_a_line_for_each_change(pair: tuple[Repository, Repository]) -> None:
    a, b = pair
    code, out = command(a.path.parent, "diff", "a", "b")
    assert code == 1
    changes = [encode(f"{change.kind} {change.name}") for change in refspan.diff(a.store(), b.store())]
    assert [line.split(b" ")[:2] for line in out.splitlines()] == [change.split(b" ") for change in changes]
    assert f"create refs/tags/new {b.commits[0]}".encode() in out.splitlines()


def test_diff_prints_a_json_object_for_each_change(pair: tuple[Repository, Repository]) -> None:
    a, _ = pair
    first, second, _ = a.commits
    code, out = command(a.path.parent, "diff", "a", "b", "--json")
    assert code == 1
    changes: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines()]
    assert [[change[key] for key in ("name", "kind", "before", "after")] for change in changes] == [
        [LATIN1, "create", None, first],
        ["refs/heads/main", "update", first, second],
        ["refs/heads/old", "delete", first, None],
        ["refs/tags/new", "create", None, first],
    ]


def test_diff_of_equals_prints_nothing(pair: tuple[Repository, Repository]) -> None:
    for repo, args in zip(pair, ([], ["--json"]), strict=True):
        assert command(repo.path, "diff", ".", repo.path, *args) == (0, b"")


def test_diff_takes_single_files_too(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/main", "refs/heads/b")
    repo.git("pack-refs", "--all")
    packed = repo.gitdir / "packed-refs"
    assert command(tmp_path, "diff", repo.path, packed) == (0, b"")
    repo.create("refs/heads/b", at=1)
    assert command(tmp_path, "diff", packed, repo.path)[0] == 1
