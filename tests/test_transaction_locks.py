"""The locks of a transaction: git's own, held from `prepare()` on, waited for as long as was said, and never broken."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from refspan import ANY, LockedError, StaleError, Transaction
from refusal_support import (
    BOTH,
    DEEP,
    LOOSE,
    PACKED,
    TAG,
    Given,
    Into,
    lock,
    locks,
    ordinary,
    refused,
    transact,
    untouched,
)
from store_support import Repository, encode

PACKED_LOCK = "packed-refs.lock"
NEW = "refs/heads/new"


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return ordinary(tmp_path / "repo")


def every_edit(repo: Repository, name: str, old: str | None) -> list[Given]:
    """Edits of a ref that holds `old`, one of each verb; all would succeed."""
    edits: list[Given] = [
        ("verify", name, None, old),
        ("update", name, repo.commits[2], ANY),
        ("delete", name, None, ANY),
    ]
    return edits if old else [*edits, ("create", name, repo.commits[2], None)]


@pytest.mark.parametrize("into", ["auto", "packed"])
def test_a_lock_that_somebody_holds_is_told_with_its_path_and_age(repo: Repository, into: Into) -> None:
    for name, old in ((LOOSE, repo.commits[1]), (PACKED, repo.commits[0]), (BOTH, repo.commits[1]), (NEW, None)):
        path = lock(repo, name, age=100)
        for edit in every_edit(repo, name, old):
            with refused(repo, LockedError) as caught:
                transact(repo, ("update", DEEP, repo.commits[0], ANY), edit, into=into, timeout=0)
            assert caught.value.path == caught.value.filename == str(path)
            assert 99 < caught.value.age < 200
            assert isinstance(caught.value, TimeoutError)
        path.unlink()


def test_a_lock_from_the_future_has_no_age_yet(repo: Repository) -> None:
    lock(repo, LOOSE, age=-1000)
    with refused(repo, LockedError) as caught:
        transact(repo, ("update", LOOSE, repo.commits[2], ANY), timeout=0)
    assert caught.value.age == 0


def test_setting_a_ref_to_the_value_that_it_has_needs_its_lock(repo: Repository) -> None:
    lock(repo, LOOSE)
    for edit in (("update", LOOSE, repo.commits[1], ANY), ("update", LOOSE, repo.commits[1], repo.commits[1])):
        with refused(repo, LockedError):
            transact(repo, edit, timeout=0)


@pytest.mark.parametrize("into", ["auto", "packed"])
def test_the_lock_of_packed_refs_is_needed_to_delete(repo: Repository, into: Into) -> None:
    path = lock(repo, "packed-refs", age=100)
    for name in (LOOSE, PACKED, BOTH, TAG, NEW):
        with refused(repo, LockedError) as caught:
            transact(repo, ("update", DEEP, repo.commits[2], ANY), ("delete", name, None, ANY), into=into, timeout=0)
        assert (caught.value.path, 99 < caught.value.age < 200) == (str(path), True)


def test_the_lock_of_packed_refs_is_not_needed_to_set_a_ref(repo: Repository) -> None:
    lock(repo, "packed-refs")
    edits: list[Given] = [("update", PACKED, repo.commits[2], ANY), ("create", NEW, repo.commits[2], None)]
    transact(repo, *edits, ("verify", TAG, None, repo.store()[TAG].oid), timeout=0)
    assert repo.git("rev-parse", PACKED, NEW).split() == [repo.commits[2]] * 2
    with refused(repo, LockedError):
        transact(repo, ("update", PACKED, repo.commits[1], ANY), into="packed", timeout=0)


def test_what_somebody_wrote_aside_is_named_and_not_overwritten(repo: Repository) -> None:
    path = repo.loose("packed-refs.new", "theirs")
    os.utime(path, (time.time() - 100,) * 2)
    edits: list[tuple[Given, Into]] = [(("delete", PACKED, None, ANY), "auto")]
    edits.append((("update", LOOSE, repo.commits[2], ANY), "packed"))
    for edit, into in edits:
        with refused(repo, LockedError) as caught:
            transact(repo, edit, into=into, timeout=0)
        assert (caught.value.path, 99 < caught.value.age < 200) == (str(path), True)
    # Nothing is written aside for this one.
    transact(repo, ("delete", LOOSE, None, ANY))
    assert path.read_text() == "theirs"


def test_a_link_to_packed_refs_is_locked_where_it_leads(repo: Repository, tmp_path: Path) -> None:
    path = repo.gitdir / "packed-refs"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    # Not the lock.
    lock(repo, "packed-refs")
    transact(repo, ("delete", PACKED, None, ANY), timeout=0)
    assert (path.is_symlink(), repo.git("for-each-ref", PACKED)) == (True, "")
    (tmp_path / "elsewhere.lock").touch()
    with refused(repo, LockedError) as caught:
        transact(repo, ("delete", BOTH, None, ANY), timeout=0)
    assert caught.value.path == str(tmp_path / "elsewhere.lock")


def prepared(repo: Repository, into: Into = "auto") -> Transaction:
    transaction = Transaction(repo.path, into=into)
    transaction.update(LOOSE, repo.commits[2], repo.commits[1])
    transaction.create("refs/heads/x/y/new", repo.commits[0])
    transaction.delete(BOTH)
    transaction.verify(DEEP, repo.commits[1])
    transaction.prepare()
    return transaction


EDITED = [BOTH, DEEP, LOOSE, "refs/heads/x/y/new"]


@pytest.mark.parametrize("into", ["auto", "packed"])
def test_locks_are_files_from_prepare_to_the_end(repo: Repository, into: Into) -> None:
    for end in ("abort", "commit"):
        transaction = prepared(repo, into)
        expected = sorted([*(f"{name}.lock" for name in EDITED), PACKED_LOCK, "packed-refs.new"])
        assert locks(repo) == expected
        assert sorted(transaction.plan().locks) == [
            str(repo.gitdir / name) for name in expected if name.endswith(".lock")
        ]
        assert repo.git("rev-parse", LOOSE, BOTH).split() == [repo.commits[1]] * 2
        getattr(transaction, end)()
        assert locks(repo) == []
    assert repo.git("rev-parse", LOOSE, "refs/heads/x/y/new").split() == [repo.commits[2], repo.commits[0]]
    assert repo.git("for-each-ref", BOTH) == ""


def git_says(repo: Repository, command: str) -> str:
    """What git complains of when it is given that edit; nothing if it makes it."""
    git = ["git", "-c", "core.filesRefLockTimeout=0", "-c", "core.packedRefsTimeout=0", "update-ref", "--stdin"]
    done = subprocess.run(git, cwd=repo.path, input=encode(command + "\n"), capture_output=True, check=False)
    assert (done.returncode == 0) == (done.stderr == b"")
    return done.stderr.decode()


@pytest.mark.parametrize("end", ["commit", "abort"])
def test_git_cannot_take_a_lock_that_is_held(repo: Repository, end: str) -> None:
    transaction = prepared(repo)
    oid = repo.commits[0]
    with untouched(repo):
        for name in EDITED:
            assert f"{name}.lock': File exists" in git_says(repo, f"update {name} {oid}")
            assert f"{name}.lock': File exists" in git_says(repo, f"verify {name} {oid}")
        assert "packed-refs.lock': File exists" in git_says(repo, f"delete {PACKED}")
    assert git_says(repo, f"update {TAG} {oid}") == ""
    getattr(transaction, end)()
    for name in EDITED:
        assert git_says(repo, f"update {name} {oid}") == ""
    assert git_says(repo, f"delete {PACKED}") == ""


def test_a_lock_that_git_holds_cannot_be_taken(repo: Repository) -> None:
    git = ["git", "update-ref", "--stdin"]
    with subprocess.Popen(git, cwd=repo.path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.stdin.write(f"start\nupdate {LOOSE} {repo.commits[2]}\ndelete {BOTH}\nprepare\n".encode())
        assert [holder.stdout.readline() for _ in range(2)] == [b"start: ok\n", b"prepare: ok\n"]
        for edit in (
            ("update", LOOSE, repo.commits[0], ANY),
            ("verify", BOTH, None, repo.commits[1]),
            ("delete", PACKED, None, ANY),
        ):
            with refused(repo, LockedError):
                transact(repo, edit, timeout=0)
        holder.stdin.write(b"commit\n")
        assert holder.stdout.readline() == b"commit: ok\n"
    # What it expected is no longer so.
    with refused(repo, StaleError):
        transact(repo, ("update", LOOSE, repo.commits[0], repo.commits[1]))


def test_two_transactions_of_one_process_keep_each_other_out(repo: Repository) -> None:
    store = repo.store()
    first, second = store.transaction(), store.transaction(timeout=0)
    first.update(LOOSE, repo.commits[2])
    second.update(LOOSE, repo.commits[0])
    first.prepare()
    with refused(repo, LockedError):
        second.prepare()
    first.commit()
    transact(repo, ("update", LOOSE, repo.commits[0], repo.commits[2]), timeout=0)
