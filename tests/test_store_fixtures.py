"""Repositories that other programs made: their refs are those that git finds, and the same in both formats."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import refspan
from reftable_support import fixtures, needs_reftables, revived
from store_models import differences, expected
from store_support import Repository, Told, build, by_name, decode, git_refs, told
from support import packed_files

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

pytestmark = needs_reftables

# Where the two formats of a repository of libgit2's hold different refs.
UNLIKE = ("merge-octopus", "testrepo_256", "userdiff")
# What git refuses to read.
CORRUPT = ("bad_tag.git",)


def git_dirs(params: list[ParameterSet]) -> list[ParameterSet]:
    """The git directories among the folders of these HEADs."""

    def is_one(head: object) -> bool:
        return head == Path() or (isinstance(head, Path) and is_git_dir(head.parent))

    return [param for param in params if is_one(param.values[0])]


def is_git_dir(path: Path) -> bool:
    return (path / "config").exists() or (path / "commondir").exists()


def alive(gitdir: Path, copy: Path) -> Repository:
    """A copy with an empty object database, and without a work tree, which is nowhere."""
    path = revived(gitdir, copy)
    subprocess.run(["git", "config", "--file", str(copy / "config"), "--unset", "core.worktree"], check=False)
    return Repository(path, path, ("", "", ""))


def git_told(repo: Repository) -> list[Told]:
    """What git says of all refs, also of symbolic ones that it does not list because they lead nowhere."""
    found = git_refs(repo, "--include-root-refs")
    names = {ref.name for ref in found}
    dangling = [
        ref.name for ref in repo.store().refs(root_refs=True) if ref.target is not None and ref.name not in names
    ]
    return by_name([*found, *(Told(name, target=repo.git("symbolic-ref", "--no-recurse", name)) for name in dangling)])


def check(repo: Repository) -> None:
    """All that git says of a repository refspan says too."""
    store = repo.store()
    refs = list(store.refs(root_refs=True))
    assert told(ref for ref in refs if ref.broken is None) == git_told(repo)
    assert [store[ref.name] for ref in refs] == refs
    assert list(store.snapshot().refs(root_refs=True)) == refs
    assert store.digest() == store.snapshot().digest()
    assert [Told(name) for name in store.reflogs()] == by_name(map(Told, repo.git("reflog", "list").splitlines()))
    told_broken = subprocess.run(["git", "for-each-ref"], cwd=repo.path, stderr=subprocess.PIPE, check=False).stderr
    # Git warns of a broken ref, not of a dangling one.
    warned = [decode(line.split()[-1]) for line in told_broken.splitlines() if line.startswith(b"warning: ignoring ")]
    assert [ref.name for ref in refs if ref.broken and ref.target is None] == warned


@pytest.mark.parametrize("head", git_dirs(fixtures("**/HEAD")))
def test_repositories_of_other_projects_are_read_as_by_git(tmp_path: Path, head: Path) -> None:
    repo = alive(head.parent, tmp_path / "repo.git")
    if head.parent.name in CORRUPT:
        with pytest.raises(refspan.CorruptError):
            list(repo.store())
    else:
        check(repo)


@pytest.mark.parametrize("archive", fixtures("**/*.tar"))
def test_archived_repositories_of_other_projects_are_read_as_by_git(tmp_path: Path, archive: Path) -> None:
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "all", filter="tar")
    heads = [head for head in sorted((tmp_path / "all").rglob("HEAD")) if is_git_dir(head.parent)]
    assert heads
    for i, head in enumerate(heads):
        check(alive(head.parent, tmp_path / f"{i}.git"))


@pytest.mark.parametrize("content", packed_files(terminated=True))
def test_packed_refs_of_other_projects_are_read_as_by_git(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "packed-refs").write_bytes(content)
    hash_ = refspan.PackedRefs(tmp_path / "packed-refs").hash
    repo = build(tmp_path / "repo", "files", hash_ or "sha1")
    (repo.gitdir / "packed-refs").write_bytes(content)
    check(repo)


def twins(params: list[ParameterSet]) -> list[ParameterSet]:
    """Those that libgit2 also has in files."""
    return [param for param in git_dirs(params) if param.values[0] == Path() or twin(param.values[0]) is not None]


def twin(head: object) -> Path | None:
    """The git directory of the same repository in files, if that of this HEAD has reftables."""
    if not isinstance(head, Path) or not head.with_name("reftable").exists():
        return None
    before, _, below = str(head.parent).partition("/reftable/")
    other = Path(before, below)
    return other if below and is_git_dir(other) else None


@pytest.mark.parametrize("head", twins(fixtures("libgit2/**/HEAD")))
def test_a_repository_in_both_formats_has_one_digest(tmp_path: Path, head: Path) -> None:
    other = twin(head)
    assert other is not None
    reftable, files = alive(head.parent, tmp_path / "reftable.git"), alive(other, tmp_path / "files.git")
    assert (files.store().format, reftable.store().format) == ("files", "reftable")
    values = [{ref.name: ref.oid or f"ref:{ref.target}" for ref in git_told(repo)} for repo in (files, reftable)]
    changes = differences(refspan.diff(files.store(), reftable.store()))
    assert changes == expected(*values)
    assert (files.store().digest() == reftable.store().digest()) == (changes == [])
    assert (changes != []) == any(name in head.parts for name in UNLIKE)
