"""Reading a repository's refs: all of them, and each by its name, as git has them, whatever the format and worktree."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import pytest
import refspan
from store_support import (
    DANGLING,
    FORMATS,
    LATIN1,
    LOOK_ALIKES,
    SAMPLES,
    WORKTREES,
    Format,
    Repository,
    Told,
    build,
    by_name,
    encode,
    git_refs,
    git_target,
    sample,
    sample_name,
    told,
)
from support import git_listing


@pytest.fixture(params=SAMPLES, ids=sample_name)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Each worktree of each repository with refs of all kinds."""
    return sample(tmp_path_factory.getbasetemp(), request.param)


def all_refs(place: Repository, *args: str) -> list[Told]:
    """What git lists, and what it leaves out because it leads nowhere."""
    return by_name([*git_refs(place, *args), *DANGLING])


def test_refs_are_those_that_git_lists(place: Repository) -> None:
    store = place.store()
    expected = all_refs(place)
    assert told(store) == told(store.refs()) == expected
    assert list(store.names()) == [ref.name for ref in expected]
    assert len(store) == len(expected)
    assert bool(store) is True
    assert all(ref.broken is None for ref in store)


def test_root_refs_come_first_when_asked_for(place: Repository) -> None:
    store = place.store()
    listed = told(store.refs(root_refs=True))
    assert listed == all_refs(place, "--include-root-refs")
    roots = [ref for ref in listed if "/" not in ref.name]
    assert listed[: len(roots)] == roots
    assert {"AUTO_MERGE", "HEAD", "ORIG_HEAD"} <= {ref.name for ref in roots}


def test_every_ref_is_found_by_its_name(place: Repository) -> None:
    store = place.store()
    for ref in store.refs(root_refs=True):
        for name in (ref.name, encode(ref.name), memoryview(encode(ref.name)), ref):
            assert name in store
            assert store[name] == ref
            assert store.get(name) == ref
        assert hash(store[ref.name]) == hash(ref)


@pytest.mark.parametrize(
    "name",
    [
        "refs/heads/none",
        "refs/heads",
        "refs/heads/",
        "refs/heads/a",
        "refs/heads/main/below",
        "refs/heads/gone",
        "heads/main",
        "main",
        "NONE_HEAD",
        "refs/bisect/none",
        "worktrees/none/HEAD",
        # These are not names of refs in another worktree: nothing but those of its own is reached this way.
        "main-worktree/refs/heads/main",
        "worktrees/side/refs/heads/main",
    ],
)
def test_what_is_not_there_is_not_found(place: Repository, name: str) -> None:
    store = place.store()
    assert name not in store
    assert store.get(name) is None
    assert store.get(name, 5) == 5
    with pytest.raises(refspan.RefNotFoundError) as caught:
        store[name]
    assert caught.value.name == name


@pytest.mark.parametrize(
    "name", ["../config", "refs/heads/../heads/main", "refs//heads/main", "/refs/heads/main", "refs/heads/./main"]
)
def test_no_path_is_built_from_a_name_that_leads_elsewhere(place: Repository, name: str) -> None:
    store = place.store()
    # It may be refused, but never be taken for another one.
    with contextlib.suppress(refspan.RefNameError):
        assert name not in store


def test_peeled_values_are_those_of_git(place: Repository) -> None:
    # It spells names as bytes.
    peeled = {ref.name: ref.peeled and ref.peeled.decode() for ref in git_listing(place.path)}
    direct = [ref for ref in place.store() if ref.target is None]
    assert [ref.peeled for ref in direct] == [peeled[encode(ref.name)] for ref in direct]
    assert sum(ref.peeled is not None for ref in direct) == 8


def test_head_is_as_it_is(place: Repository) -> None:
    head = place.store().head
    if place.path.name == "detached":
        assert (head.oid, head.target) == (place.git("rev-parse", "HEAD"), None)
    else:
        assert (head.oid, head.target) == (None, git_target(place, "HEAD"))
    assert (head.name, head.broken) == ("HEAD", None)
    assert place.store()["HEAD"] == head


