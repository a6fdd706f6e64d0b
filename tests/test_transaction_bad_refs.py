"""Loose refs that are damaged, and what else may stand in the place of one."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
from refspan import ANY, ConflictError, CorruptError, RefNotFoundError, Transaction
from refusal_support import BOTH, LOOSE, PACKED, Given, Into, everything, locks, ordinary, refused, transact
from store_support import Repository, encode, null
from support import HASHES, Hash

NEW = "refs/heads/new"


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return ordinary(tmp_path / "repo")


def every_edit(repo: Repository, name: str) -> list[Given]:
    """Edits of each verb, with what each may expect."""
    new, old = repo.commits[2], repo.commits[1]
    edits: list[Given] = [("create", name, new, None), ("verify", name, None, None), ("verify", name, None, old)]
    edits += [("update", name, new, value) for value in (ANY, None, old)]
    return edits + [("delete", name, None, value) for value in (ANY, old)]


def git_takes(repo: Repository, edit: Given) -> bool:
    """Whether git makes the edit."""
    verb, name, new, old = edit
    old = {ANY: None, None: null()}.get(old, old) if verb != "create" else None
    command = " ".join(part for part in (verb, name, new, old) if part is not None)
    git = ["git", "update-ref", "--stdin"]
    return (
        subprocess.run(git, cwd=repo.path, input=encode(command + "\n"), capture_output=True, check=False).returncode
        == 0
    )


@pytest.mark.parametrize(
    "content", ["", "\n", "junk\n", "1" * 39 + "\n", "1" * 41 + "\n", "\0" * 41, " %s\n", "<<<<<<< %s\n"]
)
@pytest.mark.parametrize("name", [LOOSE, BOTH])
def test_a_ref_that_holds_garbage_can_be_neither_changed_nor_verified(
    repo: Repository, name: str, content: str
) -> None:
    path = repo.loose(name, content.replace("%s", repo.commits[1]))
    for edit in every_edit(repo, name):
        for atomic in (True, False):
            with refused(repo, CorruptError) as caught:
                transact(repo, ("update", PACKED, repo.commits[2], ANY), edit, atomic=atomic)
            assert caught.value.path == str(path)
        assert not git_takes(repo, edit)


@pytest.mark.parametrize("hash_", HASHES)
def test_an_object_id_of_another_hash_is_garbage(tmp_path: Path, hash_: Hash) -> None:
    repo = ordinary(tmp_path / "repo", hash_)
    repo.loose(LOOSE, "1" * (64 if hash_ == "sha1" else 40) + "\n")
    with refused(repo, CorruptError):
        transact(repo, ("update", LOOSE, repo.commits[2], ANY))


def test_one_ref_that_holds_garbage_is_in_no_other_ones_way(repo: Repository) -> None:
    repo.loose(LOOSE, "junk\n")
    transact(
        repo,
        ("update", BOTH, repo.commits[2], ANY),
        ("delete", PACKED, None, ANY),
        ("create", NEW, repo.commits[0], None),
    )
    assert repo.git("rev-parse", BOTH, NEW).split() == [repo.commits[2], repo.commits[0]]


@pytest.mark.parametrize("into", ["auto", "packed"])
@pytest.mark.parametrize("name", [LOOSE, BOTH])
def test_the_null_object_id_in_a_file_is_what_git_takes_it_for(repo: Repository, name: str, into: Into) -> None:
    for edit in every_edit(repo, name):
        repo.loose(name, f"{null()}\n")
        packed = (repo.gitdir / "packed-refs").read_bytes()
        is_taken = git_takes(repo, edit)
        after = repo.git("for-each-ref")
        repo.loose(name, f"{null()}\n")
        (repo.gitdir / "packed-refs").write_bytes(packed)
        if is_taken:
            transact(repo, edit, into=into)
            assert (repo.git("for-each-ref"), locks(repo)) == (after, [])
        else:
            with refused(repo, RefNotFoundError):
                transact(repo, edit, into=into)
        (repo.gitdir / "packed-refs").write_bytes(packed)


@pytest.mark.parametrize("kind", ["fifo", "socket", "loop", "link to a fifo"])
def test_what_is_no_file_is_neither_waited_for_nor_replaced(repo: Repository, tmp_path: Path, kind: str) -> None:
    path = repo.gitdir / LOOSE
    path.unlink()
    listener = socket.socket(socket.AF_UNIX)
    if kind == "socket":
        # The path of a socket must be short.
        here = Path.cwd()
        os.chdir(path.parent)
        listener.bind(path.name)
        os.chdir(here)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path.name)
    else:
        os.mkfifo(tmp_path / "fifo")
        path.symlink_to(tmp_path / "fifo")
    with listener:
        for edit in every_edit(repo, LOOSE):
            with refused(repo, CorruptError) as caught:
                transact(repo, edit, ("update", PACKED, repo.commits[2], ANY))
            assert caught.value.path == str(path)


@pytest.mark.parametrize("into", ["auto", "packed"])
def test_empty_directories_are_in_nobodys_way(repo: Repository, into: Into) -> None:
    names = ["refs/heads/new-1", "refs/heads/new-2", "refs/heads/new-3"]
    for name in (*names, PACKED):
        (repo.gitdir / name / "x/y").mkdir(parents=True)
        (repo.gitdir / name / "z").mkdir()
    edits: list[Given] = [("create", names[0], repo.commits[0], None), ("verify", names[1], None, None)]
    transact(
        repo, *edits, ("delete", names[2], None, ANY), ("update", PACKED, repo.commits[2], repo.commits[0]), into=into
    )
    assert repo.git("rev-parse", names[0], PACKED).split() == [repo.commits[0], repo.commits[2]]
    assert repo.git("for-each-ref", *names[1:]) == ""


def test_a_packed_ref_is_deleted_though_a_directory_is_in_its_place(repo: Repository) -> None:
    (repo.gitdir / PACKED / "x").mkdir(parents=True)
    transact(repo, ("delete", PACKED, None, repo.commits[0]))
    assert repo.git("for-each-ref", PACKED) == ""
    transact(repo, ("create", PACKED, repo.commits[1], None))
    assert repo.git("rev-parse", PACKED) == repo.commits[1]


@pytest.mark.parametrize("below", ["ref", "deep/er/ref", "stale.lock", ".hidden", "main 2"])
def test_a_directory_that_holds_something_is_a_conflict_with_that(repo: Repository, below: str) -> None:
    file = repo.loose(f"{NEW}/{below}", f"{repo.commits[0]}\n")
    edits = [edit for edit in every_edit(repo, NEW) if edit[3] in (ANY, None)]
    for edit in edits:
        with refused(repo, ConflictError) as caught:
            transact(repo, ("update", PACKED, repo.commits[2], ANY), edit)
        assert (caught.value.name, caught.value.other) == (NEW, f"{NEW}/{below}")
        assert not git_takes(repo, edit)
    with refused(repo, RefNotFoundError):
        transact(repo, ("update", NEW, repo.commits[2], repo.commits[0]))
    assert file.exists()


@pytest.mark.parametrize("into", ["auto", "packed"])
def test_a_directory_that_holds_something_keeps_a_packed_ref_from_being_set_not_from_being_deleted(
    repo: Repository, into: Into
) -> None:
    file = repo.loose(f"{PACKED}/stale.lock", "")
    with refused(repo, ConflictError) as caught:
        transact(repo, ("update", PACKED, repo.commits[2], ANY), into=into)
    assert (caught.value.name, caught.value.other) == (PACKED, f"{PACKED}/stale.lock")
    transact(repo, ("delete", PACKED, None, repo.commits[0]), into=into)
    assert (repo.git("for-each-ref", PACKED), file.exists()) == ("", True)


@pytest.mark.parametrize("into", ["auto", "packed"])
def test_a_ref_below_another_one_is_a_conflict_with_that(repo: Repository, into: Into) -> None:
    for other in (LOOSE, PACKED, BOTH):
        for name in (f"{other}/x", f"{other}/x/y"):
            for edit in (("create", name, repo.commits[0], None), ("update", name, repo.commits[0], ANY)):
                with refused(repo, ConflictError) as caught:
                    transact(repo, edit, into=into)
                assert (caught.value.name, caught.value.other) == (name, other)
            with refused(repo, RefNotFoundError):
                transact(repo, ("update", name, repo.commits[0], repo.commits[0]), into=into)


def test_a_link_that_leads_nowhere_cannot_be_a_directory(repo: Repository, tmp_path: Path) -> None:
    (repo.gitdir / "refs/heads/link").symlink_to(tmp_path / "nowhere")
    with refused(repo, ConflictError) as caught:
        transact(repo, ("create", "refs/heads/link/x", repo.commits[0], None))
    assert caught.value.other == "refs/heads/link"
    assert not (tmp_path / "nowhere").exists()


def test_a_directory_that_appears_before_the_commit_is_found_by_it(repo: Repository) -> None:
    transaction = Transaction(repo.path)
    transaction.create(NEW, repo.commits[0])
    before = everything(repo.gitdir)
    transaction.prepare()
    (repo.gitdir / NEW / "empty/x").mkdir(parents=True)
    transaction.commit()
    assert (repo.gitdir / NEW).read_text() == f"{repo.commits[0]}\n"
    (repo.gitdir / NEW).unlink()
    transaction = Transaction(repo.path)
    transaction.create(NEW, repo.commits[0])
    transaction.prepare()
    repo.loose(f"{NEW}/x", f"{repo.commits[1]}\n")
    with pytest.raises(ConflictError) as caught:
        transaction.commit()
    assert (caught.value.name, caught.value.other, transaction.state) == (NEW, f"{NEW}/x", "aborted")
    (repo.gitdir / NEW / "x").unlink()
    (repo.gitdir / NEW).rmdir()
    assert everything(repo.gitdir) == before
