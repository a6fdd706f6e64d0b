"""Repositories in ruins: each is read for what can be read, or refused by an error that names the path."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import refspan
from refspan import CorruptError, RepositoryNotFoundError
from reftable_support import needs_reftables
from store_support import Repository, build, git_refs, told
from support import Ref, write_packed

Refusal = (refspan.Error, OSError)


@pytest.fixture(autouse=True)
def ceiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No repository is found above."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A repository in files with a packed ref, a loose one, and one that is both."""
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/main", "refs/heads/packed")
    repo.git("pack-refs", "--all")
    repo.create("refs/heads/main", "refs/heads/loose", at=1)
    return repo


def read(path: Path) -> None:
    store = refspan.open(path)
    list(store.refs(root_refs=True))
    store.resolve("HEAD")


def refused(path: Path, *named: str) -> None:
    """Whoever opens the repository and reads it all meets a typed error that names the file."""
    with pytest.raises(Refusal) as caught:
        read(path)
    assert not isinstance(caught.value, KeyError)
    assert any(name in str(caught.value) for name in named or [str(path)]), str(caught.value)


@pytest.mark.parametrize("name", ["empty", "missing", "missing/below", "file", "file/below", "hollow"])
def test_without_a_repository_there_is_nothing_to_open(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("gitdir: nowhere\n")
    (tmp_path / "hollow/.git").mkdir(parents=True)
    refused(tmp_path / name)
    if name in ("empty", "hollow"):
        with pytest.raises(RepositoryNotFoundError) as caught:
            refspan.open(tmp_path / name)
        assert caught.value.path == str(tmp_path / name)


@pytest.mark.parametrize(
    "content", ["", "gitdir:\n", "gitdir: \n", "junk\n", "gitdir: .git\n", "gitdir: ../nowhere\n", "\0" * 40]
)
def test_a_git_file_that_leads_nowhere_is_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/.git").write_text(content)
    refused(tmp_path / "tree", str(tmp_path / "tree"), "nowhere")


@pytest.mark.parametrize("content", ["nowhere\n", "", "\n", ".\n", "../../../nowhere\n"])
def test_a_worktree_that_leads_to_no_repository_is_told(repo: Repository, content: str) -> None:
    linked = repo.worktree("linked")
    (linked.gitdir / "commondir").write_text(content)
    refused(linked.path, str(linked.gitdir), str(linked.path), "nowhere")


def malformed(config: Path) -> None:
    config.write_text("[core\n")


def looping_include(config: Path) -> None:
    config.write_text(config.read_text() + "[include]\n\tpath = config\n")


def including_in_turns(config: Path) -> None:
    config.write_text(config.read_text() + "[include]\n\tpath = config.more\n")
    config.with_name("config.more").write_text("[include]\n\tpath = config\n")


def malformed_include(config: Path) -> None:
    config.write_text(config.read_text() + "[include]\n\tpath = config.more\n")
    config.with_name("config.more").write_text("[a\n")


def bad_version(config: Path) -> None:
    config.write_text("[core]\n\trepositoryformatversion = x\n")


def folder(config: Path) -> None:
    config.unlink()
    config.mkdir()


def looping_link(config: Path) -> None:
    config.unlink()
    config.symlink_to("config")


CONFIGS = [
    malformed,
    looping_include,
    including_in_turns,
    malformed_include,
    bad_version,
    folder,
    looping_link,
]


@pytest.mark.parametrize("damage", CONFIGS)
def test_a_configuration_that_cannot_be_read_is_told(repo: Repository, damage: Callable[[Path], None]) -> None:
    damage(repo.gitdir / "config")
    refused(repo.path, "config")


def test_without_a_configuration_a_repository_is_one_in_files(repo: Repository) -> None:
    expected = told(repo.store())
    (repo.gitdir / "config").unlink()
    assert told(repo.store()) == expected == git_refs(repo)
    (repo.gitdir / "config").write_bytes(b"")
    assert told(repo.store()) == expected


def keeps_its_permissions(path: Path) -> None:
    """Take all permissions away; who has them nevertheless skips."""
    path.chmod(0)
    if os.access(path, os.R_OK):
        path.chmod(0o755)
        pytest.skip("nothing is forbidden to this user")


@pytest.mark.parametrize("name", ["config", "packed-refs", "refs", "refs/heads", "refs/heads/loose", "HEAD"])
def test_what_may_not_be_read_is_told(repo: Repository, name: str) -> None:
    keeps_its_permissions(repo.gitdir / name)
    try:
        refused(repo.path, str(repo.gitdir / name), str(repo.path))
    finally:
        (repo.gitdir / name).chmod(0o755)


@pytest.mark.parametrize("name", ["refs/heads/main", "refs/heads/a"])
def test_a_ref_that_may_not_be_read_is_not_taken_for_missing(repo: Repository, name: str) -> None:
    store = repo.store()
    for path in (repo.gitdir / "refs/heads/main", repo.gitdir / "refs/heads"):
        keeps_its_permissions(path)
        try:
            if path.name != "main" or name.endswith("main"):
                with pytest.raises(PermissionError) as caught:
                    store.get(name)
                assert str(path) in str(caught.value.filename)
        finally:
            path.chmod(0o755)
    assert store.get("refs/heads/main") is not None


def test_a_leftover_of_a_migration_hides_nothing(repo: Repository) -> None:
    (repo.gitdir / "ref_migration.AbCdEf/refs/heads").mkdir(parents=True)
    (repo.gitdir / "ref_migration.AbCdEf/HEAD").write_text("ref: refs/heads/elsewhere\n")
    (repo.gitdir / "ref_migration.AbCdEf/refs/heads/ghost").write_text(f"{repo.commits[2]}\n")
    assert told(repo.store()) == git_refs(repo)
    assert repo.store().head.target == "refs/heads/main"


def test_a_repository_amid_its_migration_is_told(repo: Repository) -> None:
    (repo.gitdir / "ref_migration.AbCdEf").mkdir()
    for name in ("HEAD", "refs", "packed-refs"):
        shutil.move(repo.gitdir / name, repo.gitdir / "ref_migration.AbCdEf" / name)
    refused(repo.path)


def leave_stubs(gitdir: Path) -> None:
    """What a repository has for old programs when its refs are in reftables."""
    shutil.rmtree(gitdir / "refs")
    (gitdir / "refs").mkdir()
    (gitdir / "refs/heads").write_text("this repository uses the reftable format\n")
    (gitdir / "HEAD").write_text("ref: refs/heads/.invalid\n")


def test_stubs_without_reftables_are_no_refs(repo: Repository) -> None:
    # Git was stopped before it wrote the configuration, and the tables are lost.
    leave_stubs(repo.gitdir)
    (repo.gitdir / "packed-refs").unlink()
    refused(repo.path)


@needs_reftables
@pytest.mark.parametrize("lost", ["reftable", "reftable/tables.list"])
def test_a_lost_stack_is_not_taken_for_an_empty_one(tmp_path: Path, lost: str) -> None:
    repo = build(tmp_path / "repo", "reftable")
    repo.create("refs/heads/main")
    path = repo.gitdir / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    refused(repo.path)


@needs_reftables
def test_a_lost_table_is_told(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo", "reftable")
    repo.create("refs/heads/main")
    (table, *_) = sorted((repo.gitdir / "reftable").glob("*.ref"))
    table.unlink()
    with pytest.raises(CorruptError, match="reftable"):
        list(refspan.open(repo.path))


@needs_reftables
def test_leftovers_of_the_files_format_do_not_count(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo", "reftable")
    repo.create("refs/heads/main", "refs/tags/v1")
    expected, digest = told(repo.store().refs(root_refs=True)), repo.store().digest()
    repo.loose("refs/tags/ghost", f"{repo.commits[1]}\n")
    repo.loose("refs/tags/v1", f"{repo.commits[1]}\n")
    repo.loose("ORIG_HEAD", f"{repo.commits[1]}\n")
    repo.loose("logs/refs/tags/ghost", f"{'0' * 40} {repo.commits[1]} C <c@e> 1 +0000\tx\n")
    write_packed(repo.gitdir / "packed-refs", [Ref(b"refs/heads/ghost", repo.commits[1].encode(), None)])
    store = repo.store()
    assert told(store.refs(root_refs=True)) == expected
    assert store.digest() == digest
    assert "refs/tags/ghost" not in store
    assert "refs/tags/ghost" not in list(store.reflogs())
    assert git_refs(repo) == told(store)


@needs_reftables
def test_leftovers_of_the_reftable_format_do_not_count(repo: Repository, tmp_path: Path) -> None:
    expected = told(repo.store())
    other = build(tmp_path / "other", "reftable")
    other.create("refs/heads/ghost", "refs/heads/main")
    shutil.copytree(other.gitdir / "reftable", repo.gitdir / "reftable")
    assert told(repo.store()) == expected == git_refs(repo)


@needs_reftables
def test_the_stub_of_the_reftable_format_is_no_ref(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo", "reftable")
    store = repo.store()
    assert [ref.name for ref in store.refs(root_refs=True)] == ["HEAD"]
    assert (store.get("refs/heads"), store.head.target) == (None, "refs/heads/main")


@pytest.mark.parametrize("target", ["elsewhere", "nowhere"])
def test_packed_refs_may_be_a_link(repo: Repository, target: str) -> None:
    shutil.move(repo.gitdir / "packed-refs", repo.gitdir / "elsewhere")
    (repo.gitdir / "packed-refs").symlink_to(target)
    assert told(repo.store()) == git_refs(repo)
    assert ("refs/heads/packed" in repo.store()) == (target == "elsewhere")


@pytest.mark.parametrize("kind", ["folder", "loop", "FIFO"])
def test_packed_refs_that_are_no_file_are_told(repo: Repository, kind: str) -> None:
    path = repo.gitdir / "packed-refs"
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to("packed-refs")
    else:
        os.mkfifo(path)
    refused(repo.path, "packed-refs")
    # A loose ref is looked up without them.
    assert repo.store()["refs/heads/loose"].oid == repo.commits[1]
    store = repo.store()
    for call in (store.snapshot, store.digest, lambda: store.get("refs/heads/packed")):
        with pytest.raises(Refusal, match="packed-refs"):
            call()


@pytest.mark.parametrize(
    "content", [b"\0" * 200, b"junk\n", b"# pack-refs with: sorted \nx\n", b"# pack\n", b"%s refs/x" % (b"1" * 40)]
)
def test_damaged_packed_refs_are_told(repo: Repository, content: bytes) -> None:
    (repo.gitdir / "packed-refs").write_bytes(content)
    store = repo.store()
    with pytest.raises(CorruptError) as caught:
        list(store)
    assert caught.value.path == str(repo.gitdir / "packed-refs")
    assert store["refs/heads/loose"].oid == repo.commits[1]


def test_missing_folders_hold_no_refs(repo: Repository) -> None:
    linked, store = repo.worktree("linked"), repo.store()
    expected = told(linked.store())
    shutil.rmtree(linked.gitdir / "refs")
    assert told(linked.store()) == expected
    shutil.rmtree(repo.gitdir / "refs")
    assert [ref.name for ref in store] == ["refs/heads/main", "refs/heads/packed"]
    assert store["refs/heads/main"].oid == repo.commits[0]