def test_an_unborn_head_is_a_ref(tmp_path: Path) -> None:
    store = build(tmp_path).store()
    assert (store.head.target, store.head.oid, store.head.broken) == ("refs/heads/main", None, None)
    assert told(store.refs(root_refs=True)) == [Told("HEAD", target="refs/heads/main")]
    assert (len(store), bool(store), list(store)) == (0, False, [])
    assert "HEAD" in store


def test_pseudorefs_are_found_by_name_but_not_listed(place: Repository) -> None:
    store = place.store()
    for name in ("FETCH_HEAD", "MERGE_HEAD"):
        # There are several object ids in each: the first counts.
        assert (store[name].oid, store[name].broken) == (place.git("rev-parse", name), None)
        assert name in store
        assert name not in {ref.name for ref in store.refs(root_refs=True)}


def test_a_ref_beside_refs_is_found_but_not_listed(place: Repository) -> None:
    store = place.store()
    assert (store["FOO"].oid, store["FOO"].broken) == (place.git("rev-parse", "FOO"), None)
    assert "FOO" not in {ref.name for ref in store.refs(root_refs=True)}


def test_each_worktree_shows_its_own_refs(place: Repository) -> None:
    names = list(place.store().names())
    others = [name for name in WORKTREES if name != place.path.name]
    for folder in ("bisect/good-", "worktree/", "rewritten/"):
        assert f"refs/{folder}{place.path.name}" in names
        assert not {f"refs/{folder}{other}" for other in others} & {*names}


def test_refs_of_other_worktrees_are_found_by_their_long_names(place: Repository) -> None:
    store = place.store()
    for where in WORKTREES:
        prefix = "main-worktree" if where == "main" else f"worktrees/{where}"
        for name in ("ORIG_HEAD", "FOO", "refs/bisect/bad", "refs/worktree/a/b", f"refs/rewritten/{where}"):
            ref = store[f"{prefix}/{name}"]
            assert (ref.name, ref.broken) == (f"{prefix}/{name}", None)
            assert ref.oid == place.git("rev-parse", f"{prefix}/{name}")
        head = store[f"{prefix}/HEAD"]
        assert head.broken is None
        if where == "detached":
            assert (head.oid, head.target) == (place.git("rev-parse", f"{prefix}/HEAD"), None)
        else:
            assert (head.oid, head.target) == (None, git_target(place, f"{prefix}/HEAD"))


def test_names_that_are_not_utf_8_go_out_and_come_back(place: Repository) -> None:
    store = place.store()
    assert LATIN1 in list(store.names())
    assert store[LATIN1] == store[encode(LATIN1)]
    assert encode(store[LATIN1].name) == b"refs/heads/latin1-\xe9"
    assert store["refs/heads/größe-\U0001f600"].oid == store[LATIN1].oid


@pytest.mark.parametrize("refs", FORMATS)
@pytest.mark.parametrize("at", range(32))
def test_look_alikes_are_listed_once_in_order_of_their_names(tmp_path: Path, refs: Format, at: int) -> None:
    """Each bit of `at` says of one of them whether it is in a loose file over its older packed value."""
    repo = build(tmp_path, refs)
    repo.create(*LOOK_ALIKES)
    repo.git("pack-refs", "--all")
    loose = [name for bit, name in enumerate(LOOK_ALIKES) if at >> bit & 1]
    repo.create(*loose, at=1)
    assert told(repo.store()) == [Told(name, repo.commits[name in loose]) for name in LOOK_ALIKES]


def test_a_loose_ref_hides_a_packed_one(tmp_path: Path) -> None:
    repo = build(tmp_path)
    repo.create("refs/heads/main")
    repo.tag("v1", repo.commits[0])
    repo.git("pack-refs", "--all")
    repo.create("refs/heads/main", "refs/tags/v1", at=1)
    store = repo.store()
    assert repo.commits[0] in (repo.gitdir / "packed-refs").read_text()
    assert told(store) == git_refs(repo) == told([store["refs/heads/main"], store["refs/tags/v1"]])
    # Nor does the peeled value of the packed one shine through.
    assert store["refs/tags/v1"].peeled is None


@pytest.mark.parametrize("below", ["", "below", "below/deep"])
def test_an_empty_folder_hides_no_packed_ref(tmp_path: Path, below: str) -> None:
    repo = build(tmp_path)
    repo.create("refs/heads/main", "refs/heads/other")
    repo.git("pack-refs", "--all")
    (repo.gitdir / "refs/heads/main" / below).mkdir(parents=True)
    store = repo.store()
    assert store["refs/heads/main"].oid == repo.commits[0]
    assert told(store) == git_refs(repo)


