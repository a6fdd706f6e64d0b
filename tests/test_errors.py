"""The exceptions: one tree, facts as attributes, and the built-in class that a user would catch."""

import errno
import pickle

import pytest
import refspan
from refspan import Error, errors

MADE: list[tuple[Error, dict[str, object], type[Exception]]] = [
    (errors.CorruptError("p", 4, 2, "why"), {"path": "p", "offset": 4, "line": 2, "reason": "why"}, Error),
    (errors.LockedError("p.lock", 2.5), {"path": "p.lock", "age": 2.5, "filename": "p.lock"}, TimeoutError),
    (errors.RefNameError(b"a\xe9", "bad"), {"name": "a\udce9", "reason": "bad"}, ValueError),
    (errors.ConflictError("a", "a/b"), {"name": "a", "other": "a/b"}, Error),
    (errors.CaseConflictError("a", "A"), {"name": "a", "other": "A"}, errors.ConflictError),
    (errors.RefExistsError("a"), {"name": "a"}, Error),
    (errors.RefNotFoundError("a"), {"name": "a"}, KeyError),
    (errors.StaleError("a", "1", "2"), {"name": "a", "expected": "1", "actual": "2"}, Error),
    (errors.InvalidValueError("a", 7), {"name": "a", "value": 7}, ValueError),
    (errors.ExpectedSymrefError("a"), {"name": "a"}, Error),
    (errors.RepositoryNotFoundError("p"), {"path": "p", "errno": errno.ENOENT, "filename": "p"}, FileNotFoundError),
    (errors.UnsafeRepositoryError("p", "x"), {"path": "p", "owner": "x", "errno": errno.EPERM}, PermissionError),
    (errors.HookError("pre", "no"), {"hook": "pre", "output": "no"}, Error),
    (errors.UnsupportedError("why"), {}, Error),
    (errors.IdentityError("why"), {}, Error),
    (errors.TransactionStateError("why"), {}, Error),
]

each = pytest.mark.parametrize(("error", "facts", "base"), MADE, ids=lambda value: type(value).__name__)


def test_every_exception_is_made_here_and_exported() -> None:
    defined = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Error)}
    assert {type(error).__name__ for error, _, _ in MADE} == defined - {"Error"}
    assert defined == set(errors.__all__)
    assert defined <= set(refspan.__all__)


@each
def test_an_exception_has_its_facts_and_is_caught_by_its_built_in_name(
    error: Error, facts: dict[str, object], base: type[Exception]
) -> None:
    assert isinstance(error, Error)
    assert isinstance(error, base)
    assert {name: getattr(error, name) for name in facts} == facts


@each
def test_an_exception_survives_pickling(error: Error, facts: dict[str, object], base: type[Exception]) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error) != ""
    assert {name: getattr(copy, name) for name in facts} == facts
    assert isinstance(copy, base)


def test_damage_in_a_file_that_is_not_text_has_no_line() -> None:
    assert str(errors.CorruptError("p", 4, None, "why")) == "p: why (byte 4)"
    assert str(errors.CorruptError("p", 4, 2, "why")) == "p:2: why (byte 4)"
