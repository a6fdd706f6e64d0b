"""Ctrl-C, and what other signal handlers raise, amid a transaction: no lock is left, and nothing is half done."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from refusal_support import DEEP, LOOSE, PACKED, Into, lock, locks, ordinary, quick_folder, untouched
from store_support import Repository
from support import run_python

# More than are done by the time that anybody notices that they were begun.
MANY, VERY_MANY = 20_000, 60_000


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return ordinary(tmp_path / "repo")


def interrupted(repo: Repository, script: str, *args: str, when: Callable[[], bool]) -> tuple[int, str, str]:
    """Run a script, which is given the path of the repository and one of its commits, and interrupt it."""
    command = [sys.executable, "-c", script, str(repo.path), repo.commits[2], *args]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not when():
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    return process.returncode, out, errors


WAIT = f"""
import sys, refspan
tx = refspan.Transaction(sys.argv[1], timeout=float("inf"))
tx.update("{DEEP}", sys.argv[2])
tx.create("refs/heads/a/b/c", sys.argv[2])
tx.update("{LOOSE}", sys.argv[2])
tx.delete("{PACKED}")
try:
    tx.prepare()
except KeyboardInterrupt:
    print("interrupted", tx.state)
"""


@pytest.mark.parametrize(
    ("held", "last"), [(LOOSE, "refs/heads/deep/er/loose.lock"), ("packed-refs", f"{PACKED}.lock")]
)
def test_ctrl_c_ends_the_wait_for_a_lock_and_gives_the_others_back(repo: Repository, held: str, last: str) -> None:
    lock(repo, held)
    with untouched(repo):
        done = interrupted(repo, WAIT, when=lambda: (repo.gitdir / last).exists())
        assert done == (0, "interrupted aborted\n", "")


def test_ctrl_c_that_nobody_catches_leaves_no_lock_either(repo: Repository) -> None:
    lock(repo, LOOSE)
    script = WAIT.replace("except KeyboardInterrupt", "except ZeroDivisionError")
    with untouched(repo):
        code, out, errors = interrupted(repo, script, when=lambda: f"{DEEP}.lock" in locks(repo))
        assert (code, out, errors.splitlines()[-1]) == (-signal.SIGINT, "", "KeyboardInterrupt")


LARGE = f"""
import sys, refspan
tx = refspan.Transaction(sys.argv[1], into=sys.argv[4])
if sys.argv[3] == "create":
    tx.apply(("create", f"refs/many/{{i // 100}}/{{i}}", sys.argv[2], None) for i in range({VERY_MANY}))
else:
    tx.apply(("delete", f"refs/many/{{i // 100}}/{{i}}", None, refspan.ANY) for i in range({VERY_MANY}))
try:
    tx.prepare()
except KeyboardInterrupt:
    print("interrupted", tx.state)
"""


@pytest.mark.parametrize("into", ["auto", "packed"])
@pytest.mark.parametrize("verb", ["create", "delete"])
def test_ctrl_c_ends_the_preparation_of_a_large_batch(repo: Repository, verb: str, into: Into) -> None:
    (repo.gitdir / "refs/many").mkdir()
    with untouched(repo):
        first = repo.gitdir / "refs/many/0/0.lock"
        done = interrupted(repo, LARGE, verb, into, when=first.exists)
        assert done == (0, "interrupted aborted\n", "")


COMMIT = f"""
import sys, time, refspan
tx = refspan.Transaction(sys.argv[1])
tx.apply(("create", f"refs/many/{{i:05}}", sys.argv[2], None) for i in range({MANY}))
try:
    tx.prepare()
    tx.commit()
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted", tx.state)
"""


def test_ctrl_c_during_a_commit_waits_until_all_is_done() -> None:
    with quick_folder() as folder:
        repo = ordinary(folder / "repo")
        done = interrupted(repo, COMMIT, when=(repo.gitdir / "refs/many/00000").exists)
        assert done == (0, "interrupted committed\n", "")
        assert len(list((repo.gitdir / "refs/many").iterdir())) == MANY
        assert locks(repo) == []


HANDLER = f"""
import os, signal, sys, refspan

class Ours(Exception):
    pass

def handler(*_):
    said.append(use())
    if sys.argv[3] == "raise":
        raise Ours
    if len(said) == 3:
        os.unlink(os.path.join(sys.argv[1], "{LOOSE}.lock"))

def use():
    try:
        tx.abort()
    except refspan.TransactionStateError as error:
        return str(error)

said = []
tx = refspan.Transaction(sys.argv[1], timeout=float("inf"))
tx.update("{DEEP}", sys.argv[2])
tx.update("{LOOSE}", sys.argv[2])
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
try:
    tx.prepare()
except Ours:
    print("ours")
signal.setitimer(signal.ITIMER_REAL, 0)
print(tx.state, set(said))
"""


def test_what_a_signal_handler_raises_ends_the_wait(repo: Repository) -> None:
    lock(repo, LOOSE)
    with untouched(repo):
        said = run_python(HANDLER, repo.path, repo.commits[2], "raise")
    assert said == "ours\naborted {'another thread is using the transaction'}\n"


def test_a_signal_handler_that_raises_nothing_does_not_end_the_wait(repo: Repository) -> None:
    path = lock(repo, LOOSE)
    said = run_python(HANDLER, repo.path, repo.commits[2], "wait")
    assert said == "prepared {'another thread is using the transaction'}\n"
    # The end of the interpreter aborted it.
    assert (path.exists(), locks(repo)) == (False, [])


REJECTED = f"""
import signal, sys, refspan

def handler(signum, frame):
    # Only while the exceptions of refused edits are made.
    if frame.f_code.co_name == "__init__":
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise KeyboardInterrupt

tx = refspan.Transaction(sys.argv[1], atomic=False)
tx.apply(("verify", f"refs/no/{{i:05}}", None, sys.argv[2]) for i in range({MANY}))
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
try:
    tx.prepare()
except KeyboardInterrupt:
    print("interrupted")
else:
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(sorted({{type(error).__name__ for _, error in tx.rejected}}))
"""


def test_ctrl_c_is_not_taken_for_the_reason_of_a_refusal(repo: Repository) -> None:
    with untouched(repo):
        (repo.gitdir / "refs/no").mkdir()
        said = run_python(REJECTED, repo.path, repo.commits[2])
        (repo.gitdir / "refs/no").rmdir()
    # The latter only if no alarm came in time.
    assert said in ("interrupted\n", "['RefNotFoundError']\n")
