"""Twin repositories, one changed by refspan and one by git: the same edits for both, and what each makes of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

import refspan
from refspan._native import AnyValue
from refspan.errors import (
    ConflictError,
    Error,
    InvalidValueError,
    LockedError,
    RefExistsError,
    RefNotFoundError,
    StaleError,
    TransactionStateError,
)
from store_support import Repository, build, decode, encode, null
from support import Hash

Edit = tuple[str, str, str | None, AnyValue | str | None]

# How git 2.47.3 words each refusal.
MESSAGES: tuple[tuple[str, type[Error]], ...] = (
    (r"multiple updates for ref", TransactionStateError),
    (r"reference already exists", RefExistsError),
    (r"exists; cannot create|at the same time|there is a non-empty directory", ConflictError),
    (r"is at \w+ but expected", StaleError),
    (r"unable to resolve reference|reference is missing but expected", RefNotFoundError),
    (r"nonexistent object|non-commit object", InvalidValueError),
    (r"Unable to create '.*\.lock': File exists", LockedError),
)


def category(message: str) -> type[Error]:
    """What git died of."""
    found = {kind for pattern, kind in MESSAGES if re.search(pattern, message)}
    assert len(found) == 1, message
    return found.pop()


def files_below(gitdir: Path) -> dict[str, bytes]:
    """All files of a git directory that hold refs, or would be in a writer's way: left-over locks are among them."""
    found = [gitdir / name for name in top_files(gitdir)]
    found += [path for path in (gitdir / "refs").rglob("*") if not path.is_dir()]
    return {str(path.relative_to(gitdir)): path.read_bytes() for path in found}


def top_files(gitdir: Path) -> list[str]:
    """Those that lie right in it."""
    return [path.name for path in gitdir.iterdir() if path.is_file() and path.name not in ("config", "description")]


def folders_below(gitdir: Path) -> set[str]:
    """The directories below `refs/`."""
    return {str(path.relative_to(gitdir)) for path in (gitdir / "refs").rglob("*") if path.is_dir()}


def value_of(gitdir: Path, name: str) -> str | None:
    """The object id that a direct ref holds, read as simply as can be."""
    loose = gitdir / name
    if loose.is_file():
        return loose.read_text().strip()
    packed = gitdir / "packed-refs"
    lines = packed.read_bytes().split(b"\n") if packed.exists() else []
    found = [line[: line.index(b" ")] for line in lines if line.endswith(b" " + encode(name))]
    return found[0].decode() if found else None


def command(edit: Edit, hash_: Hash, *, z: bool) -> bytes:
    """An edit as a line for `git update-ref --stdin`, or a record for its `-z`."""
    verb, name, new, old = edit
    fields = [] if new is None else [new]
    if verb != "create":
        # An empty field is what `-z` wants where nothing is expected of the ref.
        fields += [null(hash_) if old is None else old] if not isinstance(old, AnyValue) else [""] if z else []
    end = "\0" if z else " "
    return encode(end.join([f"{verb} {name}", *fields])) + (b"\0" if z else b"\n")


@dataclass
class Session:
    """`git update-ref --stdin`, which takes one transaction after another until one fails."""

    path: Path
    hash: Hash
    z: bool
    process: subprocess.Popen[bytes] | None = None

    def transact(self, edits: Iterable[Edit], *, last: str = "commit") -> str | None:
        """Make the edits, or with `abort` only prepare them. What git dies of if it refuses them."""
        process = self.process or self._start()
        assert process.stdin
        assert process.stdout
        end = b"\0" if self.z else b"\n"
        lines = [command(edit, self.hash, z=self.z) for edit in edits]
        try:
            process.stdin.write(b"".join([b"start", end, *lines, b"prepare", end, last.encode(), end]))
            process.stdin.flush()
        except BrokenPipeError:
            pass
        for line in process.stdout:
            if line == b"%b: ok\n" % last.encode():
                return None
        return self.stop()

    def stop(self) -> str:
        """End it; what it said on its way."""
        process, self.process = self.process, None
        if process is None:
            return ""
        assert process.stderr
        try:
            _, told = process.communicate()
        except BrokenPipeError:
            told = process.stderr.read()
        return decode(told)

    def _start(self) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        flags = ["-z"] if self.z else []
        args = ["git", "update-ref", "--stdin", *flags]
        self.process = subprocess.Popen(args, cwd=self.path, stdin=pipe, stdout=pipe, stderr=pipe)
        return self.process


