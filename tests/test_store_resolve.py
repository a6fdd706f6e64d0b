"""Following symbolic refs, and finding refs by short names: as far as git goes, and in its order."""

from __future__ import annotations

import itertools
import subprocess
import warnings
from pathlib import Path

import pytest
import refspan
from store_support import DANGLING, FORMATS, SAMPLES, Format, Repository, build, git_refs, sample, sample_name, told
from support import git


@pytest.fixture(params=FORMATS)
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    refs: Format = request.param
    return build(tmp_path, refs)


@pytest.fixture(params=SAMPLES, ids=sample_name)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Each worktree of each repository with refs of all kinds."""
    return sample(tmp_path_factory.getbasetemp(), request.param)


def git_oid(where: Repository, name: str) -> str | None:
    """The object that git says a ref of this full name leads to."""
    command = ["git", "rev-parse", "-q", "--verify", name]
    done = subprocess.run(command, cwd=where.path, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def resolved(where: Repository, name: str) -> str | None:
    """The same from refspan."""
    try:
        return where.store().resolve(name).oid
    except (refspan.RefNotFoundError, refspan.CorruptError):
        return None


def test_every_ref_leads_where_git_says(place: Repository) -> None:
    for ref in place.store().refs(root_refs=True):
        assert resolved(place, ref.name) == git_oid(place, ref.name)
    for name in (
        "FETCH_HEAD",
        "FOO",
        "main-worktree/HEAD",
        "worktrees/side/HEAD",
        "worktrees/detached/refs/bisect/bad",
    ):
        assert resolved(place, name) == git_oid(place, name)
        assert git_oid(place, name) is not None


def test_a_direct_ref_resolves_to_itself(repo: Repository) -> None:
    repo.create("refs/heads/main")
    store = repo.store()
    assert store.resolve("refs/heads/main") == store["refs/heads/main"]


def test_a_symbolic_ref_resolves_to_the_ref_at_its_end(repo: Repository) -> None:
    repo.create("refs/heads/main", at=1)
    repo.symref("refs/heads/a", "refs/heads/main")
    repo.symref("refs/heads/b", "refs/heads/a")
    store = repo.store()
    for name in ("HEAD", b"HEAD", "refs/heads/a", "refs/heads/b"):
        assert store.resolve(name) == store["refs/heads/main"]
    assert (store["refs/heads/b"].target, store["refs/heads/b"].oid) == ("refs/heads/a", None)


def test_git_gives_up_after_four_symbolic_refs(repo: Repository) -> None:
    repo.create("refs/heads/s0")
    for hops in range(1, 7):
        repo.symref(f"refs/heads/s{hops}", f"refs/heads/s{hops - 1}")
    store = repo.store()
    for hops in range(7):
        name = f"refs/heads/s{hops}"
        assert resolved(repo, name) == git_oid(repo, name) == (repo.commits[0] if hops < 5 else None)
        if hops >= 5:
            with pytest.raises(refspan.CorruptError):
                store.resolve(name)
    # Each is still a ref.
    assert [ref.target for ref in store] == [None, *(f"refs/heads/s{hops}" for hops in range(6))]
    assert all(ref.broken is None for ref in store)


@pytest.mark.parametrize("hops", range(7))
def test_a_chain_that_leads_nowhere_tells_what_is_missing(repo: Repository, hops: int) -> None:
    for hop in range(1, hops + 1):
        repo.symref(f"refs/heads/s{hop}", f"refs/heads/s{hop - 1}")
    expected = refspan.RefNotFoundError if hops < 5 else refspan.CorruptError
    with pytest.raises(expected) as caught:
        repo.store().resolve(f"refs/heads/s{hops}")
    if isinstance(caught.value, refspan.RefNotFoundError):
        assert caught.value.name == "refs/heads/s0"


@pytest.mark.parametrize("length", [1, 2, 3, 10])
def test_a_loop_ends(repo: Repository, length: int) -> None:
    names = [f"refs/heads/loop{at}" for at in range(length)]
    for name, target in zip(names, [*names[1:], names[0]], strict=True):
        repo.symref(name, target)
    store = repo.store()
    for name in names:
        with pytest.raises(refspan.CorruptError):
            store.resolve(name)
        with pytest.raises(refspan.RefNotFoundError):
            store.dwim(name)
    assert list(store.names()) == names
    assert all(ref.broken is None for ref in store)


def test_an_unborn_head_is_told_by_its_branch(repo: Repository) -> None:
    store = repo.store()
    assert store.head.target == "refs/heads/main"
    with pytest.raises(refspan.RefNotFoundError) as caught:
        store.resolve("HEAD")
    assert caught.value.name == "refs/heads/main"
    # Git means nothing by it either.
    assert git_oid(repo, "HEAD") is None
    with pytest.raises(refspan.RefNotFoundError):
        store.dwim("HEAD")
    repo.create("refs/heads/main")
    assert store.resolve("HEAD").oid == repo.commits[0]
    assert store.dwim("HEAD") == store.head


def test_a_symbolic_ref_may_lead_out_of_refs(repo: Repository) -> None:
    repo.create("ORIG_HEAD", at=2)
    repo.symref("refs/heads/orig", "ORIG_HEAD")
    assert repo.store().resolve("refs/heads/orig") == repo.store()["ORIG_HEAD"]


def test_a_broken_ref_on_the_way_is_told(tmp_path: Path) -> None:
    repo = build(tmp_path)
    repo.loose("refs/heads/main", "garbage\n")
    with pytest.raises(refspan.CorruptError) as caught:
        repo.store().resolve("HEAD")
    assert caught.value.path.endswith("refs/heads/main")


def git_dwim(where: Repository, name: str) -> str:
    """The full name that git sees in a short one; of a symbolic ref the name at its end."""
    command = ["git", "-c", "core.warnAmbiguousRefs=false", "rev-parse", "--symbolic-full-name", name, "--"]
    done = subprocess.run(command, cwd=where.path, capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[0] if done.returncode == 0 else ""


RULES = ["{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD"]
# A branch of that name would be in the way of the last.
COMBINATIONS = [
    some for count in (1, 2, 6) for some in itertools.combinations(RULES, count) if not {*RULES[4:]} <= {*some}
]
COMBINATIONS += [tuple(RULES[:5]), tuple(RULES[1:4] + RULES[5:])]


@pytest.mark.parametrize("rules", COMBINATIONS, ids="+".join)
@pytest.mark.parametrize("refs", FORMATS)
def test_a_short_name_means_what_it_means_to_git(tmp_path: Path, refs: Format, rules: tuple[str, ...]) -> None:
    repo = build(tmp_path, refs)
    names = [rule.format("X") for rule in rules]
    repo.create(*names)
    store = repo.store()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ref = store.dwim("X")
    assert (ref.name, ref.oid) == (names[0], repo.commits[0])
    assert git_dwim(repo, "X") == names[0]
    assert [warning.category for warning in caught] == [UserWarning] * (len(names) > 1)
    if caught:
        # It points at the line that asked.
        assert caught[0].filename == __file__
        assert all(name in str(caught[0].message) for name in names[1:])


@pytest.mark.parametrize(
    "name",
    [
        *["main", "heads/main", "refs/heads/main", "origin", "origin/main", "remotes/origin", "stash", "v1", "tags/v1"],
        *[
            "alias",
            "HEAD",
            "ORIG_HEAD",
            "FETCH_HEAD",
            "bisect/bad",
            "main-worktree/HEAD",
            "worktrees/side/HEAD",
            "none",
        ],
        *["packed-nested", "deep/branch", "deep", "refs", "heads", "refs/heads", "dangling", "loop", "a/b"],
    ],
)
def test_short_names_of_all_kinds_mean_what_they_mean_to_git(place: Repository, name: str) -> None:
    store, expected = place.store(), git_oid(place, name)
    with warnings.catch_warnings():
        # There is a branch and a tag of this name.
        warnings.simplefilter("ignore" if name == "alias" else "error")
        if expected is None:
            with pytest.raises(refspan.RefNotFoundError):
                store.dwim(name)
        else:
            ref = store.dwim(name)
            assert store[ref.name] == ref
            assert store.resolve(ref.name).oid == expected
            assert store.resolve(ref.name).name == git_dwim(place, name)


@pytest.mark.parametrize("name", ["config", "description", "hooks", "objects", "refs", "logs", "info/exclude"])
def test_what_else_is_in_the_git_directory_is_not_meant(repo: Repository, name: str) -> None:
    assert git_oid(repo, name) is None
    with pytest.raises(refspan.RefNotFoundError):
        repo.store().dwim(name)
    repo.create(f"refs/heads/{name}")
    assert repo.store().dwim(name).name == f"refs/heads/{name}" == git_dwim(repo, name)


def test_what_leads_nowhere_does_not_count(repo: Repository) -> None:
    repo.symref("refs/tags/x", "refs/tags/nowhere")
    repo.symref("refs/remotes/x/HEAD", "refs/remotes/x/nowhere")
    with pytest.raises(refspan.RefNotFoundError):
        repo.store().dwim("x")
    repo.create("refs/heads/x")
    assert repo.store().dwim("x").name == "refs/heads/x" == git_dwim(repo, "x")


def test_a_symbolic_ref_is_meant_as_it_is(repo: Repository) -> None:
    repo.create("refs/remotes/origin/main")
    repo.symref("refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    ref = repo.store().dwim("origin")
    assert (ref.name, ref.target) == ("refs/remotes/origin/HEAD", "refs/remotes/origin/main")


def test_dangling_refs_are_listed_beside_those_of_git(place: Repository) -> None:
    listed = told(place.store())
    assert {*listed} - {*git_refs(place)} == {*DANGLING}
    for name, _, target in DANGLING:
        assert git("symbolic-ref", "--no-recurse", name, cwd=place.path).decode().strip() == target
