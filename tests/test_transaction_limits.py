"""Few descriptors, and files that shrink while they are read: neither stops a transaction, nor ends the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from refusal_support import PACKED, Into, locks, ordinary, quick_folder
from store_support import Repository
from support import GIT_TRAITS, Ref, run_python, write_packed

MANY = 20_000


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return ordinary(tmp_path / "repo")


FEW = f"""
import os, resource, sys, refspan
resource.setrlimit(resource.RLIMIT_NOFILE, (96, 96))
store = refspan.open(sys.argv[1])
names = [f"refs/many/{{i % 100:02}}/{{i:05}}" for i in range({MANY})]
for edits in (
    [("create", name, sys.argv[2], None) for name in names],
    [("verify", name, None, sys.argv[2]) for name in names],
    [("delete", name, None, sys.argv[2]) for name in names],
):
    tx = store.transaction(into=sys.argv[3])
    tx.apply(edits)
    before = len(os.listdir("/dev/fd"))
    tx.prepare()
    # The object database may keep some open.
    assert len(os.listdir("/dev/fd")) <= before + 4
    tx.commit()
    print(len(store.snapshot()))
"""


@pytest.mark.parametrize("into", ["auto", "packed"])
def test_many_edits_take_few_descriptors(into: Into) -> None:
    with quick_folder() as folder:
        repo = ordinary(folder / "repo")
        there = len(repo.store())
        said = run_python(FEW, repo.path, repo.commits[0], into)
        assert said.split() == [str(there + MANY)] * 2 + [str(there)]
        assert locks(repo) == []


def large(repo: Repository) -> bytes:
    """Have a packed-refs that is far larger than any buffer; returns its content."""
    oid = repo.commits[0].encode()
    names = sorted([PACKED.encode(), *(b"refs/pull/%06d/head" % i for i in range(30_000))])
    return write_packed(repo.gitdir / "packed-refs", [Ref(name, oid, None) for name in names], GIT_TRAITS).read_bytes()


SHORTENED = f"""
import os, sys, refspan
path = os.path.join(sys.argv[1], "packed-refs")
tx = refspan.Transaction(sys.argv[1])
tx.delete("{PACKED}")
tx.delete("refs/pull/000007/head")
tx.prepare()
os.truncate(path, int(sys.argv[2]))
tx.plan()
tx.commit()
"""


@pytest.mark.parametrize("size", [0, 10, 5000, 100_000])
def test_packed_refs_that_are_cut_in_place_once_all_is_prepared_do_no_harm(repo: Repository, size: int) -> None:
    lines = large(repo).splitlines(keepends=True)
    assert run_python(SHORTENED, repo.path, str(size)) == ""
    gone = (PACKED.encode(), b"refs/pull/000007/head")
    left = b"".join(line for line in lines if not line.rstrip().endswith(gone))
    assert (repo.gitdir / "packed-refs").read_bytes() == left


AMID = """
import collections, sys, refspan
done = collections.Counter()
for turn in range(60):
    tx = refspan.Transaction(sys.argv[1], into=("auto", "packed")[turn % 2], timeout=10)
    try:
        if turn % 2:
            tx.update("refs/zebra", sys.argv[2])
        else:
            tx.delete("refs/zebra")
        tx.update("refs/heads/some", sys.argv[2])
        tx.commit()
    except refspan.CorruptError as error:
        assert error.path.endswith("packed-refs"), error
        done["refused"] += 1
    else:
        done["made"] += 1
assert done.total() == 60
"""


def test_packed_refs_that_are_cut_in_place_while_they_are_rewritten_do_no_harm(repo: Repository) -> None:
    content = large(repo)
    command = [sys.executable, "-c", AMID, str(repo.path), repo.commits[1]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as writing:
        while writing.poll() is None:
            # In place: the file that the writer has open is the one that shrinks, and grows again.
            with (repo.gitdir / "packed-refs").open("r+b") as file:
                file.truncate(len(content) // 3)
                file.truncate(0)
                file.write(content)
        said = writing.communicate(timeout=60)
    assert (writing.returncode, said) == (0, ("", ""))
    assert locks(repo) == []