@dataclass
class Twins:
    """Two bare repositories with the same objects and, always again, the same refs."""

    ours: Repository
    gits: Repository
    hash: Hash
    objects: dict[str, str]
    store: refspan.RefStore = field(init=False)
    session: Session = field(init=False)

    def reset(self, *, z: bool) -> None:
        """Without refs, as they were made."""
        self.session = Session(self.gits.path, self.hash, z)
        self.store = self.ours.store()
        for repo in (self.ours, self.gits):
            shutil.rmtree(repo.gitdir / "refs")
            for name in top_files(repo.gitdir):
                if name != "HEAD":
                    (repo.gitdir / name).unlink()
            for name in ("heads", "tags"):
                (repo.gitdir / "refs" / name).mkdir(parents=True)

    def take_ours(self) -> None:
        """Give git's twin the files of ours."""
        self.session.stop()
        shutil.rmtree(self.gits.gitdir / "refs")
        shutil.copytree(self.ours.gitdir / "refs", self.gits.gitdir / "refs")
        for name in top_files(self.ours.gitdir):
            shutil.copy(self.ours.gitdir / name, self.gits.gitdir / name)
        self.compare()

    def pack(self, *args: str) -> None:
        # A running git compares size, inode and whole seconds of packed-refs, so that it could miss what another git
        # does in the same second. The oracle is no process that this can happen to.
        self.session.stop()
        for repo in (self.ours, self.gits):
            repo.git("pack-refs", *args)
        self.compare()

    def folder(self, name: str, *, junk: bool) -> None:
        """Directories where a ref could be, with a stale lock in the last or with nothing."""
        for repo in (self.ours, self.gits):
            path = repo.gitdir / name
            try:
                path.mkdir(parents=True, exist_ok=True)
            except (FileExistsError, NotADirectoryError):
                continue
            if junk:
                (path / "stale.lock").touch()

    def refusal(self, edits: Sequence[Edit]) -> type[Error] | None:
        """Why git would refuse these edits as things are; it does not make them."""
        gitdir = self.gits.gitdir
        before = folders_below(gitdir)
        told = self.session.transact(edits, last="abort")
        after = folders_below(gitdir)
        # It leaves and removes empty directories all the same.
        for name in sorted(after - before, reverse=True):
            (gitdir / name).rmdir()
        for name in before - after:
            (gitdir / name).mkdir(parents=True, exist_ok=True)
        return None if told is None else category(told)

    def compare(self, kept: Set[str] = frozenset()) -> None:
        """The same files with the same bytes, and no directory that git has not, but for those that may be kept."""
        assert files_below(self.ours.gitdir) == files_below(self.gits.gitdir)
        self.level_folders(kept)

    def kept_if_refused(self) -> set[str]:
        """The directories that may be there, and not in git's twin, after a transaction that is refused.

        Those that are there before: git removes empty ones in the place of a ref that it locks, refspan may refuse
        without a lock. And what lies right in `refs/`: neither removes it, and git stops at the first edit that it
        refuses.
        """
        return folders_below(self.ours.gitdir) | {"refs/x", "refs/bisect"}

    def level_folders(self, kept: Set[str] = frozenset()) -> None:
        """Remove the empty directories that only one of them has.

        For a lock git makes directories. In 2.47.3 they stay if a transaction fails, is aborted, or only verifies that
        a ref is absent; they are empty and in nobody's way. refspan removes what it made.
        """
        ours, gits = folders_below(self.ours.gitdir), folders_below(self.gits.gitdir)
        assert ours - gits <= kept
        for repo, more in ((self.ours, ours - gits), (self.gits, gits - ours)):
            for name in sorted(more, reverse=True):
                (repo.gitdir / name).rmdir()

    def compare_listings(self) -> None:
        """Git sees the same refs in both, refspan too."""
        self.session.stop()
        seen = [
            [repo.git("for-each-ref", "--include-root-refs"), show_ref(repo.path)] for repo in (self.ours, self.gits)
        ]
        assert seen[0] == seen[1]
        names = self.gits.git("for-each-ref", "--format=%(objectname) %(refname)").splitlines()
        assert [f"{ref.oid} {ref.name}" for ref in self.store] == names


def show_ref(path: Path) -> bytes:
    done = subprocess.run(["git", "show-ref", "-d"], cwd=path, stdout=subprocess.PIPE, check=False)
    # 1 says that there is none.
    assert done.returncode in (0, 1)
    return done.stdout


def build_twins(root: Path, hash_: Hash) -> Twins:
    """Twins that have commits, tags, a blob and a tree, and an object id that is none of these."""
    ours = build(root / "ours.git", hash_=hash_, bare=True)
    objects = dict(zip(("first", "second", "third"), ours.commits, strict=True))
    objects["blob"] = ours.git("hash-object", "-w", "--stdin", stdin=b"text")
    objects["tree"] = ours.git("mktree")
    objects["tag"] = make_tag(ours, "commit", ours.commits[0])
    objects["nested"] = make_tag(ours, "tag", objects["tag"])
    objects["tag-of-blob"] = make_tag(ours, "blob", objects["blob"])
    objects["missing"] = "1" * len(ours.commits[0])
    shutil.copytree(ours.path, root / "gits.git")
    gits = Repository(root / "gits.git", root / "gits.git", ours.commits)
    twins = Twins(ours, gits, hash_, objects)
    twins.reset(z=False)
    return twins


def make_tag(repo: Repository, kind: str, target: str) -> str:
    """An annotated tag that no ref leads to."""
    text = f"object {target}\ntype {kind}\ntag t\ntagger Tagger <tagger@example.com> 1700000000 +0000\n\ntext\n"
    return repo.git("mktag", stdin=encode(text))
