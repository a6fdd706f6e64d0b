"""The states of a transaction: what may follow on what, and that what may not changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from refspan import ANY, StaleError, Transaction, TransactionStateError
from refusal_support import BOTH, LOOSE, PACKED, Into, everything, locks, ordinary, refused, untouched
from store_support import Repository


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return ordinary(tmp_path / "repo")


def filled(repo: Repository) -> Transaction:
    transaction = Transaction(repo.path)
    transaction.update(LOOSE, repo.commits[2], repo.commits[1])
    transaction.delete(PACKED, repo.commits[0])
    return transaction


Use = Callable[[Transaction, Repository], object]
ADDING: list[Use] = [
    lambda transaction, repo: transaction.create("refs/heads/new", repo.commits[0]),
    lambda transaction, repo: transaction.update(BOTH, repo.commits[0]),
    lambda transaction, repo: transaction.delete(BOTH),
    lambda transaction, repo: transaction.verify(BOTH, repo.commits[1]),
    lambda transaction, repo: transaction.apply([("delete", BOTH, None, ANY)]),
    lambda transaction, repo: transaction.apply([]),
    lambda transaction, _: transaction.prepare(),
]
COMMITTING: list[Use] = [lambda transaction, _: transaction.commit()]
ABORTING: list[Use] = [lambda transaction, _: transaction.abort()]
PLANNING: list[Use] = [lambda transaction, _: transaction.plan()]


def test_a_prepared_transaction_takes_no_more_edits(repo: Repository) -> None:
    transaction = filled(repo)
    transaction.prepare()
    for use in ADDING:
        with refused(repo, TransactionStateError):
            use(transaction, repo)
    assert transaction.state == "prepared"
    transaction.commit()
    assert repo.git("rev-parse", LOOSE) == repo.commits[2]


def test_a_committed_transaction_can_be_used_for_nothing(repo: Repository) -> None:
    transaction = filled(repo)
    transaction.commit()
    for use in ADDING + COMMITTING + ABORTING + PLANNING:
        with refused(repo, TransactionStateError):
            use(transaction, repo)
    assert transaction.state == "committed"
    # What was committed within the block is not undone by an exception, nor made again by its end.
    with untouched(repo), transaction:
        pass
    with refused(repo, ZeroDivisionError), transaction:
        raise ZeroDivisionError


def test_an_aborted_transaction_can_only_be_aborted_again(repo: Repository) -> None:
    for prepares in (False, True):
        transaction = filled(repo)
        with untouched(repo):
            if prepares:
                transaction.prepare()
            transaction.abort()
        for use in ADDING + COMMITTING + PLANNING:
            with refused(repo, TransactionStateError):
                use(transaction, repo)
        with untouched(repo):
            transaction.abort()
            transaction.abort()
            with transaction:
                pass
        assert transaction.state == "aborted"


@pytest.mark.parametrize("how", ["prepare", "commit"])
def test_a_transaction_that_could_not_be_prepared_is_aborted(repo: Repository, how: str) -> None:
    transaction = filled(repo)
    transaction.create("refs/heads/x/y", repo.commits[0])
    transaction.verify(BOTH, repo.commits[0])
    with refused(repo, StaleError):
        getattr(transaction, how)()
    assert (transaction.state, transaction.rejected) == ("aborted", [])
    with untouched(repo):
        for use in ADDING + COMMITTING:
            with pytest.raises(TransactionStateError):
                use(transaction, repo)
        transaction.abort()
    # Another one is not in its way.
    filled(repo).commit()


@pytest.mark.parametrize("into", ["auto", "packed"])
@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize("prepares", [True, False])
def test_a_transaction_without_edits_changes_nothing(
    repo: Repository, into: Into, atomic: bool, prepares: bool
) -> None:
    transaction = Transaction(repo.path, into=into, atomic=atomic)
    before = everything(repo.gitdir, times=True)
    if prepares:
        transaction.prepare()
        assert locks(repo) == []
    transaction.commit()
    assert (transaction.state, transaction.rejected) == ("committed", [])
    assert everything(repo.gitdir, times=True) == before


def test_the_end_of_the_block_leaves_alone_what_is_done_already(repo: Repository) -> None:
    with Transaction(repo.path) as committed:
        committed.update(LOOSE, repo.commits[2])
        committed.commit()
        assert repo.git("rev-parse", LOOSE) == repo.commits[2]
    with untouched(repo), Transaction(repo.path) as aborted:
        aborted.update(LOOSE, repo.commits[0])
        aborted.abort()
    assert (committed.state, aborted.state) == ("committed", "aborted")


def test_a_transaction_tells_its_state_and_how_many_edits_it_has(repo: Repository) -> None:
    transaction = filled(repo)
    assert (transaction.state, "open, 2 edits" in repr(transaction)) == ("open", True)
    transaction.prepare()
    assert (transaction.state, "prepared" in repr(transaction)) == ("prepared", True)
    transaction.commit()
    assert (transaction.state, "committed" in repr(transaction)) == ("committed", True)