def test_refs_are_read_where_folders_are_missing(tmp_path: Path) -> None:
    repo = build(tmp_path / "main")
    repo.create("refs/heads/main")
    side = repo.worktree("side")
    repo.git("pack-refs", "--all")
    for folder in ("refs/heads", "refs/tags", "logs", "worktrees/side/refs"):
        shutil.rmtree(repo.gitdir / folder, ignore_errors=True)
    for where in (repo, side):
        assert told(where.store()) == git_refs(where)
        assert list(where.store().names()) == ["refs/heads/main", "refs/heads/side"]


@pytest.mark.parametrize("target", ["main", "../heads/main", "../../refs/heads/main", "{gitdir}/refs/heads/main"])
def test_a_link_to_the_file_of_a_ref_is_that_file(tmp_path: Path, target: str) -> None:
    repo = build(tmp_path)
    repo.create("refs/heads/main")
    link = repo.gitdir / "refs/heads/link"
    link.symlink_to(target.format(gitdir=repo.gitdir))
    assert told([repo.store()["refs/heads/link"]]) == [Told("refs/heads/link", repo.commits[0])]
    assert told(repo.store()) == git_refs(repo)


def test_a_link_that_spells_a_refname_is_a_symbolic_ref(tmp_path: Path) -> None:
    repo = build(tmp_path)
    # Below refs/heads/ the link leads to the file of another ref than the one that it names.
    repo.create("refs/heads/main")
    repo.create("refs/heads/refs/heads/main", at=1)
    (repo.gitdir / "refs/heads/link").symlink_to("refs/heads/main")
    expected = Told("refs/heads/link", target="refs/heads/main")
    assert git_target(repo, "refs/heads/link") == "refs/heads/main"
    assert told([repo.store()["refs/heads/link"]]) == [expected]
    assert told(repo.store()) == git_refs(repo)
    assert expected in git_refs(repo)


def test_git_itself_makes_links_that_are_symbolic_refs(tmp_path: Path) -> None:
    repo = build(tmp_path)
    repo.create("refs/heads/main", "refs/remotes/origin/main")
    repo.git("config", "core.preferSymlinkRefs", "true")
    for name, target in (("HEAD", "refs/heads/other"), ("refs/remotes/origin/HEAD", "refs/remotes/origin/main")):
        repo.symref(name, target)
        assert (repo.gitdir / name).is_symlink()
        assert repo.store()[name].target == git_target(repo, name) == target


def test_a_linked_folder_is_read_as_by_git(tmp_path: Path) -> None:
    repo = build(tmp_path)
    repo.create("refs/heads/main", "refs/tags/v1", "refs/tags/deep/v2")
    (repo.gitdir / "refs/heads/tags").symlink_to(os.fspath(repo.gitdir / "refs/tags"))
    assert told(repo.store()) == git_refs(repo)
    assert len(repo.store()) == 5


def test_per_worktree_refs_among_the_packed_ones_are_the_main_worktrees(tmp_path: Path) -> None:
    main = build(tmp_path / "main")
    main.create("refs/heads/main", "refs/tags/v1")
    side = main.worktree("side")
    main.git("pack-refs", "--all")
    packed = main.gitdir / "packed-refs"
    # As a migration leaves them.
    packed.write_text(packed.read_text().replace("refs/tags/v1", "refs/worktree/v1"))
    for where in (main, side):
        assert told(where.store()) == git_refs(where)
    assert "refs/worktree/v1" in [*main.store().names()]


def test_files_that_are_no_refs_are_passed_over(tmp_path: Path) -> None:
    repo = build(tmp_path)
    repo.create("refs/heads/main")
    for name in ("refs/heads/main.lock", "refs/heads/.hidden", "refs/.folder/x", "refs/heads/d/x.lock"):
        repo.loose(name, f"{repo.commits[1]}\n")
    assert told(repo.store()) == git_refs(repo) == [Told("refs/heads/main", repo.commits[0])]
    assert repo.store().get("refs/heads/d") is None
