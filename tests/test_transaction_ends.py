"""How a prepared transaction may end without a word: with its object, with the interpreter, with a forked process."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest
from refspan import Transaction
from refusal_support import BOTH, DEEP, LOOSE, PACKED, Into, lock, locks, ordinary, untouched
from store_support import Repository
from support import run_python


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return ordinary(tmp_path / "repo")


def prepared(repo: Repository, into: Into = "auto") -> Transaction:
    transaction = Transaction(repo.path, into=into)
    transaction.update(LOOSE, repo.commits[2])
    transaction.create("refs/heads/a/b/c", repo.commits[2])
    transaction.delete(PACKED)
    transaction.prepare()
    assert len(locks(repo)) == 5
    return transaction


@pytest.mark.parametrize("into", ["auto", "packed"])
def test_a_prepared_transaction_that_is_forgotten_leaves_no_lock(repo: Repository, into: Into) -> None:
    before = repo.store().digest()
    transaction = prepared(repo, into)
    del transaction
    assert (locks(repo), repo.store().digest()) == ([], before)
    assert not (repo.gitdir / "refs/heads/a").exists()


def test_one_that_is_part_of_a_cycle_leaves_none_once_that_is_collected(repo: Repository) -> None:
    class Holder:
        pass

    with untouched(repo):
        holder = Holder()
        holder.__dict__.update(itself=holder, transaction=prepared(repo))
        del holder
        gc.collect()


def test_an_open_transaction_that_is_forgotten_changes_nothing(repo: Repository) -> None:
    with untouched(repo):
        transaction = Transaction(repo.path)
        transaction.update(LOOSE, repo.commits[2])
        del transaction


START = f"""
import atexit, gc, os, sys, threading, time, refspan
gc.disable()
tx = refspan.Transaction(sys.argv[1])
tx.update("{LOOSE}", sys.argv[2])
tx.create("refs/heads/a/b/c", sys.argv[2])
tx.delete("{PACKED}")
tx.prepare()
assert os.path.exists(os.path.join(sys.argv[1], "packed-refs.new"))
"""
ENDS = {
    "at the end of the script": "",
    "by sys.exit": "sys.exit()",
    "by an exception": "1 / 0",
    "in a cycle": "cycle = [tx]; cycle.append(cycle); del tx, cycle",
    "in a module": "sys.tx = tx; refspan.tx = tx; del tx",
    "in another thread": "threading.Thread(target=lambda tx: time.sleep(60), args=(tx,), daemon=True).start()",
    "by sys.exit in a thread": "t = threading.Thread(target=sys.exit); t.start(); t.join()",
    "amid its block": "with tx: sys.exit()",
    "by Ctrl-C": "raise KeyboardInterrupt",
}


def run(repo: Repository, script: str) -> tuple[int, str, str]:
    """How a script ends that is given the path of the repository and one of its commits, and what it says."""
    command = [sys.executable, "-c", script, str(repo.path), repo.commits[2]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_no_lock_outlives_the_interpreter(repo: Repository, end: str) -> None:
    with untouched(repo):
        _, out, errors = run(repo, START + end)
    assert (out, "panic" in errors, "refspan" in errors) == ("", False, False)


def test_what_is_run_at_exit_may_still_commit(repo: Repository) -> None:
    assert run(repo, START + "atexit.register(tx.commit)") == (0, "", "")
    assert (repo.git("rev-parse", LOOSE, "refs/heads/a/b/c").split(), locks(repo)) == ([repo.commits[2]] * 2, [])


def test_a_thread_that_waits_for_a_lock_as_the_interpreter_ends_leaves_none_of_its_own(repo: Repository) -> None:
    script = f"""
import os, sys, threading, time, refspan
tx = refspan.Transaction(sys.argv[1], timeout=float("inf"))
tx.update("{DEEP}", sys.argv[2])
tx.update("{LOOSE}", sys.argv[2])
threading.Thread(target=tx.prepare, daemon=True).start()
while not os.path.exists(os.path.join(sys.argv[1], "{DEEP}.lock")):
    time.sleep(0.001)
"""
    lock(repo, LOOSE)
    with untouched(repo):
        code, out, errors = run(repo, script)
    # Whether the thread still gets to say that it was stopped is left to chance.
    assert (code, out, "panic" in errors) == (0, "", False)


FORK = f"""
import gc, os, sys, refspan

def locks():
    files = (os.path.join(path, file) for path, _, files in os.walk(sys.argv[1]) for file in files)
    return sorted(file for file in files if file.endswith((".lock", "packed-refs.new")))

def expect(error, use):
    try:
        use()
    except error:
        return
    raise AssertionError("no " + error.__name__)

