"""With `atomic=False` an edit that is refused is put aside with its exception, and the others are made."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from refspan import (
    ANY,
    CaseConflictError,
    ConflictError,
    CorruptError,
    Edit,
    Error,
    InvalidValueError,
    LockedError,
    RefExistsError,
    RefNotFoundError,
    StaleError,
    Transaction,
)
from refusal_support import (
    BOTH,
    DEEP,
    LOOSE,
    MISSING,
    PACKED,
    TAG,
    Given,
    Into,
    lock,
    locks,
    ordinary,
    refused,
    transact,
)
from store_support import Repository

NEW = "refs/heads/new"


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return ordinary(tmp_path / "repo")


def batch(
    repo: Repository, *edits: Given, into: Into = "auto", timeout: float | None = 0
) -> list[tuple[Given, type[Exception]]]:
    """Make what can be made of these edits; which could not be, and why."""
    done = transact(repo, *edits, into=into, timeout=timeout, atomic=False)
    assert (done.state, locks(repo)) == ("committed", [])
    return [((edit.verb, edit.name, edit.new, edit.old), type(error)) for edit, error in done.rejected]


def values(repo: Repository) -> dict[str, str]:
    """Object ids by name, as git tells them."""
    lines = repo.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(line.split(" ") for line in lines)


@pytest.mark.parametrize("into", ["auto", "packed"])
def test_each_refused_edit_is_told_with_its_exception_and_the_others_are_made(repo: Repository, into: Into) -> None:
    first, second, third = repo.commits
    path = lock(repo, "refs/heads/locked", age=100)
    before = values(repo)
    wrong: list[tuple[Given, type[Error]]] = [
        (("create", LOOSE, third, None), RefExistsError),
        (("update", PACKED, third, None), RefExistsError),
        (("verify", BOTH, None, None), RefExistsError),
        (("update", "refs/heads/no-1", third, first), RefNotFoundError),
        (("delete", "refs/heads/no-2", None, first), RefNotFoundError),
        (("verify", "refs/heads/no-3", None, first), RefNotFoundError),
        (("verify", TAG, None, third), StaleError),
        (("delete", DEEP, None, third), StaleError),
        (("create", f"{PACKED}/below", third, None), ConflictError),
        (("create", f"{LOOSE}/below", third, None), ConflictError),
        (("update", "refs/heads/deep", third, ANY), ConflictError),
        (("create", "refs/heads/void", MISSING, None), InvalidValueError),
        (("update", "refs/heads/tagged", before[TAG], ANY), InvalidValueError),
        (("update", "refs/heads/locked", third, ANY), LockedError),
    ]
    good: list[Given] = [("create", f"{NEW}-{i}", second, None) for i in range(len(wrong))]
    mixed = [edit for (bad, _), fine in zip(wrong, good, strict=True) for edit in (bad, fine)]
    with Transaction(repo.path, into=into, timeout=0, atomic=False) as transaction:
        transaction.apply(mixed)
        transaction.prepare()
        assert [edit for edit, _ in transaction.rejected] == [Edit(*edit) for edit, _ in wrong]
        assert [(edit.name, type(error)) for edit, error in transaction.rejected] == [
            (edit[1], kind) for edit, kind in wrong
        ]
    *named, locked = (error for _, error in transaction.rejected)
    assert [getattr(error, "name", None) for error in named] == [name for (_, name, _, _), _ in wrong[:-1]]
    assert isinstance(locked, LockedError)
    assert (locked.path, 99 < locked.age < 200) == (str(path), True)
    assert locks(repo) == ["refs/heads/locked.lock"]
    assert values(repo) == before | {name: second for _, name, _, _ in good}


@pytest.mark.parametrize("into", ["auto", "packed"])
def test_of_a_batch_that_is_refused_as_a_whole_nothing_is_made(repo: Repository, into: Into) -> None:
    edits: list[Given] = [("update", LOOSE, repo.commits[2], ANY), ("create", BOTH, repo.commits[2], None)]
    edits.append(("delete", PACKED, None, ANY))
    path = lock(repo, "packed-refs")
    with refused(repo, LockedError) as caught:
        batch(repo, *edits, into=into)
    assert caught.value.path == str(path)
    path.unlink()
    repo.loose(DEEP, "junk\n")
    with refused(repo, CorruptError):
        batch(repo, *edits, ("delete", DEEP, None, ANY), into=into)


def test_with_every_edit_refused_nothing_is_changed(repo: Repository) -> None:
    before = {path: path.stat() for path in repo.gitdir.rglob("*") if path.is_file()}
    edits: list[Given] = [("delete", PACKED, None, repo.commits[2]), ("create", LOOSE, repo.commits[2], None)]
    assert batch(repo, *edits) == [(edits[0], StaleError), (edits[1], RefExistsError)]
    assert {path: path.stat().st_mtime_ns for path in before} == {
        path: stat.st_mtime_ns for path, stat in before.items()
    }


def test_nothing_is_rejected_where_all_or_nothing_is_made(repo: Repository) -> None:
    done = transact(repo, ("update", LOOSE, repo.commits[2], ANY))
    assert done.rejected == []
    other = Transaction(repo.path)
    other.create(LOOSE, repo.commits[2])
    with refused(repo, RefExistsError):
        other.commit()
    assert other.rejected == []


def test_if_all_or_nothing_is_made_the_first_edit_that_is_refused_is_told(repo: Repository) -> None:
    # The first as they were given, not by name, nor by kind.
    edits: list[Given] = [
        ("verify", TAG, None, repo.commits[2]),
        ("create", LOOSE, repo.commits[2], None),
        ("create", "refs/heads/a", MISSING, None),
        ("create", f"{PACKED}/x", repo.commits[2], None),
    ]
    kinds: list[type[Error]] = [StaleError, RefExistsError, InvalidValueError, ConflictError]
    for at, kind in enumerate(kinds):
        with refused(repo, kind) as caught:
            transact(repo, ("update", DEEP, repo.commits[2], ANY), *edits[at:], *edits[:at])
        assert getattr(caught.value, "name", None) == edits[at][1]


Names = tuple[str, str]


@pytest.mark.parametrize("into", ["auto", "packed"])
@pytest.mark.parametrize("names", [(NEW, f"{NEW}/below"), (f"{NEW}/below", NEW), (f"{NEW}/a/b/c", f"{NEW}/a")])
def test_a_name_that_is_rejected_is_in_no_other_ones_way(repo: Repository, names: Names, into: Into) -> None:
    good, bad = names
    oid = repo.commits[2]
    refusals: list[tuple[Given, type[Error]]] = [
        (("create", bad, MISSING, None), InvalidValueError),
        (("update", bad, oid, repo.commits[0]), RefNotFoundError),
        (("delete", bad, None, repo.commits[0]), RefNotFoundError),
    ]
    for edit, kind in refusals:
        for edits in ([("create", good, oid, None), edit], [edit, ("create", good, oid, None)]):
            assert batch(repo, *edits, into=into) == [(edit, kind)]
            assert (repo.git("rev-parse", good), bad in values(repo)) == (oid, False)
            repo.update(f"delete {good}")


def test_of_two_names_in_each_others_way_only_one_is_rejected(repo: Repository) -> None:
    oid = repo.commits[2]
    for names in ((NEW, f"{NEW}/x"), (f"{NEW}/x", NEW)):
        edits: list[Given] = [("create", name, oid, None) for name in names]
        (rejected,) = batch(repo, *edits)
        (made,) = set(values(repo)) & set(names)
        assert {made, rejected[0][1]} == set(names)
        assert rejected[1] is ConflictError
        repo.update(f"delete {made}")


def test_a_lock_that_cannot_be_had_keeps_only_its_own_edit_back(repo: Repository) -> None:
    lock(repo, f"{NEW}-3")
    edits: list[Given] = [("create", f"{NEW}-{i}", repo.commits[0], None) for i in range(6)]
    done = transact(repo, *edits, timeout=0, atomic=False)
    assert [(edit.name, type(error)) for edit, error in done.rejected] == [(f"{NEW}-3", LockedError)]
    assert {f"{NEW}-{i}" for i in range(6)} & set(values(repo)) == {f"{NEW}-{i}" for i in range(6) if i != 3}
    assert locks(repo) == [f"{NEW}-3.lock"]


def test_the_lock_of_an_edit_that_is_rejected_is_not_kept(repo: Repository) -> None:
    transaction = Transaction(repo.path, atomic=False)
    transaction.update(LOOSE, repo.commits[2], repo.commits[2])
    transaction.update(BOTH, repo.commits[2])
    transaction.create(f"{PACKED}/x/y", repo.commits[2])
    transaction.prepare()
    assert locks(repo) == [f"{BOTH}.lock"]
    repo.git("update-ref", LOOSE, repo.commits[0])
    transaction.commit()
    assert repo.git("rev-parse", LOOSE, BOTH).split() == [repo.commits[0], repo.commits[2]]


def test_names_that_differ_in_case_alone_are_told_where_that_makes_no_difference(repo: Repository) -> None:
    repo.git("config", "core.ignoreCase", "true")
    oid = repo.commits[2]
    edits: list[Given] = [
        ("create", name, oid, None) for name in (NEW, "refs/heads/NEW", "refs/heads/New/x", "refs/heads/y")
    ]
    assert batch(repo, *edits) == [(edits[1], CaseConflictError), (edits[2], CaseConflictError)]
    assert set(values(repo)) >= {NEW, "refs/heads/y"}
    with refused(repo, CaseConflictError) as caught:
        transact(repo, ("create", "refs/heads/z", oid, None), ("create", "refs/heads/Z", oid, None))
    assert (caught.value.name, caught.value.other) == ("refs/heads/Z", "refs/heads/z")


@pytest.mark.parametrize("into", ["auto", "packed"])
def test_many_refusals_take_little_time(repo: Repository, into: Into) -> None:
    edits: list[Given] = [("update", f"refs/heads/no/{i:05}", repo.commits[2], repo.commits[1]) for i in range(2_000)]
    start = time.monotonic()
    done = transact(repo, *edits, ("update", LOOSE, repo.commits[2], ANY), into=into, atomic=False)
    assert time.monotonic() - start < 5
    assert [edit.name for edit, _ in done.rejected] == [name for _, name, _, _ in edits]
    assert (repo.git("rev-parse", LOOSE), (repo.gitdir / "refs/heads/no").exists()) == (repo.commits[2], False)


def test_a_name_with_a_strangers_lock_in_its_place_is_in_no_other_ones_way(repo: Repository) -> None:
    """It is refused for that; what lies beside the lock can be made."""
    repo.loose(f"{NEW}/stale.lock", "")
    oid = repo.commits[2]
    below, at = ("create", f"{NEW}/below", oid, None), ("create", NEW, oid, None)
    for edits in ([below, at], [at, below]):
        with repo.store().transaction(atomic=False) as tx:
            tx.apply(edits)
        assert [(edit.name, type(error)) for edit, error in tx.rejected] == [(NEW, ConflictError)]
        assert repo.git("rev-parse", f"{NEW}/below") == oid
        repo.update(f"delete {NEW}/below")
