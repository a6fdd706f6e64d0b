"""How long a transaction waits for a lock, and what it believes when it has it at last."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from refspan import ANY, LockedError, StaleError, Transaction, TransactionStateError
from refusal_support import BOTH, DEEP, LOOSE, PACKED, lock, locks, ordinary, refused, transact, untouched
from store_support import Repository


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return ordinary(tmp_path / "repo")


@contextmanager
def waits(least: float, most: float) -> Iterator[None]:
    """The block takes so many seconds, on a machine that may be busy."""
    start = time.monotonic()
    yield
    assert least <= time.monotonic() - start < most


SETTINGS = [(LOOSE, "core.filesRefLockTimeout"), ("packed-refs", "core.packedRefsTimeout")]


@pytest.mark.parametrize(("held", "setting"), SETTINGS)
def test_a_lock_is_waited_for_as_long_as_the_configuration_says(repo: Repository, held: str, setting: str) -> None:
    lock(repo, held)
    for time_, least, most in ((0, 0, 0.2), (300, 0.2, 2)):
        repo.git("config", setting, str(time_))
        with refused(repo, LockedError), waits(least, most):
            transact(repo, ("delete", LOOSE, None, ANY))


@pytest.mark.parametrize("held", [LOOSE, "packed-refs"])
def test_a_lock_is_waited_for_as_long_as_the_caller_says_whatever_the_configuration_does(
    repo: Repository, held: str
) -> None:
    lock(repo, held)
    for _, setting in SETTINGS:
        repo.git("config", setting, "-1")
    for timeout, least, most in ((0, 0, 0.2), (-0.0, 0, 0.2), (0.3, 0.2, 2.0)):
        with refused(repo, LockedError), waits(least, most):
            transact(repo, ("delete", LOOSE, None, ANY), timeout=timeout)


def test_unless_anything_is_said_a_ref_is_waited_for_shortly_and_packed_refs_for_a_second(repo: Repository) -> None:
    path = lock(repo, LOOSE)
    with refused(repo, LockedError), waits(0.07, 0.9):
        transact(repo, ("update", LOOSE, repo.commits[2], ANY))
    path.unlink()
    lock(repo, "packed-refs")
    with refused(repo, LockedError), waits(0.7, 4):
        transact(repo, ("delete", LOOSE, None, ANY))


@pytest.mark.parametrize("held", [LOOSE, "packed-refs"])
@pytest.mark.parametrize("timeout", [float("inf"), 1e300, 30, None])
def test_a_lock_that_is_released_meanwhile_is_taken(repo: Repository, held: str, timeout: float | None) -> None:
    if timeout is None:
        for _, setting in SETTINGS:
            repo.git("config", setting, "-1")
    path = lock(repo, held)
    # Longer than either is waited for by default, were there no -1.
    release = threading.Timer(1.5 if timeout is None and held == "packed-refs" else 0.3, path.unlink)
    release.start()
    transact(repo, ("delete", LOOSE, None, ANY), timeout=timeout)
    release.join()
    assert (repo.git("for-each-ref", LOOSE), locks(repo)) == ("", [])


def test_values_are_compared_under_the_lock_not_before(repo: Repository) -> None:
    path = lock(repo, LOOSE)

    def change() -> None:
        repo.loose(LOOSE, f"{repo.commits[2]}\n")
        path.unlink()

    threading.Timer(0.2, change).start()
    with pytest.raises(StaleError) as caught:
        transact(repo, ("update", LOOSE, repo.commits[0], repo.commits[1]), timeout=30)
    assert (caught.value.expected, caught.value.actual) == (repo.commits[1], repo.commits[2])


def test_packed_refs_are_read_under_their_lock_not_before(repo: Repository) -> None:
    path = lock(repo, "packed-refs")
    store = repo.store()
    assert len(list(store)) == 5
    packed = repo.gitdir / "packed-refs"

    def change() -> None:
        packed.write_text(f"{packed.read_text()}{repo.commits[2]} refs/zebra\n")
        path.unlink()

    threading.Timer(0.2, change).start()
    with store.transaction(timeout=30) as transaction:
        transaction.delete(PACKED)
    assert repo.git("for-each-ref", "--format=%(refname)", PACKED, "refs/zebra") == "refs/zebra"


def test_another_thread_is_told_that_the_transaction_is_in_use(repo: Repository) -> None:
    path = lock(repo, LOOSE)
    transaction = Transaction(repo.path, timeout=60)
    transaction.update(DEEP, repo.commits[2])
    transaction.update(LOOSE, repo.commits[2])
    uses: list[Callable[[], object]] = [transaction.prepare, transaction.commit, transaction.abort, transaction.plan]
    uses += [lambda: transaction.update(BOTH, repo.commits[2]), lambda: transaction.apply([])]
    uses += [lambda: transaction.state, lambda: transaction.__exit__(None, None, None)]
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(transaction.prepare)
        try:
            while f"{DEEP}.lock" not in locks(repo) and not waiting.done():
                time.sleep(0.001)
            with untouched(repo):
                for use in uses:
                    with pytest.raises(TransactionStateError, match="another thread"):
                        use()
                assert "in use" in repr(transaction)
        finally:
            path.unlink()
        waiting.result()
    assert transaction.state == "prepared"
    transaction.commit()
    assert repo.git("rev-parse", LOOSE, DEEP).split() == [repo.commits[2]] * 2
