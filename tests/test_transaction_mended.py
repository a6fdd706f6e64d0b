"""Faults that were found by others' eyes, one test each."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from refspan import ANY, CaseConflictError, Edit, InvalidValueError
from store_support import Repository, build
from support import run_python


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return build(tmp_path / "repo.git", bare=True)


WRITER = """
import sys, refspan
store = refspan.open(sys.argv[1])
for turn in range(4):
    with store.transaction(timeout=60, check=False) as tx:
        tx.apply(("update", f"refs/x/{i:05}", sys.argv[2], refspan.ANY) for i in range(2500))
print("done")
"""


def test_two_large_batches_over_the_same_refs_do_not_wait_for_each_other(repo: Repository) -> None:
    """Both take their locks in order of name, so one of them gets all."""
    command = [sys.executable, "-c", WRITER, str(repo.path)]
    pipe = subprocess.PIPE
    writers = [subprocess.Popen([*command, oid], stdout=pipe, stderr=pipe, text=True) for oid in repo.commits[:2]]
    assert [writer.communicate(timeout=50) for writer in writers] == [("done\n", "")] * 2
    assert {ref.oid for ref in repo.store()} <= set(repo.commits[:2])


INTERRUPTED = """
import os, signal, sys, threading, refspan
tx = refspan.Transaction(sys.argv[1], timeout=float("inf"))
tx.apply(("create", f"refs/x/{i:05}", sys.argv[2], None) for i in range(3000))
threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    tx.prepare()
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("held", [100, 2900])
def test_ctrl_c_is_heard_wherever_in_a_large_batch_a_lock_is_waited_for(repo: Repository, held: int) -> None:
    lock = repo.loose(f"refs/x/{held:05}.lock", "")
    assert run_python(INTERRUPTED, repo.path, repo.commits[0]) == "interrupted\n"
    assert [path for path in repo.path.rglob("*.lock") if path != lock] == []


def test_a_plan_knows_what_is_loose(repo: Repository) -> None:
    repo.create("refs/x/a")
    same = repo.store().transaction(into="packed")
    same.update("refs/x/a", repo.commits[0])
    gone = repo.store().transaction(into="packed")
    gone.delete("refs/x/a")
    for tx, is_rewritten in ((same, False), (gone, True)):
        before = tx.plan()
        tx.prepare()
        after = tx.plan()
        tx.abort()
        assert (bool(before.put), before.put, before.kept) == (is_rewritten, after.put, after.kept)
        assert sorted(before.locks) == sorted(after.locks)


def test_an_object_that_cannot_be_read_is_none(repo: Repository) -> None:
    oid = repo.git("commit-tree", "-m", "cut", repo.git("mktree"))
    path = repo.path / "objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    for name in ("refs/heads/x", "refs/x/x"):
        tx = repo.store().transaction()
        tx.create(name, oid)
        with pytest.raises(InvalidValueError, match="cannot be read"):
            tx.commit()
    assert list(repo.store()) == []


def test_directories_may_differ_in_case_from_each_other(repo: Repository) -> None:
    """As for git: they are one directory, and hold different files."""
    repo.git("config", "core.ignoreCase", "true")
    with repo.store().transaction() as tx:
        tx.create("refs/x/Foo/a", repo.commits[0])
        tx.create("refs/x/foo/b", repo.commits[0])
    assert len(list(repo.store())) == 2


@pytest.mark.parametrize(("first", "second"), [("Foo", "foo"), ("foo", "Foo/bar"), ("Foo/bar", "foo")])
def test_names_that_are_one_file_but_for_case_conflict(repo: Repository, first: str, second: str) -> None:
    repo.git("config", "core.ignoreCase", "true")
    tx = repo.store().transaction()
    tx.create(f"refs/x/{first}", repo.commits[0])
    tx.create(f"refs/x/{second}", repo.commits[0])
    with pytest.raises(CaseConflictError) as caught:
        tx.commit()
    assert (caught.value.name, caught.value.other) == (f"refs/x/{second}", f"refs/x/{first}")
    assert list(repo.store()) == []


def test_what_is_rejected_for_its_value_does_not_conflict_by_case(repo: Repository) -> None:
    repo.git("config", "core.ignoreCase", "true")
    with repo.store().transaction(atomic=False) as tx:
        tx.create("refs/x/Foo", "1" * 40)
        tx.create("refs/x/foo", repo.commits[0])
    assert [(edit.name, type(error)) for edit, error in tx.rejected] == [("refs/x/Foo", InvalidValueError)]
    assert [ref.name for ref in repo.store()] == ["refs/x/foo"]


def test_an_edit_can_be_copied_and_pickled(repo: Repository) -> None:
    for edit in (
        Edit("create", "refs/x/a", repo.commits[0]),
        Edit("update", "refs/x/\udce9", repo.commits[0], ANY),
        Edit("delete", "refs/x/a", None, repo.commits[1]),
        Edit("verify", "refs/x/a"),
        Edit("update", "refs/x/a", repo.commits[0]),
        Edit("delete", "refs/x/a"),
    ):
        assert copy.deepcopy(edit) == pickle.loads(pickle.dumps(edit)) == edit
        assert hash(pickle.loads(pickle.dumps(edit))) == hash(edit)


def test_unless_told_otherwise_an_edit_expects_what_the_method_of_its_name_does(repo: Repository) -> None:
    assert Edit("update", "refs/x/a", repo.commits[0]).old is Edit("delete", "refs/x/a").old is ANY
    assert Edit("create", "refs/x/a", repo.commits[0]).old is Edit("verify", "refs/x/a").old is None
    assert Edit("update", "refs/x/a", repo.commits[0], None).old is None


FULL = """
import resource, signal, sys, refspan
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
tx = refspan.Transaction(sys.argv[1], into="packed")
tx.update("refs/x/loose", sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
try:
    tx.commit()
except OSError as error:
    print(error.filename)
"""


def test_an_error_names_the_file_that_could_not_be_written(repo: Repository) -> None:
    """Of a batch that changes loose refs the old values are written first, and into another file."""
    repo.create("refs/x/loose", "refs/x/packed")
    assert run_python(FULL, repo.path, repo.commits[1]).strip() == str(repo.path / "packed-refs.refspan")
    assert [path.name for path in repo.path.iterdir() if path.name.startswith("packed-refs")] == []
