"""Many who change one ref at once: of those that expect the same value exactly one gets through."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from race_support import chain_of_commits
from refspan import LockedError, StaleError, Transaction
from refusal_support import BOTH, LOOSE, PACKED, Into, locks, ordinary
from store_support import Repository

ROUNDS = 200


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return ordinary(tmp_path / "repo")


@pytest.mark.parametrize("into", ["auto", "packed"])
def test_of_two_threads_that_expect_one_value_exactly_one_sets_it(repo: Repository, into: Into) -> None:
    store = repo.store()
    barrier = threading.Barrier(2)
    won: list[list[bool]] = [[], []]
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            for turn in range(ROUNDS):
                old = repo.commits[1] if turn == 0 else f"{turn:040x}"
                barrier.wait(60)
                # Both set it to the same: who was late must not take that for its own success.
                with suppress(StaleError):
                    with store.transaction(into=into, check=False, timeout=60) as transaction:
                        transaction.update(LOOSE, f"{turn + 1:040x}", old)
                    won[number].append(True)
                    continue
                won[number].append(False)
        except BaseException as error:
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [sum(turn) for turn in zip(*won, strict=True)] == [1] * ROUNDS
    assert (store[LOOSE].oid, locks(repo)) == (f"{ROUNDS:040x}", [])


COUNT = """
import sys
import refspan
store, name, count, into = refspan.open(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
made = stale = 0
while made < count:
    old = store[name].oid
    try:
        with store.transaction(into=into, check=False, timeout=60) as tx:
            tx.update(name, f"{int(old, 16) + 1:040x}", old)
        made += 1
    except refspan.StaleError:
        stale += 1
print(made)
"""


def run_beside_each_other(*commands: list[str]) -> list[bytes]:
    """What Python scripts print that run at the same time; all must succeed and say nothing else."""
    started = [[sys.executable, "-c", *command] for command in commands]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for command in started]
    done = [(*process.communicate(timeout=120), process.returncode) for process in running]
    assert [(errors, code) for _, errors, code in done] == [(b"", 0)] * len(commands)
    return [said for said, _, _ in done]


@pytest.mark.parametrize("into", ["auto", "packed"])
@pytest.mark.parametrize("name", [LOOSE, PACKED])
def test_processes_that_count_together_lose_no_step(repo: Repository, name: str, into: Into) -> None:
    with Transaction(repo.path, check=False, into=into) as transaction:
        transaction.update(name, f"{1:040x}")
    command = [COUNT, str(repo.path), name, str(ROUNDS), into]
    assert run_beside_each_other(command, command) == [b"%d\n" % ROUNDS] * 2
    assert (repo.store()[name].oid, locks(repo)) == (f"{1 + 2 * ROUNDS:040x}", [])


def test_git_and_a_transaction_that_climb_one_chain_together_leave_out_no_step(repo: Repository) -> None:
    steps = 100
    chain = chain_of_commits(repo.gitdir, 2 * steps + 2)
    next_of = dict(pairwise(chain))
    repo.git("update-ref", BOTH, chain[0])
    store = repo.store()

    def climb() -> None:
        made = 0
        while made < steps:
            old = str(store[BOTH].oid)
            with suppress(StaleError, LockedError), store.transaction() as transaction:
                transaction.update(BOTH, next_of[old], old)
                transaction.commit()
                made += 1

    climbing = threading.Thread(target=climb)
    climbing.start()
    made = 0
    while made < steps:
        old = (repo.gitdir / BOTH).read_text().strip()
        git = ["git", "update-ref", BOTH, next_of[old], old]
        made += subprocess.run(git, cwd=repo.path, capture_output=True, check=False).returncode == 0
    climbing.join()
    assert (repo.git("rev-parse", BOTH), locks(repo)) == (chain[2 * steps], [])


COME_AND_GO = """
import sys
import refspan
store, name, oid = refspan.open(sys.argv[1]), sys.argv[2], sys.argv[3]
for _ in range(200):
    with store.transaction(timeout=60) as tx:
        tx.create(name, oid)
    with store.transaction(timeout=60) as tx:
        tx.delete(name, oid)
"""


def test_refs_that_come_and_go_in_one_directory_do_not_take_it_from_each_other(repo: Repository) -> None:
    # Who removes the last ref removes the directory, in which another is about to make its lock.
    names = [f"refs/heads/d/e/{name}" for name in ("x", "y", "z/z")]
    run_beside_each_other(*([COME_AND_GO, str(repo.path), name, repo.commits[0]] for name in names))
    assert not (repo.gitdir / "refs/heads/d").exists()
