"""What the tests of refused transactions share: a repository with refs of all kinds, and a look at all of its bytes."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, TypeVar, Unpack

import pytest
from refspan import Transaction
from store_support import Repository, build
from support import Hash

E = TypeVar("E", bound=BaseException)
# An edit as `apply` takes it, or what a test passes for one.
Given: TypeAlias = tuple[str, Any, Any, Any]
Into: TypeAlias = Literal["auto", "packed"]

VERBS = ("create", "update", "delete", "verify")

PACKED, LOOSE, BOTH, DEEP = "refs/heads/packed", "refs/heads/loose", "refs/heads/both", "refs/heads/deep/er/loose"
TAG = "refs/tags/v1"
MISSING = "1" * 40


class Options(TypedDict, total=False):
    """What a transaction may be told."""

    durability: Literal["git", "full", "none"]
    timeout: float | None
    into: Into
    atomic: bool
    check: bool


class Found(NamedTuple):
    """What there is at a path: its type, its content if it has any, and when it was changed last."""

    kind: int
    content: bytes
    changed: int


def ordinary(path: Path, hash_: Hash = "sha1") -> Repository:
    """A bare repository with a packed ref, loose ones, one that is both, and a packed annotated tag."""
    repo = build(path, "files", hash_, bare=True)
    # Samples, which would be looked at again and again.
    shutil.rmtree(repo.gitdir / "hooks")
    repo.create(PACKED, BOTH)
    repo.tag("v1", repo.commits[0])
    repo.git("pack-refs", "--all")
    repo.create(BOTH, LOOSE, DEEP, at=1)
    return repo


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder in memory, where there is such a place: a disk may take many seconds for thousands of files."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


def everything(root: Path, *, times: bool = False) -> dict[str, Found]:
    """All that is below a folder, and the folder itself; without `times` no matter when it was changed."""
    found: dict[str, Found] = {}
    for path in (root, *sorted(root.rglob("*"))):
        status = path.lstat()
        content = b""
        if stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
        elif stat.S_ISLNK(status.st_mode):
            content = os.fsencode(path.readlink())
        found[str(path.relative_to(root))] = Found(status.st_mode, content, status.st_mtime_ns if times else 0)
    return found


def locks(repo: Repository) -> list[str]:
    """The lock files in a repository, and what is written aside."""
    files = (str(path.relative_to(repo.gitdir)) for path in repo.gitdir.rglob("*"))
    return sorted(file for file in files if file.endswith((".lock", "packed-refs.new")))


def lock(repo: Repository, name: str, age: float = 0) -> Path:
    """A lock that somebody has held for so many seconds."""
    path = repo.loose(f"{name}.lock", "theirs")
    then = time.time() - age
    os.utime(path, (then, then))
    return path


@contextmanager
def untouched(repo: Repository, *, times: bool = False) -> Iterator[None]:
    """The block leaves the git directory as it was, to the byte."""
    before = everything(repo.gitdir, times=times)
    yield
    after = everything(repo.gitdir, times=times)
    # The names first: what differs is told in a line.
    assert sorted(after) == sorted(before)
    assert [path for path in after if after[path] != before[path]] == []


@contextmanager
def refused(repo: Repository, kind: type[E], *, times: bool = False) -> Iterator[pytest.ExceptionInfo[E]]:
    """The block raises such an exception, and leaves the git directory as it was."""
    with untouched(repo, times=times), pytest.raises(kind) as caught:
        yield caught


def edit_of(verb: str, name: object, new: object, old: object) -> Given:
    """An edit of that verb, with those of the values that it takes."""
    return (verb, name, new if verb in ("create", "update") else None, None if verb == "create" else old)


def transact(repo: Repository, *edits: Given, **options: Unpack[Options]) -> Transaction:
    """Commit these edits."""
    with Transaction(repo.path, **options) as transaction:
        transaction.apply(edits)
    return transaction
