"""The packed-refs file as a file: where it is, its mode and time, when it is replaced, and who notices that."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from differential_support import Session
from refspan import ANY, LockedError, Transaction
from store_support import Repository, build

X, Y = "refs/heads/x", "refs/heads/y"


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """Two packed refs."""
    repo = build(tmp_path / "repo.git", bare=True)
    repo.create(X, Y)
    repo.git("pack-refs", "--all")
    return repo


def packed(repo: Repository) -> Path:
    return repo.gitdir / "packed-refs"


def delete(repo: Repository, name: str) -> None:
    with Transaction(repo.path, timeout=0) as transaction:
        transaction.delete(name)


def repack(repo: Repository, at: int) -> str:
    """Set a ref in packed-refs itself: another file of the same size comes of it. The new value."""
    with Transaction(repo.path, into="packed") as transaction:
        transaction.update(X, repo.commits[at])
    return repo.commits[at]


def repack_until_alike(repo: Repository, value: str) -> str:
    """Set the ref until the file is in the inode that it was in before, with another value, if it comes to that.

    To a git that knows the file from before nothing but its time can tell that it is another one.
    """
    inode, held = packed(repo).stat().st_ino, value
    for _ in range(12):
        held = repack(repo, (repo.commits.index(held) + 1) % 3)
        if held != value and packed(repo).stat().st_ino == inode:
            break
    return held


@contextmanager
def file_untouched(path: Path) -> Iterator[None]:
    """The block leaves the very same file there, as it was."""
    before, data = path.stat(), path.read_bytes()
    yield
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )
    assert path.read_bytes() == data


def linked(repo: Repository, tmp_path: Path) -> Path:
    """Move the file elsewhere, behind two links, one of them relative."""
    target, link = tmp_path / "store/real", tmp_path / "store/link"
    target.parent.mkdir()
    packed(repo).rename(target)
    link.symlink_to("real")
    packed(repo).symlink_to(link)
    return target


def test_a_link_is_written_through(repo: Repository, tmp_path: Path) -> None:
    target = linked(repo, tmp_path)
    delete(repo, X)
    assert packed(repo).is_symlink()
    assert (tmp_path / "store/link").is_symlink()
    assert f" {X}\n" not in target.read_text()
    assert repo.git("for-each-ref", "--format=%(refname)") == Y
    assert sorted(path.name for path in target.parent.iterdir()) == ["link", "real"]


def test_the_lock_of_a_linked_file_is_beside_its_target(repo: Repository, tmp_path: Path) -> None:
    target = linked(repo, tmp_path)
    transaction = Transaction(repo.path)
    transaction.delete(X)
    transaction.prepare()
    assert {path.name for path in target.parent.iterdir()} == {"link", "real", "real.lock", "real.new"}
    assert not packed(repo).with_suffix(".lock").exists()
    transaction.abort()
    target.with_name("real.lock").touch()
    with pytest.raises(LockedError) as caught:
        delete(repo, X)
    assert caught.value.path == str(target.with_name("real.lock"))


def test_a_lock_beside_the_link_is_nobodys(repo: Repository, tmp_path: Path) -> None:
    """Git passes it over too."""
    linked(repo, tmp_path)
    packed(repo).with_suffix(".lock").touch()
    delete(repo, X)
    repo.update(f"delete {Y}")
    assert not list(repo.store())


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def modes(repo: Repository) -> dict[str, str]:
    """The modes of what a writer of refs makes."""
    paths = [packed(repo), repo.gitdir / "ORIG_HEAD", *(repo.gitdir / "refs").rglob("*")]
    return {str(path.relative_to(repo.gitdir)): stat.filemode(path.stat().st_mode) for path in paths}


@pytest.mark.parametrize("mask", [0o022, 0o002, 0o027, 0o077])
@pytest.mark.parametrize("shared", [None, "group", "true", "all", "0640", "0660", "0600", "umask", "2"])
def test_files_and_directories_have_the_modes_that_git_gives_them(
    repo: Repository, tmp_path: Path, shared: str | None, mask: int
) -> None:
    if shared:
        repo.git("config", "core.sharedRepository", shared)
    # That of the old file plays no part.
    packed(repo).chmod(0o600)
    copy = tmp_path / "copy.git"
    shutil.copytree(repo.path, copy)
    with umask(mask):
        lines = [f"create refs/new/deep/er {repo.commits[1]}", f"update {Y} {repo.commits[1]}", f"delete {X}"]
        Repository(copy, copy, repo.commits).update(*lines, f"create ORIG_HEAD {repo.commits[1]}")
        with Transaction(repo.path) as transaction:
            transaction.create("refs/new/deep/er", repo.commits[1])
            transaction.update(Y, repo.commits[1])
            transaction.delete(X)
            transaction.create("ORIG_HEAD", repo.commits[1])
    assert modes(repo) == modes(Repository(copy, copy, repo.commits))


@pytest.mark.parametrize("shared", [None, "group", "0640"])
def test_locks_have_the_mode_of_what_they_lock(repo: Repository, shared: str | None) -> None:
    """Whoever shares a repository can read them, and remove those that were left behind."""
    if shared:
        repo.git("config", "core.sharedRepository", shared)
    with umask(0o027):
        transaction = Transaction(repo.path)
        transaction.delete(X)
        transaction.update(Y, repo.commits[1])
        transaction.prepare()
        expected = {None: "-rw-r-----", "group": "-rw-rw----", "0640": "-rw-r-----"}[shared]
        made = [*(repo.gitdir / "refs").rglob("*.lock"), *repo.gitdir.glob("packed-refs.*")]
        assert [stat.filemode(path.stat().st_mode) for path in made] == [expected] * 4
        transaction.abort()


def test_each_file_is_a_whole_second_younger_than_the_one_before(repo: Repository) -> None:
    """Seconds are all that a running git compares."""
    seconds = [int(packed(repo).stat().st_mtime)]
    for i in range(5):
        repack(repo, (i + 1) % 3)
        seconds.append(int(packed(repo).stat().st_mtime))
    assert all(before < after for before, after in pairwise(seconds)), seconds


def test_a_file_from_the_future_is_followed_by_a_later_one(repo: Repository) -> None:
    future = 4_000_000_000
    os.utime(packed(repo), (future, future))
    delete(repo, X)
    assert int(packed(repo).stat().st_mtime) > future


def test_a_running_reader_of_gits_sees_every_one_of_many_changes_in_a_second(repo: Repository) -> None:
    size = packed(repo).stat().st_size
    command = ["git", "cat-file", "--batch-check=%(objectname)"]
    with subprocess.Popen(command, cwd=repo.path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdin
        assert reader.stdout
        value = repo.commits[0]
        for i in range(6):
            reader.stdin.write(f"{X}\n".encode())
            reader.stdin.flush()
            assert reader.stdout.readline().decode().strip() == value, i
            value = repack_until_alike(repo, value)
            assert packed(repo).stat().st_size == size
        reader.stdin.close()


def test_a_running_writer_of_gits_sees_every_one_of_many_changes_in_a_second(repo: Repository) -> None:
    session = Session(repo.path, "sha1", z=False)
    value = repo.commits[0]
    for i in range(6):
        assert session.transact([("verify", X, None, value)], last="abort") is None, i
        value = repack_until_alike(repo, value)
    assert session.transact([("update", X, repo.commits[0], value)]) is None
    assert session.stop() == ""


def test_deleting_a_loose_ref_leaves_packed_refs_alone_but_holds_its_lock(repo: Repository) -> None:
    repo.create("refs/heads/loose")
    lock = packed(repo).with_suffix(".lock")
    with file_untouched(packed(repo)):
        transaction = Transaction(repo.path)
        transaction.delete("refs/heads/loose")
        transaction.prepare()
        assert lock.exists()
        assert not packed(repo).with_suffix(".new").exists()
        transaction.commit()
    assert not lock.exists()
    assert not (repo.gitdir / "refs/heads/loose").exists()


def test_a_loose_ref_is_not_deleted_while_somebody_holds_the_lock_of_packed_refs(repo: Repository) -> None:
    """They may be packing it."""
    repo.create("refs/heads/loose")
    packed(repo).with_suffix(".lock").touch()
    untouched = file_untouched(packed(repo)), file_untouched(repo.gitdir / "refs/heads/loose")
    with untouched[0], untouched[1], pytest.raises(LockedError) as caught:
        delete(repo, "refs/heads/loose")
    assert caught.value.path == str(packed(repo).with_suffix(".lock"))
    assert packed(repo).with_suffix(".lock").exists(), "it is theirs"
    assert [path.name for path in (repo.gitdir / "refs").rglob("*.lock")] == []


def test_without_packed_refs_a_deletion_makes_none(repo: Repository) -> None:
    repo.create("refs/heads/loose")
    packed(repo).unlink()
    delete(repo, "refs/heads/loose")
    delete(repo, "refs/heads/loose")
    assert not [path.name for path in repo.gitdir.iterdir() if path.name.startswith("packed-refs")]


@pytest.mark.parametrize("is_locked", [False, True])
def test_packed_refs_are_untouched_by_all_that_deletes_none(repo: Repository, is_locked: bool) -> None:
    """And nobody who holds their lock is in the way."""
    first, second, third = repo.commits
    if is_locked:
        packed(repo).with_suffix(".lock").touch()
    with file_untouched(packed(repo)), Transaction(repo.path, timeout=0) as transaction:
        transaction.update(X, second, first)
        transaction.update(Y, first)
        transaction.create("refs/heads/z", third)
        transaction.verify("refs/heads/none", None)
    assert (repo.gitdir / X).read_text() == f"{second}\n"
    assert not (repo.gitdir / Y).exists(), "it has that value already"
    with file_untouched(packed(repo)), file_untouched(repo.gitdir / X), Transaction(repo.path) as transaction:
        transaction.update(X, second, ANY)
        transaction.verify(Y, first)
