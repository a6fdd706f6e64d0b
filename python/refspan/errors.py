"""The exceptions that refspan defines, one tree under `Error`; the facts are attributes.

An exception that a user would catch by a built-in name inherits from that one too. What the operating system refuses
is a plain `OSError` with `errno` and `filename`; an argument of the wrong type a `TypeError`.
"""

from __future__ import annotations

import errno

__all__ = [
    "CaseConflictError",
    "ConflictError",
    "CorruptError",
    "Error",
    "ExpectedSymrefError",
    "HookError",
    "IdentityError",
    "InvalidValueError",
    "LockedError",
    "RefExistsError",
    "RefNameError",
    "RefNotFoundError",
    "RepositoryNotFoundError",
    "StaleError",
    "TransactionStateError",
    "UnsafeRepositoryError",
    "UnsupportedError",
]


def _spell(name: str | bytes) -> str:
    """A refname as text, whatever bytes it holds."""
    return name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else name


class Error(Exception):
    """Base of every exception that refspan defines."""


class CorruptError(Error):
    """A file's bytes are not what its format allows; everything from that line on is in doubt.

    Attributes: `path` (str), `offset` (bytes from the start of the file), `line` (counted from 1; None in a file that
    is not text), `reason`.
    """

    def __init__(self, path: str, offset: int, line: int | None, reason: str) -> None:
        super().__init__(path, offset, line, reason)
        self.path = path
        self.offset = offset
        self.line = line
        self.reason = reason

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.reason} (byte {self.offset})"


class UnsupportedError(Error):
    """A repository, format or request that this version does not handle; nothing was changed."""


class LockedError(Error, TimeoutError):
    """Somebody else holds a lock. Attributes: `path` (str) of the lock file, its `age` in seconds; `OSError`'s."""

    def __init__(self, path: str, age: float) -> None:
        super().__init__(errno.ETIMEDOUT, f"lock is held, for {age:.1f} s now", path)
        self.path = path
        self.age = age

    def __reduce__(self) -> tuple[type[LockedError], tuple[str, float]]:
        return type(self), (self.path, self.age)


class RefNameError(Error, ValueError):
    """A refname that cannot be used here. Attributes: `name` (str), `reason`."""

    def __init__(self, name: str | bytes, reason: str = "not a valid refname") -> None:
        super().__init__(name, reason)
        self.name = _spell(name)
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.reason}: {self.name!r}"


class ConflictError(Error):
    """One name is a directory of the other. Attributes: `name`, and the `other` name that stands in its way."""

    def __init__(self, name: str, other: str) -> None:
        super().__init__(name, other)
        self.name = name
        self.other = other

    def __str__(self) -> str:
        return f"{self.name!r} conflicts with {self.other!r}"


class CaseConflictError(ConflictError):
    """Two names that differ only in case, where the file system cannot tell them apart."""


class RefExistsError(Error):
    """A ref that must not exist does. Attribute: `name`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"ref exists already: {self.name!r}"


class RefNotFoundError(Error, KeyError):
    """No ref has that name. Attribute: `name` (str)."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"no such ref: {self.name!r}"


class StaleError(Error):
    """A ref is not where the caller expected it. Attributes: `name`, `expected`, `actual`."""

    def __init__(self, name: str, expected: object, actual: object) -> None:
        super().__init__(name, expected, actual)
        self.name = name
        self.expected = expected
        self.actual = actual

    def __str__(self) -> str:
        return f"{self.name!r} is at {self.actual}, not at {self.expected}"


class InvalidValueError(Error, ValueError):
    """No object id, or one that the ref cannot hold.

    Attributes: `name` of the ref it was meant for (None in a search), `value` as given, `reason`.
    """

    def __init__(self, name: str | None, value: object, reason: str = "not an object id") -> None:
        super().__init__(name, value, reason)
        self.name = name
        self.value = value
        self.reason = reason

    def __str__(self) -> str:
        where = "" if self.name is None else f" for {self.name!r}"
        return f"{self.reason}{where}: {self.value!r}"


class ExpectedSymrefError(Error):
    """A symbolic ref was expected and an object id found. Attribute: `name`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"not a symbolic ref: {self.name!r}"


class RepositoryNotFoundError(Error, FileNotFoundError):
    """No git repository at or above a path. Attributes: `path`, and `errno` and `filename` of `OSError`."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.ENOENT, "not a git repository", path)
        self.path = path

    def __str__(self) -> str:
        return f"not a git repository, nor below one: {self.path!r}"

    def __reduce__(self) -> tuple[type[RepositoryNotFoundError], tuple[str]]:
        return type(self), (self.path,)


class UnsafeRepositoryError(Error, PermissionError):
    """A repository that belongs to somebody else, see `safe.directory`. Attributes: `path`, `owner`."""

    def __init__(self, path: str, owner: str) -> None:
        super().__init__(errno.EPERM, f"repository is owned by {owner}", path)
        self.path = path
        self.owner = owner

    def __reduce__(self) -> tuple[type[UnsafeRepositoryError], tuple[str, str]]:
        return type(self), (self.path, self.owner)


class HookError(Error):
    """A hook refused. Attributes: `hook` (its name), `output` (what it printed)."""

    def __init__(self, hook: str, output: str) -> None:
        super().__init__(hook, output)
        self.hook = hook
        self.output = output

    def __str__(self) -> str:
        return f"hook {self.hook!r} refused: {self.output}"


class IdentityError(Error):
    """No committer identity is configured, and a reflog entry needs one."""


class TransactionStateError(Error):
    """A transaction was used out of turn: after commit, prepared twice, or one ref edited twice."""
