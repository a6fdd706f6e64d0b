"""What refs a repository has, and how they are stored: counts, sizes, fragmentation, and what optimizing would win."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from refspan._native import PackedRefs, Ref, RefStore, listed_peel, refs_dirs, storage
from refspan.stack_stats import StackStats, stack_stats

# What each worktree has for itself.
_OWN = (b"refs/bisect/", b"refs/rewritten/", b"refs/worktree/")
# The first line of packed-refs as git writes it.
_HEADER = b"# pack-refs with: peeled fully-peeled sorted \n"


@dataclass(frozen=True)
class FilesStats:
    """Refs in files."""

    # Loose refs, and the disk space of their files at a block each.
    loose: int
    loose_bytes: int
    # Records and bytes of packed-refs, and what its header claims.
    packed: int
    packed_bytes: int
    traits: tuple[str, ...]
    # Records that a loose ref of the same name overrides.
    overridden: int
    overridden_bytes: int
    # An estimate: the disk space that `git pack-refs --all` frees, less what packed-refs grows by.
    optimizing_frees: int


@dataclass(frozen=True)
class ReflogStats:
    """Reflogs, their entries, and the bytes of their files or of log blocks."""

    logs: int
    entries: int
    bytes: int


@dataclass(frozen=True)
class Stats:
    """What `stats` finds out."""

    path: str
    format: Literal["files", "reftable"]
    hash: Literal["sha1", "sha256"]
    refs: int
    # How many refs have these first two components, in order of the names; and how many have no third.
    namespaces: Mapping[str, int]
    no_namespace: int
    symbolic: int
    annotated: int
    broken: int
    # None if refs are in tables.
    files: FilesStats | None
    # The common one, and a linked worktree's own; none if refs are in files.
    stacks: tuple[StackStats, ...]
    reflogs: ReflogStats

    def to_dict(self) -> dict[str, Any]:
        """The same as dictionaries, tuples, text and numbers, as `json.dumps` takes them."""
        return dataclasses.asdict(self)


def stats(store: RefStore) -> Stats:
    """Count the refs that a worktree sees, and look at how they are stored. Reads it all: O(refs + reflog entries).

    Refs are those under `refs/`, as iterating has them. Where others write meanwhile, some numbers may be of before and
    some of after.

    Raises `CorruptError`, `OSError`.
    """
    is_in_files = store.format == "files"
    loose: dict[bytes, int | None] = {}
    spaces: Counter[str | None] = Counter()
    symbolic = annotated = broken = 0
    for ref in store:
        name = _encoded(ref.name)
        spaces[_namespace(name)] += 1
        symbolic += ref.target is not None
        annotated += listed_peel(ref) is not None
        broken += ref.broken is not None
        if storage(ref) == "loose":
            loose[name] = _record_length(name, ref)
    no_namespace = spaces.pop(None, 0)
    stacks = () if is_in_files else tuple(stack_stats(folder, store.hash) for folder in _stack_folders(store))
    return Stats(
        path=store.git_dir,
        format=store.format,
        hash=store.hash,
        refs=spaces.total() + no_namespace,
        namespaces={str(space): spaces[space] for space in sorted(spaces, key=str)},
        no_namespace=no_namespace,
        symbolic=symbolic,
        annotated=annotated,
        broken=broken,
        files=_files(store, loose) if is_in_files else None,
        stacks=stacks,
        reflogs=_reflogs(store, stacks),
    )


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _namespace(name: bytes) -> str | None:
    """The first two components of a name that has more: the column `namespace`."""
    parts = name.split(b"/", 2)
    if len(parts) < 3 or parts[0] != b"refs":
        return None
    try:
        return b"/".join(parts[:2]).decode()
    except UnicodeDecodeError:
        return None


def _stack_folders(store: RefStore) -> list[Path]:
    own, shared = refs_dirs(store)
    return [Path(folder, "reftable") for folder in dict.fromkeys((shared, own))]


def _record_length(name: bytes, ref: Ref) -> int | None:
    """The bytes that a loose ref takes in packed-refs; None if git does not pack it."""
    if ref.oid is None or ref.broken is not None or name.startswith(_OWN):
        return None
    return len(f"{ref.oid} \n") + len(name) + (0 if ref.peeled is None else len(f"^{ref.peeled}\n"))


def _files(store: RefStore, loose: Mapping[bytes, int | None]) -> FilesStats:
    path = Path(refs_dirs(store)[1], "packed-refs")
    packed = PackedRefs(path, hash=store.hash) if path.exists() else None
    overridden = {bytes(ref.name): memoryview(ref).nbytes for ref in packed or () if ref.name in loose}
    lengths = {name: length for name, length in loose.items() if length is not None}
    block = os.statvfs(path.parent).f_frsize
    header = len(_HEADER) if packed is None else 0
    growth = header + sum(length - overridden.get(name, 0) for name, length in lengths.items())
    return FilesStats(
        loose=len(loose),
        loose_bytes=len(loose) * block,
        packed=0 if packed is None else len(packed),
        packed_bytes=0 if packed is None else path.stat().st_size,
        traits=() if packed is None else tuple(sorted(packed.traits)),
        overridden=len(overridden),
        overridden_bytes=sum(overridden.values()),
        optimizing_frees=len(lengths) * block - growth if lengths else 0,
    )


def _reflogs(store: RefStore, stacks: Sequence[StackStats]) -> ReflogStats:
    names = list(store.reflogs())
    if store.format == "files":
        size = sum(_log_size(store, _encoded(name)) for name in names)
    else:
        size = sum(section.bytes for stack in stacks for section in stack.sections if section.kind == "log")
    return ReflogStats(logs=len(names), entries=sum(1 for name in names for _ in store.reflog(name)), bytes=size)


def _log_size(store: RefStore, name: bytes) -> int:
    own, shared = refs_dirs(store)
    is_own = name.startswith(_OWN) or b"/" not in name
    try:
        return Path(own if is_own else shared, "logs", os.fsdecode(name)).stat().st_size
    except FileNotFoundError:
        return 0
