"""What the tests of whole repositories share: small ones in either format, and git's own answers about them."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import pytest
import refspan
from reftable_support import needs_reftables
from support import HASHES, HEX_LEN, Hash, git

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

Format = Literal["files", "reftable"]
FORMATS = [pytest.param("files"), pytest.param("reftable", marks=needs_reftables)]

# Look-alikes whose order by name is not that of a walk through folders.
LOOK_ALIKES = ("refs/heads/a-", "refs/heads/a.b", "refs/heads/a/b", "refs/heads/a/b-c", "refs/heads/a0")
LATIN1 = "refs/heads/latin1-\udce9"


class Told(NamedTuple):
    """A ref by name, object id and immediate target; one of the latter two is None."""

    name: str
    oid: str | None = None
    target: str | None = None


@dataclass(frozen=True)
class Repository:
    """Where git runs, the git directory, and three commits that are in it."""

    path: Path
    gitdir: Path
    commits: tuple[str, str, str]

    def git(self, *args: str | Path, stdin: bytes = b"") -> str:
        """What git prints there, without the last LF."""
        return decode(git(*args, cwd=self.path, stdin=stdin)).removesuffix("\n")

    def update(self, *commands: str) -> None:
        """One transaction of `git update-ref --stdin`."""
        self.git("update-ref", "--stdin", stdin=encode("".join(f"{command}\n" for command in commands)))

    def create(self, *names: str, at: int = 0) -> None:
        """Create or set refs to one of the commits."""
        self.update(*(f"update {name} {self.commits[at]}" for name in names))

    def symref(self, name: str, target: str) -> None:
        self.git("symbolic-ref", name, target)

    def tag(self, name: str, target: str) -> str:
        """Make an annotated tag below `refs/tags/`; returns its object id."""
        self.git("-c", "advice.nestedTag=false", "tag", "-m", "tag", name, target)
        return self.git("rev-parse", f"refs/tags/{name}")

    def worktree(self, name: str, *args: str) -> Repository:
        """Add a linked worktree of that name, on a branch of that name unless told otherwise, beside the repository."""
        path = self.path.parent / name
        self.git("worktree", "add", "-q", *(args or ("-b", name)), path, self.commits[0])
        return Repository(path, Path(decode(git("rev-parse", "--absolute-git-dir", cwd=path)).rstrip()), self.commits)

    def loose(self, name: str, content: str) -> Path:
        """Write the file of a ref by hand."""
        path = self.gitdir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode(content))
        return path

    def store(self) -> refspan.RefStore:
        return refspan.open(self.path)


def decode(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def build(path: Path, refs: Format = "files", hash_: Hash = "sha1", *, bare: bool = False) -> Repository:
    """Make a repository without refs: HEAD is unborn."""
    git("init", "-q", f"--ref-format={refs}", f"--object-format={hash_}", *(["--bare"] if bare else []), path)
    tree = git("mktree", cwd=path).strip().decode()
    first, second, third = (git("commit-tree", "-m", str(i), tree, cwd=path).strip().decode() for i in range(3))
    return Repository(path, path if bare else path / ".git", (first, second, third))


# What of a sample git leaves out of its listings, or not.
DANGLING = (
    Told("refs/heads/dangling", target="refs/heads/nowhere"),
    Told("refs/heads/loop", target="refs/heads/pool"),
    Told("refs/heads/pool", target="refs/heads/loop"),
    Told("refs/heads/self", target="refs/heads/self"),
)

WORKTREES = ("main", "side", "detached")
SAMPLES: list[ParameterSet] = [
    pytest.param((refs, hash_, where), marks=[needs_reftables] if refs == "reftable" else [])
    for refs in ("files", "reftable")
    for hash_ in HASHES
    for where in WORKTREES
]


def sample_name(parameter: tuple[Format, Hash, str]) -> str:
    """The id of a parameter of SAMPLES."""
    return "-".join(parameter)


def sample(root: Path, parameter: tuple[Format, Hash, str]) -> Repository:
    """A worktree of a repository with refs of all kinds, packed, loose and both. Not to be changed."""
    refs, hash_, where = parameter
    return _worktrees(root / f"sample-{refs}-{hash_}", refs, hash_)[where]


@functools.cache
def _worktrees(root: Path, refs: Format, hash_: Hash) -> dict[str, Repository]:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    main = build(root / "main", refs, hash_)
    main.git("config", "core.logAllRefUpdates", "always")
    main.create("refs/heads/main", "refs/heads/gone", "refs/heads/packed", "refs/notes/commits", *LOOK_ALIKES)
    main.create("refs/remotes/origin/main", "refs/stash", at=1)
    main.create("refs/heads/a/c/d/e", "refs/tags/light", at=2)
    _tags(main, "packed")
    main.git("pack-refs", "--all")
    main.create("refs/heads/main", "refs/heads/loose", LATIN1, "refs/heads/größe-\U0001f600", LOOK_ALIKES[2], at=1)
    main.create("refs/heads/a!", "refs/heads/a/b-", LOOK_ALIKES[0], at=2)
    main.update("delete refs/heads/gone")
    _tags(main, "loose")
    for name, _, target in DANGLING:
        main.symref(name, str(target))
    main.symref("refs/heads/alias", "refs/heads/main")
    main.symref("refs/heads/alias-of-alias", "refs/heads/alias")
    main.symref("refs/tags/alias", "refs/tags/packed")
    main.symref("refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    side, detached = main.worktree("side"), main.worktree("detached", "--detach")
    for at, repo in enumerate((main, side, detached)):
        own = repo.path.name
        repo.create("ORIG_HEAD", "AUTO_MERGE", "FOO", "refs/bisect/bad", "refs/worktree/a/b", at=at)
        repo.create(f"refs/bisect/good-{own}", f"refs/worktree/{own}", f"refs/rewritten/{own}", at=at)
        for pseudo in ("FETCH_HEAD", "MERGE_HEAD"):
            oids = repo.commits[at:]
            (repo.gitdir / pseudo).write_text("".join(f"{oid}\tnot-for-merge\tbranch 'x' of y\n" for oid in oids))
    side.create("BISECT_HEAD")
    return {repo.path.name: repo for repo in (main, side, detached)}


def _tags(repo: Repository, name: str) -> None:
    """Annotated tags, nested ones, and those of a tree."""
    repo.tag(name, repo.commits[0])
    repo.tag(f"{name}-nested", f"refs/tags/{name}")
    repo.tag(f"{name}-nested-twice", f"refs/tags/{name}-nested")
    repo.tag(f"{name}-tree", f"{repo.commits[0]}^{{tree}}")


def by_name(refs: Iterable[Told]) -> list[Told]:
    return sorted(refs, key=lambda ref: encode(ref.name))


def told(refs: Iterable[refspan.Ref]) -> list[Told]:
    """What refspan reads, in the shape of `git_refs`."""
    return [Told(ref.name, ref.oid, ref.target) for ref in refs]


def git_refs(where: Repository, *args: str) -> list[Told]:
    """The refs that `git for-each-ref` lists with these arguments."""
    text = where.git("for-each-ref", "--format=%(refname) %(objectname) %(symref)", *args)
    # The last field is empty unless the ref is symbolic, and then tells where a chain of them ends.
    told = [line.split(" ") for line in text.splitlines()]
    return [Told(name, target=git_target(where, name)) if end else Told(name, oid) for name, oid, end in told]


def git_names(where: Repository, *args: str) -> list[str]:
    """Their names alone."""
    return where.git("for-each-ref", "--format=%(refname)", *args).splitlines()


def git_target(where: Repository, name: str) -> str:
    """The name that git says a symbolic ref points at."""
    return where.git("symbolic-ref", "--no-recurse", name)


def null(hash_: Hash = "sha1") -> str:
    return "0" * HEX_LEN[hash_]


def line(entry: refspan.LogEntry) -> str:
    """An entry as it stands in a reflog file, but for the TAB that git writes before some empty messages."""
    who = f"{entry.committer_name} <{entry.committer_email}> {entry.time} {entry.tz}"
    return f"{entry.old} {entry.new} {who}\t{entry.message}".rstrip("\t")


def file_lines(path: Path) -> list[str]:
    """The lines of a reflog file in the shape of `line`."""
    return [line.rstrip("\t") for line in decode(path.read_bytes()).split("\n")[:-1]]


class Shown(NamedTuple):
    """An entry as `git log -g` shows it."""

    new: str
    name: str
    email: str
    time: int
    tz: str
    message: str


def git_log(where: Repository, name: str) -> list[Shown]:
    """The entries of a reflog that git shows, newest first. What they lead to must exist."""
    text = where.git("log", "-g", "-z", "--date=raw", "--format=%H%n%gn%n%ge%n%gd%n%gs", name, "--")
    entries: list[Shown] = []
    for record in text.removesuffix("\0").split("\0") if text else ():
        new, who, email, selector, message = record.split("\n")
        time, tz = selector.rpartition("{")[2].removesuffix("}").split(" ")
        entries.append(Shown(new, who, email, int(time), tz, message))
    return entries


def shown(entries: Iterable[refspan.LogEntry]) -> list[Shown]:
    """What refspan reads, in the shape of `git_log`."""
    return [
        Shown(
            str(entry.new),
            str(entry.committer_name),
            str(entry.committer_email),
            int(entry.time or 0),
            str(entry.tz),
            str(entry.message),
        )
        for entry in entries
    ]


def both_ways(store: refspan.RefStore | refspan.Snapshot, name: str) -> list[refspan.LogEntry]:
    """The entries of a log, oldest first; read backwards they must be the same."""
    entries = list(store.reflog(name))
    assert list(store.reflog(name, reverse=True)) == entries[::-1]
    return entries


def move_storage(repo: Repository, refs: Format, target: Path, linked: Sequence[Repository] = ()) -> None:
    """Move where refs are stored away from the git directory, as git does since 2.54, and leave stubs behind."""
    for source, goal in [(repo, target), *((tree, target / "worktrees" / tree.gitdir.name) for tree in linked)]:
        goal.mkdir(parents=True, exist_ok=True)
        names = ("HEAD", "ORIG_HEAD", "refs", "logs", "packed-refs") if refs == "files" else ("reftable",)
        for name in names:
            if (source.gitdir / name).exists():
                shutil.move(source.gitdir / name, goal / name)
        (source.gitdir / "HEAD").write_text("ref: refs/heads/.invalid\n")
        shutil.rmtree(source.gitdir / "refs", ignore_errors=True)
        (source.gitdir / "refs").mkdir()
        (source.gitdir / "refs/heads").write_text("repository uses alternate refs storage\n")


def same_path(a: str | os.PathLike[str], b: str | os.PathLike[str]) -> bool:
    """Whether two absolute paths, however spelled, lead to the same place."""
    return Path(a).is_absolute() and Path(b).is_absolute() and Path(a).resolve() == Path(b).resolve()
