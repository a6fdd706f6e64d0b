"""What the tests of reftables share: stacks that git or a writer of our own made, and what git says of them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import pytest
from refspan import RefView
from reftable_writer import LogRow, RefRow, Shape, write
from support import Hash, Ref, git, git_listing

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

NO_COMPACTION = "GIT_TEST_REFTABLE_AUTOCOMPACTION"

_version = re.search(rb"(\d+)\.(\d+)", git("version"))
needs_reftables = pytest.mark.skipif(
    _version is None or tuple(map(int, _version.groups())) < (2, 46), reason="this git is too old for reftables"
)


# Nothing has so many blocks.
NEVER = 1 << 30
# As git writes it by default, and with blocks so small that a thousand refs have an index of several levels.
GIT = Shape(objects=True)
SMALL = Shape(block_size=256, objects=True)
SHAPES = {
    "git": GIT,
    "large": replace(GIT, block_size=65536),
    "small": SMALL,
    "restarts": replace(SMALL, restart_interval=1),
    # Many levels, the highest of which is two or three blocks wide.
    "deep index": replace(SMALL, index_room=80),
    "bare": replace(SMALL, objects=False),
    "long object ids": replace(SMALL, obj_id_len=20),
    "no index": replace(SMALL, index_from=NEVER),
    # The header says that blocks are padded, and only what follows each that they are not.
    "falsely padded": replace(SMALL, padded=False),
    "unaligned": replace(SMALL, block_size=0, room=256, padded=False),
    "unaligned without index": replace(SMALL, block_size=0, room=256, padded=False, index_from=NEVER),
}


class Row(NamedTuple):
    """A ref as a table holds it, object ids as hex; a tombstone has nothing but a name."""

    name: bytes
    oid: bytes | None = None
    peeled: bytes | None = None
    target: bytes | None = None


class StackBuilder(Protocol):
    """The `stacked` fixture."""

    def __call__(
        self, count: int, hash_: Hash = "sha1", *, block_size: int = 4096, interval: int = 16, objects: bool = True
    ) -> Path: ...


def rows(refs: Iterable[RefView]) -> list[Row]:
    """What refspan reads, object ids as hex."""

    def digits(oid: memoryview | None) -> bytes | None:
        return None if oid is None else oid.hex().encode()

    def whole(field: memoryview | None) -> bytes | None:
        return None if field is None else bytes(field)

    return [Row(bytes(ref.name), digits(ref.oid), digits(ref.peeled), whole(ref.target)) for ref in refs]


def git_rows(gitdir: Path, peeled: Callable[[Path], list[Ref]] = git_listing) -> list[Row]:
    """What git says of a repository's refs and its HEAD; `peeled` gives the peeled values."""
    peels = {ref.name: ref.peeled for ref in peeled(gitdir)}
    # The last field is empty unless the ref is symbolic.
    listing = ("for-each-ref", "--include-root-refs", "--format=%(refname) %(objectname) %(symref)")
    told = [line.split(b" ") for line in git("--git-dir=.", *listing, cwd=gitdir).splitlines()]
    # for-each-ref tells where a chain of symbolic refs ends.
    refs = [
        Row(name, target=git_target(gitdir, name)) if symref else Row(name, oid, peels.get(name))
        for name, oid, symref in told
    ]
    # It leaves out what leads nowhere, as HEAD does in a new repository.
    is_unborn = all(row.name != b"HEAD" for row in refs)
    return [Row(b"HEAD", target=git_target(gitdir, b"HEAD")), *refs] if is_unborn else refs


def git_target(gitdir: Path, name: bytes) -> bytes:
    """The name that git says a symbolic ref points at."""
    return git("--git-dir=.", "symbolic-ref", "--no-recurse", os.fsdecode(name), cwd=gitdir).rstrip(b"\n")