tx = refspan.Transaction(sys.argv[1], into=sys.argv[3])
tx.update("{LOOSE}", sys.argv[2])
tx.create("refs/heads/a/b/c", sys.argv[2])
tx.delete("{PACKED}")
tx.prepare()
held = locks()
assert len(held) == 5
pid = os.fork()
if pid == 0:
    own = refspan.Transaction(sys.argv[1], timeout=0)
    %s
    assert locks() == held, "gone within the child"
    %s
_, status = os.waitpid(pid, 0)
assert status == 0, status
assert locks() == held, set(held) - set(locks())
tx.commit()
assert locks() == []
"""
WITHIN = {
    "leaves it alone": "pass",
    "commits it": "expect(refspan.TransactionStateError, tx.commit)",
    "prepares it": "expect(refspan.TransactionStateError, tx.prepare)",
    "edits it": f"expect(refspan.TransactionStateError, lambda: tx.update('{BOTH}', sys.argv[2]))",
    "aborts it": "tx.abort()",
    "forgets it": "del tx; gc.collect()",
    "ends its block": "expect(refspan.TransactionStateError, lambda: tx.__exit__(None, None, None))",
    "prepares its own": f"own.update('{BOTH}', sys.argv[2]); own.prepare(); own.abort()",
    "is in its own way": f"own.delete('{BOTH}'); expect(refspan.LockedError, own.prepare)",
}


@pytest.mark.parametrize("end", ["sys.exit()", "os._exit(0)"])
@pytest.mark.parametrize("within", WITHIN.values(), ids=WITHIN)
def test_a_child_cannot_end_what_its_parent_prepared(repo: Repository, within: str, end: str) -> None:
    assert run_python(FORK % (within, end), repo.path, repo.commits[2], "auto") == ""
    assert repo.git("rev-parse", LOOSE, "refs/heads/a/b/c").split() == [repo.commits[2]] * 2
    assert repo.git("for-each-ref", PACKED) == ""


@pytest.mark.parametrize("into", ["auto", "packed"])
def test_a_child_that_ends_by_an_exception_leaves_its_parents_locks_alone(repo: Repository, into: Into) -> None:
    within = "sys.stderr = open(os.devnull, 'w')"
    script = FORK.replace("assert status == 0", "assert status == 256") % (within, "raise ZeroDivisionError")
    assert run_python(script, repo.path, repo.commits[2], into) == ""
    assert repo.git("rev-parse", LOOSE) == repo.commits[2]


def test_a_child_may_commit_what_was_not_prepared(repo: Repository) -> None:
    script = f"""
import multiprocessing, os, sys, refspan

def own():
    with store.transaction() as tx:
        tx.create("refs/heads/child", sys.argv[2])

store = refspan.open(sys.argv[1])
tx = store.transaction()
tx.update("{LOOSE}", sys.argv[2])
if os.fork() == 0:
    tx.commit()
    sys.exit()
assert os.wait()[1] == 0
assert store["{LOOSE}"].oid == sys.argv[2] and tx.state == "open"
tx.delete("{DEEP}")
tx.prepare()
process = multiprocessing.get_context("fork").Process(target=own)
process.start()
process.join()
assert process.exitcode == 0
tx.commit()
"""
    assert run_python(script, repo.path, repo.commits[2]) == ""
    assert repo.git("rev-parse", LOOSE, "refs/heads/child").split() == [repo.commits[2]] * 2
    assert (repo.git("for-each-ref", DEEP), locks(repo)) == ("", [])


def test_a_child_that_is_forked_while_another_thread_prepares_goes_its_own_way(repo: Repository) -> None:
    script = f"""
import os, sys, threading, time, refspan
store = refspan.open(sys.argv[1])
waiting = store.transaction(timeout=float("inf"))
waiting.update("{DEEP}", sys.argv[2])
waiting.update("{LOOSE}", sys.argv[2])
thread = threading.Thread(target=waiting.prepare)
thread.start()
while not os.path.exists(os.path.join(sys.argv[1], "{DEEP}.lock")):
    time.sleep(0.001)
if os.fork() == 0:
    with store.transaction() as tx:
        tx.create("refs/heads/child", sys.argv[2])
    sys.exit()
assert os.wait()[1] == 0
assert os.path.exists(os.path.join(sys.argv[1], "{DEEP}.lock"))
os.unlink(os.path.join(sys.argv[1], "{LOOSE}.lock"))
thread.join()
waiting.commit()
"""
    lock(repo, LOOSE)
    # A process with threads must not be forked, newer versions of Python say; those who do it know that.
    assert run_python(script, repo.path, repo.commits[2], options=["-W", "ignore"]) == ""
    assert repo.git("rev-parse", LOOSE, DEEP, "refs/heads/child").split() == [repo.commits[2]] * 3
    assert locks(repo) == []
