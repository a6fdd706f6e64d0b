"""Opening a repository: from wherever git finds it, by its own configuration, and never by running anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import refspan
from store_support import (
    FORMATS,
    SAMPLES,
    Format,
    Repository,
    build,
    git_refs,
    same_path,
    sample,
    sample_name,
    told,
)
from support import HASHES, Hash, git


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A repository with a folder in its work tree and one branch."""
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/main")
    (repo.path / "folder/below").mkdir(parents=True)
    return repo


@pytest.fixture(params=SAMPLES, ids=sample_name)
def anywhere(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return sample(tmp_path_factory.getbasetemp(), request.param)


def assert_opened(store: refspan.RefStore, repo: Repository) -> None:
    """The store is that of the repository, or of its worktree."""
    common = repo.git("rev-parse", "--path-format=absolute", "--git-common-dir")
    assert same_path(store.git_dir, repo.gitdir)
    assert same_path(store.common_dir, common)
    # The refs of each worktree are others.
    assert told(store.refs(root_refs=True, exclude=["refs/heads"])) == git_refs(
        repo, "--include-root-refs", "--exclude=refs/heads"
    )


def test_a_work_tree_is_opened(anywhere: Repository) -> None:
    assert_opened(refspan.open(anywhere.path), anywhere)
    assert_opened(refspan.open(os.fspath(anywhere.path)), anywhere)


def test_a_folder_in_a_work_tree_is_opened(anywhere: Repository) -> None:
    folder = anywhere.path / "folder/below"
    folder.mkdir(parents=True, exist_ok=True)
    assert_opened(refspan.open(folder), anywhere)


def test_a_git_directory_or_file_is_opened(anywhere: Repository) -> None:
    # A file in the linked worktrees.
    assert_opened(refspan.open(anywhere.path / ".git"), anywhere)
    assert_opened(refspan.open(anywhere.gitdir), anywhere)
    assert_opened(refspan.open(anywhere.gitdir / "refs"), anywhere)


def test_format_and_hash_are_those_of_the_common_directory(
    request: pytest.FixtureRequest, anywhere: Repository
) -> None:
    refs, hash_, _ = request.node.callspec.params["anywhere"]
    store = refspan.open(anywhere.path)
    assert (store.format, store.hash) == (refs, hash_)


@pytest.mark.parametrize("refs", FORMATS)
@pytest.mark.parametrize("hash_", HASHES)
def test_a_bare_repository_is_opened(tmp_path: Path, refs: Format, hash_: Hash) -> None:
    bare = build(tmp_path / "bare.git", refs, hash_, bare=True)
    bare.create("refs/heads/main", "refs/tags/v1", at=1)
    for path in (bare.path, bare.path / "objects", bare.path / "hooks"):
        store = refspan.open(path)
        assert (store.format, store.hash) == (refs, hash_)
        assert_opened(store, bare)


@pytest.mark.parametrize("refs", FORMATS)
def test_a_worktree_is_picked_by_its_id_from_every_other(
    tmp_path: Path, refs: Format, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = build(tmp_path / "main", refs)
    main.create("refs/heads/main", "refs/bisect/bad")
    trees = [main.worktree("one"), main.worktree("folder/one", "-b", "second")]
    # Two folders of one name have different ids.
    assert [tree.gitdir.name for tree in trees] == ["one", "one1"]
    for at, tree in enumerate(trees):
        tree.create("refs/bisect/bad", "ORIG_HEAD", at=at + 1)
    for start in (main, *trees):
        for tree in trees:
            assert_opened(refspan.open(start.path, worktree=tree.gitdir.name), tree)
        monkeypatch.chdir(start.path)
        assert_opened(refspan.open(worktree="one1"), trees[1])
    assert_opened(refspan.open(main.path), main)


@pytest.mark.parametrize("name", ["missing", "", ".", "..", "../main", "one/refs"])
def test_a_worktree_that_is_not_there_is_not_picked(tmp_path: Path, name: str) -> None:
    main = build(tmp_path / "main")
    main.worktree("one")
    with pytest.raises((refspan.Error, ValueError)):
        refspan.open(main.path, worktree=name)


@pytest.mark.parametrize("relative", [False, True])
def test_a_git_file_is_followed(tmp_path: Path, relative: bool) -> None:
    work = tmp_path / "work"
    apart = tmp_path / "apart/repo.git"
    apart.parent.mkdir()
    git("init", "-q", f"--separate-git-dir={apart}", work)
    if relative:
        (work / ".git").write_text("gitdir: ../apart/repo.git\n")
    for path in (work, work / ".git"):
        store = refspan.open(path)
        assert same_path(store.git_dir, apart)
        assert same_path(store.common_dir, apart)


def test_a_repository_is_opened_through_a_link(repo: Repository, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repo.path)
    assert_opened(refspan.open(tmp_path / "link"), repo)


def test_a_relative_path_is_relative_to_the_working_directory(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo.path.parent)
    store = refspan.open("repo/folder")
    # It stays what it was.
    monkeypatch.chdir("/")
    assert_opened(store, repo)


def test_a_path_need_not_be_utf_8(tmp_path: Path) -> None:
    repo = build(tmp_path / os.fsdecode(b"repo-\xe9"))
    repo.create("refs/heads/main")
    store = refspan.open(repo.path)
    assert_opened(store, repo)
    assert os.fsencode(store.git_dir).endswith(b"/repo-\xe9/.git")


def test_without_a_path_the_working_directory_counts(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo.path / "folder/below")
    assert_opened(refspan.open(), repo)


def nothing(path: Path) -> Path:
    path.mkdir()
    return path


def missing(path: Path) -> Path:
    return path / "missing"


def lone_head(path: Path) -> Path:
    path.mkdir()
    (path / "HEAD").write_text("ref: refs/heads/main\n")
    return path


def stray_file(path: Path) -> Path:
    path.mkdir()
    (path / ".git").write_text("gitdir: ../nowhere\n")
    return path


@pytest.mark.parametrize("make", [nothing, missing, lone_head, stray_file])
def test_what_is_no_repository_is_told_by_its_path(
    tmp_path: Path, make: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    path = make(tmp_path / "path")
    with pytest.raises(refspan.RepositoryNotFoundError) as caught:
        refspan.open(path)
    assert str(tmp_path) in caught.value.path
    assert isinstance(caught.value, FileNotFoundError)


@pytest.mark.parametrize("target", ["refs/heads/main", "refs/heads/unborn"])
def test_head_may_be_a_symbolic_link(repo: Repository, target: str) -> None:
    (repo.gitdir / "HEAD").unlink()
    (repo.gitdir / "HEAD").symlink_to(target)
    store = refspan.open(repo.path)
    assert store.head.target == repo.git("symbolic-ref", "HEAD") == target


@pytest.mark.parametrize("head", ["garbage\n", "ref: elsewhere\n", None])
def test_a_folder_with_another_head_is_no_git_directory(
    repo: Repository, head: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(repo.path.parent))
    if head is None:
        (repo.gitdir / "HEAD").unlink()
    else:
        (repo.gitdir / "HEAD").write_text(head)
    with pytest.raises(refspan.RepositoryNotFoundError):
        refspan.open(repo.path)


def test_no_process_is_started(anywhere: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    witness = tmp_path / "witness"
    for name in ("git", "sh"):
        (tmp_path / name).write_text(f"#!/bin/sh\n: > {witness}\n")
        (tmp_path / name).chmod(0o755)
    expected = git_refs(anywhere)
    monkeypatch.setenv("PATH", str(tmp_path))
    # Where git asks its own program for the configuration of its installation.
    monkeypatch.delenv("GIT_CONFIG_NOSYSTEM")
    store = refspan.open(anywhere.path)
    assert [ref for ref in told(store) if ref in expected] == expected
    assert [ref.peeled for ref in store.refs("refs/tags/")]
    assert not witness.exists()