def build_stack(source: Path, repo: Path, *, block_size: int, interval: int, objects: bool) -> Path:
    """Clone a bare repository into one whose refs are in a single table."""
    options = {
        "reftable.blockSize": block_size,
        "reftable.restartInterval": interval,
        "reftable.indexObjects": str(objects).lower(),
    }
    settings = [word for key, value in options.items() for word in ("-c", f"{key}={value}")]
    git(*settings, "clone", "-q", "--mirror", "--ref-format=reftable", source, repo)
    git(*settings, "pack-refs", cwd=repo)
    return repo


def write_table(
    path: Path,
    refs: Iterable[Row] = (),
    logs: Iterable[LogRow] = (),
    *,
    hash_: Hash = "sha1",
    limits: tuple[int, int] = (1, 1),
    shape: Shape = GIT,
    vague: bool = False,
) -> Path:
    """Write a table of refs, in order of their names and all of the last transaction, and of log entries.

    `vague`: the object index does not say where any object id is.
    """

    def raw(oid: bytes | None) -> bytes | None:
        return None if oid is None else bytes.fromhex(oid.decode())

    records = [RefRow(row.name, raw(row.oid), raw(row.peeled), row.target, limits[1]) for row in sorted(refs)]
    oids = tuple(oid for record in records for oid in (record.oid, record.peeled) if oid is not None)
    version, hash_id = (1, b"sha1") if hash_ == "sha1" else (2, b"s256")
    shape = replace(shape, version=version, hash_id=hash_id, limits=limits)
    shape = replace(shape, objects=shape.objects and bool(oids), vague=oids if vague else ())
    path.write_bytes(write(records, sorted(logs, key=lambda row: (row.name, -row[1])), shape).data)
    return path


def listed(path: Path, tables: Sequence[Path]) -> Path:
    """Make a directory of these tables, oldest first, and of the list of them."""
    path.mkdir(exist_ok=True)
    for table in tables:
        table.rename(path / table.name)
    (path / "tables.list").write_bytes(b"".join(os.fsencode(table.name) + b"\n" for table in tables))
    return path


def empty_repository(path: Path, hash_: Hash = "sha1", refs: str = "reftable") -> list[str]:
    """Make a bare repository without refs, in that format; returns the ids of three commits that are in it."""
    git("init", "-q", "--bare", f"--ref-format={refs}", f"--object-format={hash_}", path)
    tree = git("mktree", cwd=path).strip().decode()
    return [git("commit-tree", "-m", str(i), tree, cwd=path).strip().decode() for i in range(3)]


def update_refs(repo: Path, *commands: str) -> None:
    """One transaction; without commands, none."""
    if commands:
        git("update-ref", "--stdin", cwd=repo, stdin="".join(f"{command}\n" for command in commands).encode())


def fixtures(pattern: str) -> list[ParameterSet]:
    """What there is by that pattern in the folder REFSPAN_FIXTURES."""
    folder = os.environ.get("REFSPAN_FIXTURES")
    if not folder:
        return [pytest.param(Path(), marks=pytest.mark.skip(reason="REFSPAN_FIXTURES names no folder"), id="none")]
    root = Path(folder)
    return [pytest.param(path, id=str(path.relative_to(root))) for path in sorted(root.glob(pattern))]


def twin_in_files(stack: Path) -> Path | None:
    """The git dir, in files format, of the repository that a stack of libgit2's fixtures is; None if none has it."""
    gitdir = stack.parent
    resources = next(path for path in stack.parents if path.name == "reftable").parent
    twin = resources / gitdir.relative_to(resources / "reftable")
    # The refs that these two have in reftables they do not have, or have more of, in files.
    same = not any(name in twin.parts for name in ("testrepo_256", "userdiff"))
    return twin if same and (twin / "HEAD").exists() else None


def revived(gitdir: Path, copy: Path) -> Path:
    """Copy a repository of the fixtures, with the directories that it needs to be one, but may have lacked."""
    common = gitdir.parent.parent if gitdir.parent.name == "worktrees" else gitdir
    shutil.copytree(common, copy, ignore=shutil.ignore_patterns("objects"))
    for needed in ("objects", "refs"):
        (copy / needed).mkdir(exist_ok=True)
    return copy / gitdir.relative_to(common)
