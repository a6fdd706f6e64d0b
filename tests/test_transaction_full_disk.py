"""When the disk is full, or a file may not grow, a transaction fails as a whole and leaves everything as it was."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from refspan import ANY
from refusal_support import BOTH, DEEP, LOOSE, PACKED, Given, Into, ordinary, refused, transact, untouched
from store_support import Repository
from support import GIT_TRAITS, Ref, run_python, write_packed

PAGE = os.sysconf("SC_PAGESIZE")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=400", "tmpfs", str(path)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False).returncode
    except FileNotFoundError:
        done = 1
    if done != 0:
        pytest.skip("this user may not mount a small disk")
    try:
        yield path
    finally:
        subprocess.run(["umount", path], check=True)


@pytest.fixture
def repo(disk: Path) -> Repository:
    """On the small disk; a third of that is packed-refs."""
    repo = ordinary(disk / "repo")
    grow(repo)
    return repo


def grow(repo: Repository) -> None:
    """Have a packed-refs of some hundred kilobytes."""
    oid = repo.commits[0].encode()
    names = [BOTH.encode(), PACKED.encode(), *(b"refs/pull/%06d/head" % i for i in range(5_000))]
    write_packed(repo.gitdir / "packed-refs", [Ref(name, oid, None) for name in names], GIT_TRAITS)


def fill(disk: Path, free: int = 0) -> None:
    """Leave so many bytes free."""
    with (disk / "filler").open("wb", buffering=0) as file:
        with suppress(OSError):
            while file.write(b"x" * PAGE):
                pass
        file.truncate(file.tell() - free)


def exhaust(disk: Path) -> None:
    """Leave no room for another file."""
    with suppress(OSError):
        for i in range(400):
            (disk / f"filler-{i}").touch()


def many(repo: Repository) -> list[Given]:
    """Edits of loose refs, new ones in new directories among them."""
    new: list[Given] = [("create", f"refs/heads/new/{i}/x", repo.commits[0], None) for i in range(5)]
    return [("delete", BOTH, None, ANY), *new, ("update", LOOSE, repo.commits[2], ANY)]


@pytest.mark.parametrize("pages", [0, 1, 3])
def test_a_full_disk_lets_no_part_of_a_transaction_through(repo: Repository, disk: Path, pages: int) -> None:
    fill(disk, pages * PAGE)
    with refused(repo, OSError) as caught:
        transact(repo, *many(repo))
    assert caught.value.errno == errno.ENOSPC
    assert str(caught.value.filename).startswith(str(repo.gitdir))
    (disk / "filler").unlink()
    transact(repo, *many(repo))
    assert repo.git("rev-parse", LOOSE, "refs/heads/new/4/x").split() == [repo.commits[2], repo.commits[0]]


def test_a_disk_without_room_for_another_file_lets_none_through_either(repo: Repository, disk: Path) -> None:
    exhaust(disk)
    with refused(repo, OSError) as caught:
        transact(repo, *many(repo))
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize("into", ["auto", "packed"])
@pytest.mark.parametrize("name", [PACKED, BOTH])
def test_packed_refs_that_cannot_be_written_whole_are_not_replaced(
    repo: Repository, disk: Path, name: str, into: Into
) -> None:
    fill(disk, 20 * PAGE)
    with refused(repo, OSError) as caught:
        transact(repo, ("delete", name, None, ANY), ("update", LOOSE, repo.commits[2], ANY), into=into)
    # A batch that is packed writes the old values of its loose refs first, into a file of their own.
    written = "packed-refs.new" if into == "auto" else "packed-refs.refspan"
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(repo.gitdir / written))


def test_a_full_disk_keeps_nobody_from_deleting_loose_refs(repo: Repository, disk: Path) -> None:
    fill(disk)
    transact(repo, ("delete", LOOSE, None, ANY), ("delete", DEEP, None, ANY), ("verify", BOTH, None, repo.commits[1]))
    assert repo.git("for-each-ref", LOOSE, DEEP) == ""


LIMITED = """
import resource, sys, refspan
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
with refspan.Transaction(sys.argv[1], into=sys.argv[3]) as tx:
    tx.update("refs/heads/loose", sys.argv[4])
    tx.create("refs/heads/new/x/y", sys.argv[4])
    tx.delete("refs/heads/packed")
    try:
        tx.commit()
    except OSError as error:
        print(error.errno, tx.state)
"""


@pytest.mark.parametrize("into", ["auto", "packed"])
@pytest.mark.parametrize("limit", [0, 10, 1000, 100_000])
def test_a_file_that_may_not_grow_is_an_error_of_the_system(tmp_path: Path, limit: int, into: Into) -> None:
    repo = ordinary(tmp_path / "repo")
    grow(repo)
    with untouched(repo):
        said = run_python(LIMITED, repo.path, str(limit), into, repo.commits[2])
    assert said == f"{errno.EFBIG} aborted\n"


def test_values_that_were_packed_on_the_way_are_the_same_after_a_failure(disk: Path) -> None:
    # Before a batch goes into packed-refs, the loose values that it touches do: then the disk may be full.
    repo = ordinary(disk / "repo")
    grow(repo)
    size = (repo.gitdir / "packed-refs").stat().st_size
    before = repo.store().digest()
    new = [("create", f"refs/zebra/{i:05}", repo.commits[0], None) for i in range(3_000)]
    fill(disk, size + 20 * PAGE)
    with pytest.raises(OSError, match="No space"):
        transact(repo, ("update", LOOSE, repo.commits[2], ANY), *new, into="packed")
    assert (repo.store().digest(), (repo.gitdir / "packed-refs.new").exists()) == (before, False)
    assert repo.git("rev-parse", LOOSE) == repo.commits[1]
