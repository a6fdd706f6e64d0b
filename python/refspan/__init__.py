"""Read git's references from Python, zero-copy and without running git.

>>> import refspan
>>> packed = refspan.PackedRefs("repo.git/packed-refs")     # doctest: +SKIP
>>> [ref.refname for ref in packed.refs("refs/tags/")]      # doctest: +SKIP
['refs/tags/v1.0']
"""

from refspan._native import (
    BlockInfo,
    Change,
    LogEntry,
    PackedRefs,
    Ref,
    RefStore,
    Reftable,
    ReftableStack,
    RefView,
    Snapshot,
    Symref,
    diff,
    open,
)
from refspan._native import __version__ as __version__
from refspan.errors import (
    CaseConflictError,
    ConflictError,
    CorruptError,
    Error,
    ExpectedSymrefError,
    HookError,
    IdentityError,
    InvalidValueError,
    LockedError,
    RefExistsError,
    RefNameError,
    RefNotFoundError,
    RepositoryNotFoundError,
    StaleError,
    TransactionStateError,
    UnsafeRepositoryError,
    UnsupportedError,
)

__all__ = [
    "BlockInfo",
    "CaseConflictError",
    "Change",
    "ConflictError",
    "CorruptError",
    "Error",
    "ExpectedSymrefError",
    "HookError",
    "IdentityError",
    "InvalidValueError",
    "LockedError",
    "LogEntry",
    "PackedRefs",
    "Ref",
    "RefExistsError",
    "RefNameError",
    "RefNotFoundError",
    "RefStore",
    "RefView",
    "Reftable",
    "ReftableStack",
    "RepositoryNotFoundError",
    "Snapshot",
    "StaleError",
    "Symref",
    "TransactionStateError",
    "UnsafeRepositoryError",
    "UnsupportedError",
    "__version__",
    "diff",
    "open",
]
