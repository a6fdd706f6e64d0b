"""What the tests share: git as the oracle, repositories that it packed, and packed-refs files written by hand."""

from __future__ import annotations

import io
import os
import random
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import pytest
from refspan import RefView

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

Hash = Literal["sha1", "sha256"]
HASHES: tuple[Hash, ...] = ("sha1", "sha256")
HEX_LEN = {"sha1": 40, "sha256": 64}

# What git writes; None stands for a file without a header.
GIT_TRAITS = "peeled fully-peeled sorted"

GIT_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Author",
    "GIT_AUTHOR_EMAIL": "author@example.com",
    "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_NAME": "Committer",
    "GIT_COMMITTER_EMAIL": "committer@example.com",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
    "LC_ALL": "C",
}

_IDENTITY = "Committer <committer@example.com> 1700000000 +0000"
_COMMITS = 100
_TAGS = 200


class Ref(NamedTuple):
    """A ref as git tells it: object ids are lower-case hex."""

    name: bytes
    oid: bytes
    peeled: bytes | None


class Builder(Protocol):
    """The `repository` fixture."""

    def __call__(self, count: int, hash_: Hash = "sha1") -> Path: ...


def git(*args: str | Path, cwd: Path | None = None, stdin: bytes = b"") -> bytes:
    """What git prints; it must succeed."""
    command = ["git", "-c", "init.defaultBranch=main", *args]
    return subprocess.run(command, cwd=cwd, input=stdin, stdout=subprocess.PIPE, check=True).stdout


def git_listing(repo: Path) -> list[Ref]:
    """Every ref of a repository, loose ones too, in git's order and as git peels them."""
    # show-ref, not %(*objectname) of for-each-ref: that peels a tag of a tag by one level in older versions.
    done = subprocess.run(["git", "show-ref", "-d"], cwd=repo, stdout=subprocess.PIPE, check=False)
    # Its exit code 1 says that there is none.
    assert done.returncode in (0, 1)
    return _listing_of(done.stdout, b" ")


def remote_listing(repo: Path) -> list[Ref]:
    """As `git_listing`, for a repository without objects: a server shows its refs without looking for those."""
    return [ref for ref in _listing_of(git("ls-remote", ".", cwd=repo), b"\t") if ref.name != b"HEAD"]


def _listing_of(text: bytes, separator: bytes) -> list[Ref]:
    refs: list[Ref] = []
    for line in text.splitlines():
        oid, name = line.split(separator, 1)
        if name.endswith(b"^{}"):
            refs[-1] = refs[-1]._replace(peeled=oid)
        else:
            refs.append(Ref(name, oid, None))
    return refs


def listing(refs: Iterable[RefView]) -> list[Ref]:
    """What refspan reads, in the shape of `git_listing`."""
    return [
        Ref(bytes(ref.name), bytes(ref.oid).lower(), None if ref.peeled is None else bytes(ref.peeled).lower())
        for ref in refs
    ]


def build_repository(path: Path, count: int, hash_: Hash) -> Path:
    """A bare repository with exactly `count` refs, all of them in a packed-refs file that git wrote."""
    seed, repo = path / "seed.git", path / "repo.git"
    oids = _seed(seed, hash_)
    refs = sorted(_names(count, random.Random(count)))
    with (seed / "packed-refs").open("wb") as file:
        for i, (name, is_tag) in enumerate(refs):
            oid = oids[_COMMITS + i % _TAGS] if is_tag else oids[i * 7919 % _COMMITS]
            file.write(b"%s %s\n" % (oid, name))
    # The seed's packed-refs is only input for git, which takes it without header and peeled values. A clone then
    # writes all refs in one go, peels them itself, in every version, and takes a second for 100,000.
    git("clone", "-q", "--mirror", seed, repo)
    if not refs:
        git("pack-refs", "--all", cwd=repo)
    return repo


