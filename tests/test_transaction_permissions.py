"""What this user may not write or read: a transaction fails as a whole, and takes nothing for missing."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence

import pytest
from refusal_support import BOTH, DEEP, LOOSE, PACKED, TAG, VERBS, ordinary, quick_folder, untouched
from store_support import Repository
from support import run_python

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")

NOBODY = 65534


@pytest.fixture
def repo() -> Iterator[Repository]:
    """Root's repository, which everybody may read."""
    with quick_folder() as folder:
        folder.chmod(0o755)
        yield ordinary(folder / "repo")


# Everything is loaded before: nobody may read where this interpreter is.
AS_NOBODY = f"""
import os, sys, refspan
store, (oid, name) = refspan.open(sys.argv[1]), sys.argv[2:4]
list(store)
os.setegid({NOBODY})
os.seteuid({NOBODY})
edits = {{
    "create": ("create", name, oid, None),
    "update": ("update", name, oid, refspan.ANY),
    "delete": ("delete", name, None, refspan.ANY),
    "verify": ("verify", name, None, None),
}}
for verb in sys.argv[4:]:
    tx = store.transaction(check=False)
    tx.apply([("update", "{DEEP}", oid, refspan.ANY), edits[verb]])
    try:
        tx.commit()
    except OSError as error:
        print(verb, error.errno, error.filename.removeprefix(sys.argv[1]), tx.state)
"""


def is_stopped(repo: Repository, name: str, path: str, verbs: Sequence[str] = VERBS) -> bool:
    """Whether nobody can make each of the edits, because of that path, and nothing comes of it."""
    with untouched(repo):
        said = run_python(AS_NOBODY, repo.path, repo.commits[2], name, *verbs)
    return said == "".join(f"{verb} {errno.EACCES} /{path} aborted\n" for verb in verbs)


def give_away(repo: Repository) -> None:
    """Let everybody write."""
    for path in (repo.gitdir, *repo.gitdir.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)


@pytest.mark.parametrize("name", [LOOSE, PACKED, BOTH, TAG, "refs/heads/new/x"])
def test_in_a_repository_that_may_only_be_read_nothing_is_changed(repo: Repository, name: str) -> None:
    # Locks are taken in order of the names.
    assert is_stopped(repo, name, f"{min(name, DEEP)}.lock")


@pytest.mark.parametrize("name", [LOOSE, BOTH])
def test_a_ref_that_may_not_be_read_is_not_taken_for_missing_nor_for_the_packed_one(
    repo: Repository, name: str
) -> None:
    give_away(repo)
    (repo.gitdir / name).chmod(0)
    assert is_stopped(repo, name, name)


@pytest.mark.parametrize("name", [LOOSE, PACKED, "refs/heads/new"])
def test_packed_refs_that_may_not_be_read_are_not_taken_for_empty(repo: Repository, name: str) -> None:
    give_away(repo)
    (repo.gitdir / "packed-refs").chmod(0)
    assert is_stopped(repo, name, "packed-refs")


def test_where_packed_refs_cannot_be_locked_nothing_is_deleted(repo: Repository) -> None:
    give_away(repo)
    repo.gitdir.chmod(0o755)
    assert is_stopped(repo, LOOSE, "packed-refs.lock", ["delete"])
