"""Why values go into loose refs, and why a rewritten packed-refs gets a later time: two experiments with git."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from refspan import ConflictError
from store_support import Repository, build


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return build(tmp_path / "repo.git", bare=True)


def test_a_loose_ref_is_found_to_be_in_the_way_of_what_git_created_meanwhile(repo: Repository) -> None:
    tx = repo.store().transaction()
    tx.create("refs/x/a", repo.commits[0])
    tx.prepare()
    repo.create("refs/x/a/b")
    with pytest.raises(ConflictError) as caught:
        tx.commit()
    assert (caught.value.name, caught.value.other) == ("refs/x/a", "refs/x/a/b")
    assert repo.git("for-each-ref", "--format=%(refname)").split() == ["refs/x/a/b"]
    assert list(repo.path.rglob("*.lock")) == []


def test_a_packed_ref_slips_past_what_git_creates_meanwhile(repo: Repository) -> None:
    """Which is why nobody else may create names while a batch goes into packed-refs: not the default."""
    tx = repo.store().transaction(into="packed")
    tx.create("refs/x/a", repo.commits[0])
    tx.prepare()
    repo.create("refs/x/a/b")
    tx.commit()
    assert repo.git("for-each-ref", "--format=%(refname)").split() == ["refs/x/a", "refs/x/a/b"]


def test_git_that_came_first_is_noticed_in_either_placement(repo: Repository) -> None:
    with update_ref(repo) as tell:
        tell("start", f"create refs/x/a/b {repo.commits[0]}", "prepare")
        for into in ("auto", "packed"):
            tx = repo.store().transaction(into="packed" if into == "packed" else "auto")
            tx.create("refs/x/a", repo.commits[0])
            with pytest.raises(ConflictError):
                tx.prepare()
        tell("commit")
    assert repo.git("for-each-ref", "--format=%(refname)").split() == ["refs/x/a/b"]


def test_a_running_git_sees_each_of_many_rewrites_within_a_second(repo: Repository) -> None:
    """Of one size each: git compares whole seconds, size and inode, and inodes are used again at once."""
    names = [f"refs/x/{i}" for i in range(9)]
    repo.create(*names, "refs/x/last")
    repo.git("pack-refs", "--all")
    store, packed = repo.store(), repo.path / "packed-refs"
    times = [int(packed.stat().st_mtime)]
    with cat_file(repo) as resolve:
        for turn in range(1, 40):
            value = repo.commits[turn % 3]
            with store.transaction(into="packed") as tx:
                tx.update("refs/x/last", value)
            assert resolve("refs/x/last") == value
            times.append(int(packed.stat().st_mtime))
    assert all(before < after for before, after in pairwise(times))


def test_without_a_later_time_a_running_git_can_be_left_with_an_old_value(repo: Repository) -> None:
    """The same by plain renames: as soon as an inode comes back within a second, git believes that nothing changed."""
    repo.create("refs/x/a")
    repo.git("pack-refs", "--all")
    packed = repo.path / "packed-refs"
    texts = [packed.read_bytes().replace(repo.commits[0].encode(), commit.encode()) for commit in repo.commits]
    for _ in range(50):
        before = replace(packed, texts[0])
        with cat_file(repo) as resolve:
            assert resolve("refs/x/a") == repo.commits[0]
            replace(packed, texts[1])
            after = replace(packed, texts[2])
            # The same to the second as far as git looks.
            if before == after:
                assert resolve("refs/x/a") == repo.commits[0], (
                    "git has been mended: the later time is not needed any more"
                )
                assert repo.git("rev-parse", "refs/x/a") == repo.commits[2]
                return
    pytest.skip("this file system does not use inodes again at once")


def replace(packed: Path, text: bytes) -> tuple[int, int, int, int]:
    """Write the file aside and rename it; returns what git compares."""
    new = packed.with_suffix(".aside")
    new.write_bytes(text)
    new.rename(packed)
    now = packed.stat()
    return int(now.st_mtime), int(now.st_ctime), now.st_ino, now.st_size


@contextmanager
def cat_file(repo: Repository) -> Iterator[Callable[[str], str]]:
    """A git that runs on, and what it says that a ref is."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        ["git", "cat-file", "--batch-check=%(objectname)"], cwd=repo.path, stdin=pipe, stdout=pipe, text=True
    ) as child:
        stdin, stdout = child.stdin, child.stdout
        assert stdin is not None
        assert stdout is not None

        def resolve(name: str) -> str:
            stdin.write(f"{name}\n")
            stdin.flush()
            return stdout.readline().strip()

        yield resolve
        stdin.close()


@contextmanager
def update_ref(repo: Repository) -> Iterator[Callable[..., None]]:
    """A `git update-ref --stdin` that is told some commands at a time; each that answers must say ok."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        ["git", "update-ref", "--stdin"], cwd=repo.path, stdin=pipe, stdout=pipe, text=True, env=os.environ
    ) as child:
        stdin, stdout = child.stdin, child.stdout
        assert stdin is not None
        assert stdout is not None

        def tell(*commands: str) -> None:
            stdin.write("".join(f"{command}\n" for command in commands))
            stdin.flush()
            for command in commands:
                if command in ("start", "prepare", "commit"):
                    assert stdout.readline() == f"{command}: ok\n"

        yield tell
        stdin.close()