def _seed(path: Path, hash_: Hash) -> list[bytes]:
    """Makes a repository of commits and tags, and returns the object ids of first those, then these."""
    git("init", "-q", "--bare", f"--object-format={hash_}", path)
    feed = io.StringIO()
    for mark in range(1, _COMMITS + 1):
        feed.write(f"commit refs/heads/main\nmark :{mark}\ncommitter {_IDENTITY}\ndata 2\nx\n")
        feed.write(f"M 100644 inline f\ndata {len(str(mark))}\n{mark}\n")
    for tag in range(_TAGS):
        mark = _COMMITS + 1 + tag
        # Every fifth is a tag of the tag before it, so that there are chains to peel.
        target = mark - 1 if tag % 5 == 4 else tag % _COMMITS + 1
        feed.write(f"tag seed{tag}\nmark :{mark}\nfrom :{target}\ntagger {_IDENTITY}\ndata 2\nt\n")
    git("fast-import", "--quiet", "--export-marks=marks", cwd=path, stdin=feed.getvalue().encode())
    git("pack-refs", "--all", cwd=path)
    marks = dict(line.split() for line in (path / "marks").read_bytes().splitlines())
    return [marks[b":%d" % mark] for mark in range(1, _COMMITS + _TAGS + 1)]


def _names(count: int, rng: random.Random) -> Iterator[tuple[bytes, bool]]:
    """Distinct names as large hosts hold them, and whether each is an annotated tag."""
    for i in range(count):
        lane = i % 20
        if i == 0:
            yield b"refs/heads/main", False
        elif lane < 9:
            yield b"refs/pull/%d/head" % i, False
        elif lane < 12:
            yield b"refs/changes/%02d/%d/%d" % (i % 100, i, rng.randint(1, 9)), False
        elif lane < 14:
            yield b"refs/heads/team-%d/fix-%d" % (i % 7, i), False
        elif lane == 14:
            yield f"refs/heads/größe-\U0001f600-{i}".encode(), False
        elif lane == 15:
            yield b"refs/heads/latin1-\xe9-%d" % i, False
        elif lane == 16:
            yield b"refs/tags/nightly/%d-%02d" % (i, i % 12 + 1), False
        elif lane == 17:
            yield b"refs/tags/v%d.%d" % (i // 100, i), True
        elif lane == 18:
            # Annotated, but outside refs/tags/, where `peeled` promises nothing.
            yield b"refs/archive/tag-%d" % i, True
        else:
            yield b"refs/keep-around/%040x" % rng.getrandbits(160), False


def header(traits: str | None) -> bytes:
    """The first line with these traits."""
    return b"" if traits is None else f"# pack-refs with: {traits} \n".encode()


def write_packed(path: Path, refs: Iterable[Ref], traits: str | None = GIT_TRAITS) -> Path:
    """Write the refs as they come to a packed-refs file, and return its path."""
    with path.open("wb") as file:
        file.write(header(traits))
        for name, oid, peeled in refs:
            file.write(b"%s %s\n" % (oid, name))
            if peeled is not None:
                file.write(b"^%s\n" % peeled)
    return path


def split_records(data: bytes) -> list[bytes]:
    """The records of a packed-refs file, each with its `^` line."""
    return re.findall(rb"^[0-9a-fA-F].*\n(?:\^.*\n)?", data, re.MULTILINE)


def run_python(script: str, *args: str | Path, options: Sequence[str] = ()) -> str:
    """What a new interpreter prints; it must succeed and say nothing else."""
    # A process starts with its parent's peak memory, so the parent is a shell, which has little. (Its last command is
    # `exit`: else it would become the interpreter itself.)
    command = ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, *options, "-c", script, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def packed_files(*, terminated: bool) -> list[ParameterSet]:
    """The content of every file named packed-refs in the folder REFSPAN_FIXTURES, whose last line ends or does not."""
    folder = os.environ.get("REFSPAN_FIXTURES")
    if not folder:
        return [pytest.param(b"", marks=pytest.mark.skip(reason="REFSPAN_FIXTURES names no folder"), id="none")]
    files = _files_below(Path(folder), "packed-refs")
    return [pytest.param(content, id=where) for where, content in files if (content[-1:] in b"\n") == terminated]


def _files_below(root: Path, name: str) -> Iterator[tuple[str, bytes]]:
    """Where each file of that name lies, also within tar files, and its content."""
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        where = str(path.relative_to(root))
        if path.name == name:
            yield where, path.read_bytes()
        elif path.suffix == ".tar":
            with tarfile.open(path) as archive:
                for member in archive:
                    content = archive.extractfile(member) if Path(member.name).name == name else None
                    if content is not None:
                        yield f"{where}/{member.name}", content.read()
