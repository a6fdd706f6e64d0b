"""A transaction that is put together or used wrongly: each mistake is told, and nothing comes of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import refspan
from refspan import (
    ANY,
    Edit,
    InvalidValueError,
    RefExistsError,
    RefNameError,
    RepositoryNotFoundError,
    StaleError,
    Transaction,
    TransactionStateError,
    UnsupportedError,
)
from refusal_support import BOTH, DEEP, LOOSE, PACKED, TAG, Given, ordinary, refused, transact, untouched
from store_support import Repository

NEW = "refs/heads/new"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """For tests that change nothing."""
    return ordinary(tmp_path_factory.mktemp("input") / "repo")


def test_the_old_value_must_go_with_the_verb(repo: Repository) -> None:
    oid = repo.commits[0]
    transaction = Transaction(repo.path)
    wrong: list[Given] = [
        ("create", NEW, oid, ANY),
        ("create", NEW, oid, oid),
        ("delete", NEW, None, None),
        ("verify", NEW, None, ANY),
    ]
    with untouched(repo):
        for edit in wrong:
            with pytest.raises(ValueError, match="old"):
                transaction.apply([edit])
            with pytest.raises(ValueError, match="old"):
                Edit(*edit)
        with pytest.raises(ValueError, match="old"):
            transaction.delete(NEW, None)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="old"):
            transaction.verify(NEW, ANY)  # type: ignore[arg-type]
        transaction.commit()


def test_the_new_value_must_go_with_the_verb(repo: Repository) -> None:
    oid = repo.commits[0]
    transaction = Transaction(repo.path)
    wrong: list[Given] = [
        ("create", NEW, None, None),
        ("update", NEW, None, ANY),
        ("delete", NEW, oid, ANY),
        ("verify", NEW, oid, oid),
    ]
    for edit in wrong:
        with refused(repo, ValueError):
            transaction.apply([edit])
        with pytest.raises(ValueError, match="new object id"):
            Edit(*edit)
    for none in (transaction.create, transaction.update):
        with refused(repo, TypeError):
            none(NEW, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("verb", ["", "set", "Create", "create ", "remove", "start", "option", "cr\0eate"])
def test_an_unknown_verb_is_a_value_error(repo: Repository, verb: str) -> None:
    with pytest.raises(ValueError, match="verb") as caught:
        Transaction(repo.path).apply([(verb, NEW, repo.commits[0], None)])
    assert not isinstance(caught.value, refspan.Error)
    with pytest.raises(ValueError, match="verb"):
        Edit(verb, NEW, repo.commits[0])


@pytest.mark.parametrize("verb", ["symref", "symref-create", "symref-update", "symref-delete", "symref-verify"])
def test_edits_of_symbolic_refs_are_not_supported_yet(repo: Repository, verb: str) -> None:
    with refused(repo, UnsupportedError):
        Transaction(repo.path).apply([(verb, NEW, LOOSE, None)])


ITEMS: list[Any] = [
    None,
    1,
    "create",
    b"create",
    (),
    ("create", NEW),
    ("create", NEW, "1" * 40),
    ("create", NEW, "1" * 40, None, None),
    ["create", NEW, "1" * 40, None],
    {"verb": "create"},
    (None, NEW, "1" * 40, None),
    (b"create", NEW, "1" * 40, None),
    Edit,
    ANY,
]


@pytest.mark.parametrize("item", ITEMS, ids=repr)
def test_what_is_no_edit_is_a_type_error(repo: Repository, item: Any) -> None:  # noqa: ANN401
    transaction = Transaction(repo.path)
    with refused(repo, TypeError):
        transaction.apply([("update", LOOSE, repo.commits[2], ANY), item])
    with untouched(repo):
        transaction.commit()


@pytest.mark.parametrize("edits", [None, 1, ANY, ("create", NEW, "1" * 40, None), "create"], ids=repr)
def test_what_yields_no_edits_is_a_type_error(repo: Repository, edits: Any) -> None:  # noqa: ANN401
    with refused(repo, TypeError):
        Transaction(repo.path).apply(edits)


@pytest.mark.parametrize(
    "options",
    [
        {"durability": ""},
        {"durability": "Full"},
        {"durability": "fsync"},
        {"into": "loose"},
        {"into": ""},
        {"timeout": -1},
        {"timeout": -1e-9},
        {"timeout": float("nan")},
        {"timeout": float("-inf")},
    ],
    ids=repr,
)
def test_an_unknown_value_of_an_option_is_a_value_error(repo: Repository, options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(ValueError, match=name):
        Transaction(repo.path, **options)
    with pytest.raises(ValueError, match=name):
        repo.store().transaction(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"durability": None},
        {"durability": b"git"},
        {"into": 1},
        {"timeout": "1"},
        {"timeout": []},
        {"atomic": None},
        {"atomic": 1},
        {"check": "yes"},
        {"message": "x"},
    ],
    ids=repr,
)
def test_an_option_of_another_type_or_name_is_a_type_error(repo: Repository, options: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        Transaction(repo.path, **options)
    with pytest.raises(TypeError):
        repo.store().transaction(**options)


def test_without_a_repository_there_is_no_transaction(repo: Repository, tmp_path: Path) -> None:
    with pytest.raises(RepositoryNotFoundError):
        Transaction(tmp_path)
    for none in (None, 1, repo.store().snapshot()):
        with pytest.raises(TypeError):
            Transaction(none)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="null"):
        Transaction(f"{repo.path}\0")


@pytest.mark.parametrize("into", ["auto", "packed"])
@pytest.mark.parametrize("atomic", [True, False])
def test_a_ref_that_is_edited_twice_stops_all(repo: Repository, into: Any, atomic: bool) -> None:  # noqa: ANN401
    oid = repo.commits[2]
    pairs: list[tuple[Given, Given]] = [
        (("create", NEW, oid, None), ("create", NEW, oid, None)),
        (("delete", LOOSE, None, ANY), ("create", LOOSE, oid, None)),
        (("verify", LOOSE, None, repo.commits[1]), ("update", LOOSE, oid, ANY)),
        (("update", PACKED, oid, ANY), ("update", PACKED.encode(), oid, ANY)),
    ]
    for one, other in pairs:
        with refused(repo, TransactionStateError, times=True) as caught:
            transact(repo, one, ("update", BOTH, oid, ANY), other, into=into, atomic=atomic)
        assert one[1] in str(caught.value)


def test_of_edits_that_are_given_together_all_are_added_or_none(repo: Repository) -> None:
    transaction = Transaction(repo.path)
    good: Given = ("update", LOOSE, repo.commits[2], ANY)
    bad: list[tuple[Given, type[Exception]]] = [
        (("update", "../x", repo.commits[2], ANY), RefNameError),
        (("update", PACKED, "0" * 40, ANY), InvalidValueError),
        (("update", PACKED, "short", ANY), InvalidValueError),
        (("update", PACKED, 1, ANY), TypeError),
        (("improve", PACKED, repo.commits[2], ANY), ValueError),
    ]
    with untouched(repo):
        for edit, error in bad:
            for edits in ([good, edit], [edit, good]):
                with pytest.raises(error):
                    transaction.apply(edits)
        assert transaction.plan().locks == []
        transaction.commit()


def test_an_exception_from_what_yields_edits_is_passed_on_and_nothing_of_it_is_added(repo: Repository) -> None:
    class Ours(Exception):  # noqa: N818
        pass

    def edits() -> Iterator[Given]:
        yield ("update", LOOSE, repo.commits[2], ANY)
        raise Ours

    transaction = Transaction(repo.path)
    with refused(repo, Ours):
        transaction.apply(edits())
    with untouched(repo):
        assert transaction.state == "open"
        transaction.commit()


def test_what_yields_edits_may_use_the_transaction_itself(tmp_path: Path) -> None:
    repo = ordinary(tmp_path / "repo")
    transaction = Transaction(repo.path)

    def edits() -> Iterator[Given]:
        transaction.update(PACKED, repo.commits[2])
        assert transaction.state == "open"
        yield ("update", LOOSE, repo.commits[2], ANY)
        transaction.apply([("create", NEW, repo.commits[2], None)])

    transaction.apply(edits())
    transaction.commit()
    assert repo.git("rev-parse", PACKED, LOOSE, NEW).split() == [repo.commits[2]] * 3


@pytest.mark.parametrize("end", ["prepare", "commit", "abort"])
def test_what_yields_edits_may_end_the_transaction_and_then_none_is_added(repo: Repository, end: str) -> None:
    transaction = Transaction(repo.path)

    def edits() -> Iterator[Given]:
        yield ("update", LOOSE, repo.commits[2], ANY)
        getattr(transaction, end)()

    with refused(repo, TransactionStateError):
        transaction.apply(edits())
    assert transaction.state == {"prepare": "prepared", "commit": "committed", "abort": "aborted"}[end]


def test_an_exception_in_the_block_is_passed_on_and_nothing_is_changed(repo: Repository) -> None:
    for prepares in (False, True):
        with refused(repo, ZeroDivisionError), Transaction(repo.path) as transaction:
            transaction.update(LOOSE, repo.commits[2])
            transaction.delete(PACKED)
            transaction.create("refs/heads/x/y/z", repo.commits[2])
            if prepares:
                transaction.prepare()
            raise ZeroDivisionError
        assert transaction.state == "aborted"


@pytest.mark.parametrize(
    "exception",
    [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, StopIteration],
    ids=lambda kind: kind.__name__,
)
def test_no_exception_is_taken_for_a_clean_end(repo: Repository, exception: type[BaseException]) -> None:
    with refused(repo, exception), Transaction(repo.path) as transaction:
        transaction.update(LOOSE, repo.commits[2])
        raise exception
    assert transaction.state == "aborted"


def test_a_failure_within_the_block_that_is_caught_there_does_not_commit_the_rest(repo: Repository) -> None:
    with untouched(repo), Transaction(repo.path) as transaction:
        transaction.create(LOOSE, repo.commits[2])
        transaction.update(PACKED, repo.commits[2])
        with pytest.raises(RefExistsError):
            transaction.prepare()
    assert transaction.state == "aborted"


@pytest.mark.parametrize("verb", ["create", "update", "delete", "verify"])
def test_a_tag_and_a_deep_ref_are_compared_as_any_other(repo: Repository, verb: str) -> None:
    for name in (TAG, DEEP):
        old = None if verb == "create" else repo.commits[2]
        new = repo.commits[2] if verb in ("create", "update") else None
        kind: type[RefExistsError | StaleError] = RefExistsError if verb == "create" else StaleError
        with refused(repo, kind) as caught:
            transact(repo, (verb, name, new, old))
        assert caught.value.name == name
