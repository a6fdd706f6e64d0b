"""Batches that are put into packed-refs: one rename decides over all, and what `git pack-refs` would leave is left."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from refspan import ANY, Transaction
from refspan.errors import ConflictError, StaleError, UnsupportedError
from store_support import LATIN1, Repository, build, encode
from support import HASHES, Hash

LOOSE, PACKED, BOTH, OTHER = "refs/heads/loose", "refs/heads/packed", "refs/heads/both", "refs/heads/other"
NEW = ("refs/heads/größe", LATIN1, "refs/heads/a/b/c", "refs/heads/a-", "refs/zzz", "refs/a")


@pytest.fixture
def hash_() -> Hash:
    return "sha1"


@pytest.fixture
def repo(tmp_path: Path, hash_: Hash) -> Repository:
    """A packed ref, a loose one, one that is both, and another loose one."""
    repo = build(tmp_path / "repo.git", hash_=hash_, bare=True)
    repo.create(PACKED, BOTH)
    repo.git("pack-refs", "--all")
    repo.create(LOOSE, BOTH, OTHER, at=1)
    return repo


def batch(repo: Repository) -> Transaction:
    """Sets, creates and deletes refs of every kind; prepared by nobody yet."""
    first, second, third = repo.commits
    transaction = Transaction(repo.path, into="packed")
    transaction.update(LOOSE, third, second)
    transaction.update(PACKED, third, first)
    transaction.delete(BOTH, second)
    for name in NEW:
        transaction.create(name, first)
    return transaction


def copied(repo: Repository) -> Repository:
    path = repo.path.with_suffix(".copy")
    shutil.copytree(repo.path, path)
    return Repository(path, path, repo.commits)


def packed(repo: Repository) -> bytes:
    return (repo.gitdir / "packed-refs").read_bytes()


def loose(repo: Repository) -> list[str]:
    return sorted(str(path.relative_to(repo.gitdir)) for path in (repo.gitdir / "refs").rglob("*") if path.is_file())


@pytest.mark.parametrize("hash_", HASHES)
def test_a_batch_leaves_the_file_that_git_packs(repo: Repository) -> None:
    """With annotated tags, which have their peeled lines."""
    repo.git("update-ref", "-d", OTHER)
    tags = [repo.tag("annotated", repo.commits[0])]
    tags.append(repo.tag("nested", tags[0]))
    repo.update("delete refs/tags/annotated", "delete refs/tags/nested")
    copy = copied(repo)
    first, second, third = repo.commits
    creates = [(name, first) for name in NEW]
    creates += [("refs/tags/annotated", tags[0]), ("refs/x/nested", tags[1]), ("refs/tags/light", second)]
    copy.update(
        *(f"create {name} {oid}" for name, oid in creates),
        f"update {LOOSE} {third} {second}",
        f"update {PACKED} {third} {first}",
        f"delete {BOTH} {second}",
    )
    copy.git("pack-refs", "--all")
    with batch(repo) as transaction:
        transaction.apply(("create", name, oid, None) for name, oid in creates[len(NEW) :])
    assert packed(repo) == packed(copy)
    assert packed(repo).count(b"\n^") == 2
    assert loose(repo) == []
    assert repo.git("show-ref", "-d") == copy.git("show-ref", "-d")


def test_loose_files_of_the_batch_are_gone_and_others_stay(repo: Repository) -> None:
    batch(repo).commit()
    assert loose(repo) == [OTHER]
    first, second, third = repo.commits
    expected = {LOOSE: third, PACKED: third, OTHER: second} | dict.fromkeys(NEW, first)
    assert {ref.name: ref.oid for ref in repo.store()} == expected
    names = repo.git("for-each-ref", "--format=%(refname)").splitlines()
    assert names == sorted(expected, key=encode)


def test_directories_of_loose_files_go_with_them(repo: Repository) -> None:
    """So nothing is in the way of a later ref of that name."""
    repo.create("refs/heads/deep/er/x", "refs/heads/deep/y")
    with Transaction(repo.path, into="packed") as transaction:
        transaction.update("refs/heads/deep/er/x", repo.commits[1])
        transaction.create("refs/heads/new/x", repo.commits[1])
    assert not (repo.gitdir / "refs/heads/deep/er").exists()
    assert not (repo.gitdir / "refs/heads/new").exists()
    assert "refs/heads/deep/y" in loose(repo)


def test_without_loose_refs_to_replace_there_is_one_rewrite(repo: Repository) -> None:
    """It is written aside while it is prepared, and nothing of it shows until it is renamed."""
    transaction = Transaction(repo.path, into="packed")
    transaction.update(PACKED, repo.commits[2], repo.commits[0])
    transaction.create("refs/tags/new", repo.commits[1])
    before, inode = packed(repo), (repo.gitdir / "packed-refs").stat().st_ino
    transaction.prepare()
    assert (packed(repo), (repo.gitdir / "packed-refs").stat().st_ino) == (before, inode)
    written = (repo.gitdir / "packed-refs.new").stat().st_ino
    transaction.commit()
    assert (repo.gitdir / "packed-refs").stat().st_ino == written
    assert loose(repo) == [BOTH, LOOSE, OTHER]


def test_preparing_changes_nothing_though_loose_values_have_to_be_packed_first(repo: Repository) -> None:
    before, files = packed(repo), loose(repo)
    transaction = batch(repo)
    transaction.prepare()
    assert (packed(repo), [name for name in loose(repo) if not name.endswith(".lock")]) == (before, files)
    transaction.abort()
    assert (packed(repo), loose(repo)) == (before, files)
    assert {path.name for path in repo.gitdir.iterdir() if path.name.startswith("packed-refs")} == {"packed-refs"}


def test_what_a_killed_batch_left_behind_is_in_nobodys_way(repo: Repository) -> None:
    (repo.gitdir / "packed-refs.refspan").write_text("half of it")
    with batch(repo):
        pass
    assert loose(repo) == [OTHER]
    assert not (repo.gitdir / "packed-refs.refspan").exists()


def test_a_batch_that_is_refused_changes_nothing(repo: Repository) -> None:
    before, files = packed(repo), loose(repo)
    transaction = batch(repo)
    transaction.update(OTHER, repo.commits[0], repo.commits[2])
    with pytest.raises(StaleError):
        transaction.commit()
    assert (packed(repo), loose(repo)) == (before, files)


@pytest.mark.parametrize("name", ["refs/heads/both/x", "refs/heads/loose/x", "refs/heads/packed/x"])
def test_names_in_the_way_are_found_in_both_places(repo: Repository, name: str) -> None:
    before, files = packed(repo), loose(repo)
    transaction = Transaction(repo.path, into="packed")
    transaction.create("refs/heads/new", repo.commits[0])
    transaction.create(name, repo.commits[0])
    with pytest.raises(ConflictError) as caught:
        transaction.commit()
    assert (caught.value.name, caught.value.other) == (name, name.removesuffix("/x"))
    assert (packed(repo), loose(repo)) == (before, files)


def test_the_value_that_a_ref_has_already_is_not_written(repo: Repository) -> None:
    inode = (repo.gitdir / "packed-refs").stat().st_ino
    with Transaction(repo.path, into="packed") as transaction:
        transaction.update(PACKED, repo.commits[0])
        transaction.update(LOOSE, repo.commits[1], ANY)
        transaction.verify(OTHER, repo.commits[1])
    assert (repo.gitdir / "packed-refs").stat().st_ino == inode
    assert repo.store()[LOOSE].oid == repo.commits[1]


def test_a_ref_that_is_loose_only_is_deleted(repo: Repository) -> None:
    with Transaction(repo.path, into="packed") as transaction:
        transaction.delete(LOOSE, repo.commits[1])
    assert LOOSE not in repo.store()
    assert f" {LOOSE}\n".encode() not in packed(repo)
    assert loose(repo) == [BOTH, OTHER]


def test_without_packed_refs_one_is_made(tmp_path: Path) -> None:
    repo = build(tmp_path / "new.git", bare=True)
    with Transaction(repo.path, into="packed") as transaction:
        transaction.create("refs/heads/main", repo.commits[0])
    made = packed(repo)
    repo.git("pack-refs", "--all")
    assert made == packed(repo) != b""
    assert loose(repo) == []


@pytest.mark.parametrize("name", ["ORIG_HEAD", "refs/bisect/bad", "refs/worktree/x", "refs/rewritten/x"])
def test_refs_of_one_worktrees_own_are_not_packed(repo: Repository, name: str) -> None:
    """Git does not do that either: for it they would be refs of all worktrees."""
    before, files = packed(repo), loose(repo)
    transaction = Transaction(repo.path, into="packed")
    transaction.create("refs/heads/new", repo.commits[0])
    transaction.create(name, repo.commits[0])
    with pytest.raises(UnsupportedError):
        transaction.commit()
    assert (packed(repo), loose(repo)) == (before, files)


def test_thousands_of_refs_come_to_what_git_packs(repo: Repository) -> None:
    repo.git("update-ref", "-d", OTHER)
    names = [f"refs/{space}/{i % 13}/x{i}" for i in range(1500) for space in ("heads", "changes")]
    copy = copied(repo)
    # Packing takes what stands in the file as it is, so git has no need of a thousand loose files.
    lines = [f"{repo.commits[i % 3]} {name}\n" for i, name in enumerate(names)]
    kept = [line + "\n" for line in packed(repo).decode().splitlines()[1:] if not line.endswith(BOTH)]
    (copy.gitdir / "packed-refs").write_text("".join(kept + lines))
    (copy.gitdir / BOTH).unlink()
    (copy.gitdir / LOOSE).write_text(repo.commits[2] + "\n")
    copy.git("pack-refs", "--all")
    with Transaction(repo.path, into="packed") as transaction:
        transaction.apply(("create", name, repo.commits[i % 3], None) for i, name in enumerate(names))
        transaction.update(LOOSE, repo.commits[2])
        transaction.delete(BOTH)
    assert packed(repo) == packed(copy)
