"""Selecting among a repository's refs: what `git for-each-ref` shows for the same patterns, in every storage alike."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
import refspan
from hypothesis import given
from hypothesis import strategies as st
from reftable_support import needs_reftables
from store_support import DANGLING, SAMPLES, Repository, build, encode, git_names, git_refs, sample, sample_name, told

NAMES = [
    "refs/heads/Main",
    "refs/heads/a-b",
    "refs/heads/a]b",
    "refs/heads/a{b}",
    "refs/heads/ba",
    "refs/heads/ba-r",
    "refs/heads/ba.r",
    "refs/heads/ba0",
    "refs/heads/bar",
    "refs/heads/d/e/f",
    "refs/heads/foo-bar",
    "refs/heads/foo/bar",
    "refs/heads/foo/bar2",
    "refs/heads/größe",
    "refs/heads/l\udce9x",
    "refs/heads/main",
    "refs/heads/v1",
    "refs/heads/v1.0",
    "refs/notes/commits",
    "refs/remotes/o/main",
    "refs/stash",
    "refs/tags/v1",
]
ROOTS = ["AUTO_MERGE", "ORIG_HEAD"]

PATTERNS = [
    *["refs", "refs/", "refs/heads", "refs/heads/", "refs/heads/main", "refs/heads/main/", "refs/he", "refs/heads/foo"],
    *["refs/heads/foo/", "refs/heads/foo//", "refs//heads", "/refs/heads", "heads/main", "main", "refs/heads/MAIN"],
    *["HEAD", "ORIG_HEAD", "*", "*_HEAD", "?*", "**", "***", "refs/*", "refs/**", "refs/*/", "refs/**/", "re*"],
    *["refs/heads/*", "refs/heads/**", "refs/heads/ma*", "refs/heads/*in", "refs/heads/*a*", "refs/heads/*/"],
    *["**/main", "*/main", "*/*/main", "refs/**/main", "refs/*/main", "refs/**/**/main", "refs/heads/**/bar", "**/f"],
    *["refs/heads/**bar", "refs/heads/*bar", "refs/heads/d/**/f", "refs/heads/d/*/f", "refs/heads/d/**/e/f", "**main"],
    *["refs/heads/d**f", "refs/heads/d/**", "refs/heads/**/f", "refs/heads/d/e/f/**", "refs/**/v1*", "refs/*/v1*"],
    *["refs/heads/ba?", "refs/heads/ba?r", "refs/heads/foo?bar", "refs/heads/foo*bar", "refs/heads/???", "?efs/stash"],
    *["refs/heads/[a-m]*", "refs/heads/[!a-m]*", "refs/heads/[^a-m]*", "refs/heads/[m-a]*", "refs/heads/[[:upper:]]*"],
    *["refs/heads/[[:nosuch:]]*", "refs/heads/ba[-.]r", "refs/heads/ba[.-]r", "refs/heads/ba[!-]r", "refs/heads/[a-"],
    *[
        "refs/heads/[",
        "refs/heads/[]",
        "refs/heads/[]a]",
        "refs/heads/a[]]b",
        "refs/heads/a[]-]b",
        "refs/heads/a[]-a]b",
    ],
    *[
        "refs/heads/foo[/]bar",
        "refs/heads/[f]oo/*",
        "refs/[h]eads",
        "refs/[ht]*/v1",
        "refs/heads/ba[[:digit:][:alpha:]]",
    ],
    *[
        "refs/heads/b\\ar",
        "refs/heads/b\\a*",
        "refs/heads/\\*",
        "refs/heads/main\\",
        "refs/heads/*\\",
        "refs/heads/\\[",
    ],
    *["refs/heads/a\\]b", "refs/heads/[\\m]ain", "refs/heads/a{b}", "refs/heads/{main,ba}", "\\refs/heads/main"],
    *["refs/heads/größe", "refs/heads/gr????e", "refs/heads/gr??e", "refs/heads/*ö*", "refs/heads/gr[ö]*"],
    *["refs/heads/l\udce9x", "refs/heads/l?x", "refs/heads/l[\udc80-\udcff]x", "refs/heads/\udce9*"],
]


def _stored(path: Path, how: str) -> Repository:
    repo = build(path, "reftable" if how == "reftable" else "files", bare=True)
    repo.create(*NAMES, *ROOTS)
    repo.symref("HEAD", "refs/heads/main")
    if how != "loose":
        repo.git("pack-refs", "--all")
    if how == "mixed":
        # Every third one moves on, hence into a loose file.
        repo.create(*NAMES[::3], at=1)
    return repo


@pytest.fixture(scope="module", params=["loose", "packed", "mixed", pytest.param("reftable", marks=needs_reftables)])
def repo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """The same refs, stored in every way. Not to be changed."""
    return _stored(tmp_path_factory.mktemp("select") / request.param, request.param)


@pytest.fixture(scope="module")
def loose(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """The repository to ask git about: in others it excludes too much, before 2.48."""
    return _stored(tmp_path_factory.mktemp("select") / "oracle", "loose")


def names(refs: Iterator[refspan.Ref]) -> list[str]:
    return [ref.name for ref in refs]


@pytest.mark.parametrize("pattern", PATTERNS, ids=ascii)
def test_a_glob_selects_what_git_shows(repo: Repository, pattern: str) -> None:
    store = repo.store()
    assert names(store.refs(glob=pattern)) == git_names(repo, "--", pattern)
    assert names(store.refs(glob=encode(pattern), root_refs=True)) == git_names(
        repo, "--include-root-refs", "--", pattern
    )


@pytest.mark.parametrize("pattern", PATTERNS, ids=ascii)
def test_an_exclusion_leaves_out_what_git_leaves_out(repo: Repository, loose: Repository, pattern: str) -> None:
    store = repo.store()
    assert names(store.refs(exclude=[pattern])) == git_names(loose, f"--exclude={pattern}")
    assert names(store.refs(exclude=[encode(pattern)], root_refs=True)) == git_names(
        loose, "--include-root-refs", f"--exclude={pattern}"
    )


def test_several_exclusions_add_up(repo: Repository, loose: Repository) -> None:
    store = repo.store()
    for some in itertools.combinations(["refs/heads/ba", "refs/heads/foo", "refs/tags/", "**/v1*", "refs/s"], 3):
        expected = git_names(loose, *(f"--exclude={pattern}" for pattern in some))
        assert names(store.refs(exclude=some)) == expected
        assert names(store.refs(exclude=reversed(some))) == expected
    assert names(store.refs(exclude=())) == names(store.refs(exclude=[""])) == NAMES


PREFIXES = ["", "r", "refs", "refs/", "refs/heads", "refs/heads/", "refs/heads/b", "refs/heads/ba", "refs/heads/ba-"]
PREFIXES += ["refs/heads/bar", "refs/heads/foo/", "refs/heads/foo", "refs/heads/v1", "refs/heads/v1.0", "refs/heads/l"]
PREFIXES += ["refs/heads/l\udce9", "refs/heads/gr\udcc3", "refs/heads/main/", "refs/t", "refs/x", "s", "H", "ORIG", "*"]


@pytest.mark.parametrize("prefix", PREFIXES, ids=ascii)
def test_a_prefix_is_plain_bytes(repo: Repository, prefix: str) -> None:
    store = repo.store()
    raw = encode(prefix)
    expected = [name for name in NAMES if encode(name).startswith(raw)]
    assert names(store.refs(prefix)) == names(store.refs(prefix=raw)) == expected
    assert list(store.names(prefix)) == expected
    roots = [name for name in (ROOTS[0], "HEAD", ROOTS[1]) if encode(name).startswith(raw)]
    assert names(store.refs(memoryview(raw), root_refs=True)) == roots + expected


STARTS = [*NAMES, "", "HEAD", "refs", "refs/", "refs/heads/a", "refs/heads/foo", "refs/heads/foo/", "refs/heads/foo/c"]
STARTS += ["refs/heads/zz", "refs/heads/\udcff", "refs/remotes", "refs/zz", "z", "ORIG_HEAD", "refs/heads/main/x"]


@pytest.mark.parametrize("start", STARTS, ids=ascii)
def test_a_start_leaves_out_what_does_not_sort_after_it(repo: Repository, start: str) -> None:
    store = repo.store()
    everything = [ROOTS[0], "HEAD", ROOTS[1], *NAMES]
    later = [name for name in everything if encode(name) > encode(start)]
    assert names(store.refs(start_after=start, root_refs=True)) == later
    assert names(store.refs(start_after=encode(start))) == [name for name in later if "/" in name]


@given(
    st.sampled_from([None, *PREFIXES]),
    st.sampled_from([None, *PATTERNS]),
    st.lists(st.sampled_from(PATTERNS), max_size=2),
    st.sampled_from([None, *STARTS]),
    st.booleans(),
)
def test_limits_hold_together_as_alone(
    repo: Repository, prefix: str | None, glob: str | None, exclude: list[str], start: str | None, roots: bool
) -> None:
    store = repo.store()
    alone = [{*names(store.refs(exclude=[pattern], root_refs=roots))} for pattern in exclude]
    alone += [{*names(store.refs(prefix, root_refs=roots))}, {*names(store.refs(glob=glob, root_refs=roots))}]
    alone += [{*names(store.refs(start_after=start, root_refs=roots))}]
    together = store.refs(prefix, glob=glob, exclude=exclude, start_after=start, root_refs=roots)
    assert names(together) == [
        name for name in names(store.refs(root_refs=roots)) if all(name in some for some in alone)
    ]


@pytest.fixture(params=SAMPLES, ids=sample_name)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Each worktree of each repository with refs of all kinds."""
    return sample(tmp_path_factory.getbasetemp(), request.param)


@pytest.mark.parametrize("pattern", ["refs/heads", "refs/bisect/", "refs/*/a/b", "**/alias*", "refs/worktree", "*"])
def test_worktrees_and_symbolic_refs_are_selected_too(place: Repository, pattern: str) -> None:
    dangling = {ref.name for ref in DANGLING}
    store = place.store()
    selected = [ref for ref in told(store.refs(glob=pattern, root_refs=True)) if ref.name not in dangling]
    assert selected == git_refs(place, "--include-root-refs", "--", pattern)
    chosen = [ref for ref in told(store.refs(exclude=[pattern], root_refs=True)) if ref.name not in dangling]
    assert sorted(selected + chosen) == sorted(git_refs(place, "--include-root-refs"))


def test_dangling_symbolic_refs_are_selected_by_name(place: Repository) -> None:
    store = place.store()
    for ref in DANGLING:
        assert told(store.refs(ref.name)) == told(store.refs(glob=ref.name)) == [ref]
        assert ref.name not in names(store.refs(exclude=[ref.name]))
    assert not {ref.name for ref in DANGLING} & {*names(store.refs(glob="refs/tags"))}
