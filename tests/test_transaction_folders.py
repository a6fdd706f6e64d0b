"""Directories that a transaction makes for its locks, and those that a deletion leaves empty."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from refspan import ANY, ConflictError, LockedError, RefExistsError, Transaction
from refusal_support import (
    BOTH,
    DEEP,
    LOOSE,
    PACKED,
    Given,
    Into,
    everything,
    lock,
    ordinary,
    refused,
    transact,
    untouched,
)
from store_support import Repository


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return ordinary(tmp_path / "repo")


def folders(repo: Repository) -> set[str]:
    """The directories of refs."""
    return {str(path.relative_to(repo.gitdir)) for path in (repo.gitdir / "refs").rglob("*") if path.is_dir()}


@pytest.mark.parametrize("into", ["auto", "packed"])
def test_aborting_removes_the_directories_that_were_made_for_locks(repo: Repository, into: Into) -> None:
    for verb in ("create", "delete", "verify"):
        with untouched(repo):
            transaction = Transaction(repo.path, into=into)
            for name in ("refs/heads/d/e/f", "refs/heads/d/e/g/h", "refs/heads/i/j", "refs/tags/k/l"):
                new, old = (repo.commits[0], None) if verb == "create" else (None, ANY if verb == "delete" else None)
                transaction.apply([(verb, name, new, old)])
            transaction.prepare()
            assert {"refs/heads/d/e/g", "refs/heads/i", "refs/tags/k"} <= folders(repo)
            transaction.abort()


def test_a_failed_transaction_removes_them_too(repo: Repository) -> None:
    new: Given = ("create", "refs/heads/d/e/f", repo.commits[0], None)
    lock(repo, "refs/heads/z")
    with refused(repo, RefExistsError):
        transact(repo, new, ("create", LOOSE, repo.commits[0], None))
    with refused(repo, LockedError):
        transact(repo, new, ("create", "refs/heads/z", repo.commits[0], None), timeout=0)
    with refused(repo, ConflictError):
        transact(repo, new, ("create", f"{LOOSE}/x/y", repo.commits[0], None))


def test_the_upper_directories_stay_as_they_do_in_git(repo: Repository) -> None:
    (repo.gitdir / "refs/tags").rmdir()
    transaction = Transaction(repo.path)
    transaction.create("refs/tags/x", repo.commits[0])
    transaction.create("refs/new/x/y", repo.commits[0])
    transaction.prepare()
    transaction.abort()
    assert {"refs/tags", "refs/new"} <= folders(repo)
    assert "refs/new/x" not in folders(repo)


@pytest.mark.parametrize("into", ["auto", "packed"])
@pytest.mark.parametrize(
    "names",
    [
        [DEEP],
        [LOOSE],
        [BOTH, PACKED],
        ["refs/notes/a/b"],
        ["refs/one"],
        ["refs/heads/d/e/f", "refs/heads/d/g"],
        ["refs/heads/d/e/f"],
    ],
    ids=" ".join,
)
def test_deleting_leaves_the_directories_that_git_leaves(
    repo: Repository, tmp_path: Path, names: list[str], into: Into
) -> None:
    repo.create(*{*names, "refs/heads/d/e/f", "refs/heads/d/g"})
    other = Repository(tmp_path / "other", tmp_path / "other", repo.commits)
    shutil.copytree(repo.path, other.path)
    other.update(*(f"delete {name}" for name in names))
    transact(repo, *(("delete", name, None, ANY) for name in names), into=into)
    assert folders(repo) == folders(other)
    if into == "auto":
        assert everything(repo.gitdir) == everything(other.gitdir)


def test_a_directory_with_a_lock_or_anything_else_in_it_stays(repo: Repository) -> None:
    repo.create("refs/heads/d/e/f", "refs/heads/g/h/i")
    held = lock(repo, "refs/heads/d/e/other")
    strange = repo.loose("refs/heads/g/.DS_Store", "")
    transact(repo, ("delete", "refs/heads/d/e/f", None, ANY), ("delete", "refs/heads/g/h/i", None, ANY))
    assert (held.exists(), strange.exists(), (repo.gitdir / "refs/heads/g/h").exists()) == (True, True, False)


def test_the_last_ref_takes_neither_refs_nor_heads_along(repo: Repository) -> None:
    names = repo.git("for-each-ref", "--format=%(refname)").split()
    transact(repo, *(("delete", name, None, ANY) for name in names))
    assert folders(repo) == {"refs/heads", "refs/tags"}
    transact(repo, ("create", LOOSE, repo.commits[0], None))
    assert repo.git("for-each-ref", "--format=%(refname)") == LOOSE


def test_directories_that_are_missing_are_made(repo: Repository) -> None:
    shutil.rmtree(repo.gitdir / "refs/heads")
    transact(repo, ("create", "refs/heads/a/b/c", repo.commits[0], None))
    assert (repo.gitdir / "refs/heads/a/b/c").read_text() == f"{repo.commits[0]}\n"
