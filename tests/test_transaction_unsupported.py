"""What a transaction does not do yet is refused before any lock is taken: no file is made, changed or touched."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest
from refspan import ANY, Transaction, UnsupportedError
from reftable_support import needs_reftables
from refusal_support import BOTH, DEEP, LOOSE, PACKED, TAG, Given, Into, ordinary, refused, transact
from store_support import Repository, build

HOOK = "reference-transaction"
ALIAS = "refs/heads/alias"


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return ordinary(tmp_path / "repo")


def changes(repo: Repository, name: str) -> list[Given]:
    """Every edit that changes a ref which may exist or not."""
    return [
        ("update", name, repo.commits[2], ANY),
        ("create", name, repo.commits[2], None),
        ("delete", name, None, ANY),
    ]


def refuses(repo: Repository, edit: Given, into: Into = "auto", *, atomic: bool = True) -> str:
    """The edit is refused, and so are others with it; returns the message."""
    others: list[Given] = [("delete", "refs/x/old", None, ANY), ("create", "refs/x/young/deep", repo.commits[0], None)]
    with refused(repo, UnsupportedError, times=True) as caught:
        transact(repo, others[0], edit, others[1], into=into, atomic=atomic)
    return str(caught.value)


@pytest.mark.parametrize("into", ["auto", "packed"])
@pytest.mark.parametrize("atomic", [True, False])
def test_symbolic_refs_cannot_be_edited(repo: Repository, into: Into, atomic: bool) -> None:
    repo.symref(ALIAS, LOOSE)
    repo.symref("refs/heads/dangling", "refs/heads/nowhere")
    repo.symref("refs/heads/self", "refs/heads/self")
    for name in (ALIAS, "refs/heads/dangling", "refs/heads/self"):
        for edit in (*changes(repo, name), ("verify", name, None, repo.commits[1])):
            assert name in refuses(repo, edit, into, atomic=atomic)


def test_a_link_to_another_ref_is_a_symbolic_one(repo: Repository) -> None:
    (repo.gitdir / ALIAS).symlink_to(LOOSE)
    for edit in (*changes(repo, ALIAS), ("verify", ALIAS, None, repo.commits[1])):
        refuses(repo, edit)


def test_head_cannot_be_edited_while_it_names_a_branch(repo: Repository) -> None:
    for edit in (("update", "HEAD", repo.commits[2], ANY), ("verify", "HEAD", None, None)):
        refuses(repo, edit)


def test_a_detached_head_can_be_set_as_any_ref_that_is_not_logged(repo: Repository) -> None:
    (repo.gitdir / "HEAD").write_text(f"{repo.commits[0]}\n")
    transact(repo, ("update", "HEAD", repo.commits[1], repo.commits[0]))
    assert (repo.gitdir / "HEAD").read_text() == f"{repo.commits[1]}\n"


@pytest.mark.parametrize("name", [LOOSE, PACKED, BOTH, DEEP, TAG, "refs/heads/new", "refs/x/new"])
def test_a_ref_with_a_log_cannot_be_changed(repo: Repository, name: str) -> None:
    repo.loose(f"logs/{name}", "")
    for edit in changes(repo, name):
        assert name in refuses(repo, edit)


def test_a_ref_with_a_log_can_be_verified(repo: Repository) -> None:
    repo.loose(f"logs/{LOOSE}", "")
    transact(repo, ("verify", LOOSE, None, repo.commits[1]), ("update", BOTH, repo.commits[2], ANY))
    assert repo.git("rev-parse", BOTH) == repo.commits[2]


def test_a_directory_in_the_place_of_a_log_is_none(repo: Repository) -> None:
    (repo.gitdir / "logs" / LOOSE).mkdir(parents=True)
    transact(repo, ("update", LOOSE, repo.commits[2], ANY))
    assert repo.git("rev-parse", LOOSE) == repo.commits[2]


@pytest.mark.parametrize("value", ["always", "ALWAYS"])
def test_where_everything_is_logged_nothing_can_be_set(repo: Repository, value: str) -> None:
    repo.git("config", "core.logAllRefUpdates", value)
    for name in (LOOSE, TAG, "refs/x/new"):
        refuses(repo, ("update", name, repo.commits[2], ANY))
    # A log that is not there need not be removed.
    transact(repo, ("delete", LOOSE, None, ANY), ("verify", BOTH, None, repo.commits[1]))
    assert repo.git("for-each-ref", LOOSE) == ""


@pytest.mark.parametrize("value", ["true", "1", "yes"])
def test_where_branches_are_logged_other_refs_can_be_set(repo: Repository, value: str) -> None:
    repo.git("config", "core.logAllRefUpdates", value)
    for name in (LOOSE, "refs/heads/new", "refs/remotes/origin/x", "refs/notes/commits"):
        refuses(repo, ("update", name, repo.commits[2], ANY))
    transact(repo, ("update", TAG, repo.commits[2], ANY), ("create", "refs/x/new", repo.commits[2], None))
    assert repo.git("rev-parse", TAG, "refs/x/new").split() == [repo.commits[2]] * 2


def test_in_a_repository_with_a_work_tree_branches_are_logged_by_default(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo")
    repo.git("config", "core.logAllRefUpdates", "false")
    repo.create("refs/heads/main", PACKED)
    repo.git("config", "--unset", "core.logAllRefUpdates")
    for edit in changes(repo, "refs/heads/main"):
        refuses(repo, edit)
    refuses(repo, ("create", "refs/heads/new", repo.commits[0], None))
    transact(repo, ("create", "refs/tags/new", repo.commits[0], None), ("delete", PACKED, None, ANY))
    assert repo.git("for-each-ref", "--format=%(refname)").split() == ["refs/heads/main", "refs/tags/new"]


def test_the_branch_of_head_cannot_be_changed_where_head_has_a_log(repo: Repository) -> None:
    repo.symref("HEAD", BOTH)
    repo.loose("logs/HEAD", "")
    for edit in changes(repo, BOTH):
        assert BOTH in refuses(repo, edit)
    transact(repo, ("update", LOOSE, repo.commits[2], ANY))
    assert repo.git("rev-parse", LOOSE) == repo.commits[2]


@needs_reftables
def test_refs_in_tables_cannot_be_edited(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo", "reftable", bare=True)
    repo.create(LOOSE)
    for edit in (*changes(repo, LOOSE), ("verify", LOOSE, None, repo.commits[0])):
        with refused(repo, UnsupportedError, times=True) as caught:
            transact(repo, edit)
        assert str(repo.gitdir / "reftable") in str(caught.value)
    transaction = Transaction(repo.path)
    with refused(repo, UnsupportedError, times=True):
        transaction.plan()


@needs_reftables
def test_a_repository_that_is_migrated_meanwhile_is_refused_too(repo: Repository) -> None:
    transaction = Transaction(repo.path)
    transaction.update(LOOSE, repo.commits[2])
    repo.git("refs", "migrate", "--ref-format=reftable")
    with refused(repo, UnsupportedError, times=True):
        transaction.commit()


def test_nothing_can_be_changed_inside_a_quarantine(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    transaction = Transaction(repo.path)
    transaction.update(LOOSE, repo.commits[2])
    monkeypatch.setenv("GIT_QUARANTINE_PATH", str(repo.gitdir / "objects/incoming"))
    with refused(repo, UnsupportedError, times=True) as caught:
        transaction.commit()
    assert "GIT_QUARANTINE_PATH" in str(caught.value)
    with refused(repo, UnsupportedError, times=True):
        transact(repo, ("verify", LOOSE, None, repo.commits[1]))


def hook(folder: Path, *, executable: bool = True) -> Path:
    """A hook that leaves a file beside itself when it is run."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / HOOK
    path.write_text('#!/bin/sh\ntouch "$(dirname "$0")/was-run"\n')
    path.chmod(0o755 if executable else 0o644)
    return path


def runs(repo: Repository, path: Path) -> bool:
    """Whether git runs the hook."""
    ran = path.parent / "was-run"
    repo.git("update-ref", "refs/x/probe", repo.commits[0])
    repo.git("update-ref", "-d", "refs/x/probe")
    if ran.exists():
        ran.unlink()
        return True
    return False


def test_a_repository_with_a_hook_is_refused(repo: Repository) -> None:
    path = hook(repo.gitdir / "hooks")
    assert runs(repo, path)
    for edit in (*changes(repo, LOOSE), ("verify", LOOSE, None, repo.commits[1])):
        assert str(path) in refuses(repo, edit)
    path.unlink()
    transact(repo, ("update", LOOSE, repo.commits[2], ANY))


def test_a_hook_that_cannot_be_run_is_none(repo: Repository) -> None:
    path = hook(repo.gitdir / "hooks", executable=False)
    assert not runs(repo, path)
    transact(repo, ("update", LOOSE, repo.commits[2], ANY))
    assert repo.git("rev-parse", LOOSE) == repo.commits[2]


@pytest.mark.parametrize("spelled", ["/dev/null", "{tmp}/empty", "elsewhere"])
def test_a_hook_counts_only_where_the_configuration_looks_for_it(
    repo: Repository, tmp_path: Path, spelled: str
) -> None:
    path = hook(repo.gitdir / "hooks")
    repo.git("config", "core.hooksPath", spelled.replace("{tmp}", str(tmp_path)))
    assert not runs(repo, path)
    transact(repo, ("update", LOOSE, repo.commits[2], ANY))
    assert repo.git("rev-parse", LOOSE) == repo.commits[2]


@pytest.mark.parametrize("spelled", ["{tmp}/own", "../own", "own/../../own", "~/own", "~{user}{up}{tmp}/own"])
def test_a_hook_is_found_however_its_folder_is_configured(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelled: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = hook(tmp_path / "own")
    (repo.gitdir / "own").mkdir()
    user = pwd.getpwuid(os.getuid())
    up = "/.." * (len(Path(user.pw_dir).parts) - 1)
    for word, meaning in (("{user}", user.pw_name), ("{up}", up), ("{tmp}", str(tmp_path))):
        spelled = spelled.replace(word, meaning)
    repo.git("config", "core.hooksPath", spelled)
    assert runs(repo, path)
    refuses(repo, ("update", LOOSE, repo.commits[2], ANY))


@pytest.mark.parametrize("kind", ["plain", "linked", "separate", "submodule", "linked to a submodule"])
def test_a_folder_of_hooks_is_relative_to_the_top_of_the_work_tree(tmp_path: Path, kind: str) -> None:
    tree = repo = build(tmp_path / "repo")
    if kind != "plain" and kind != "linked":
        store = tmp_path / "store/modules/sub"
        store.parent.mkdir(parents=True)
        repo.gitdir.rename(store)
        repo.gitdir.write_text(f"gitdir: {store}\n")
        tree = repo = Repository(repo.path, store, repo.commits)
    if "submodule" in kind:
        repo.git("config", "core.worktree", "../../../repo")
    if "linked" in kind:
        repo.create("refs/heads/main")
        tree = repo.worktree("linked")
    path = hook(tree.path / ".hooks")
    repo.git("config", "core.hooksPath", ".hooks")
    assert runs(tree, path)
    with refused(tree, UnsupportedError, times=True):
        transact(tree, ("create", "refs/x/new", repo.commits[0], None))


@pytest.mark.parametrize("source", ["global", "include", "worktree", "environment"])
def test_a_folder_of_hooks_may_be_configured_wherever_git_looks(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    path, setting = hook(tmp_path / "own"), ("core.hooksPath", str(tmp_path / "own"))
    if source == "global":
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
        repo.git("config", "--global", *setting)
    elif source == "include":
        repo.git("config", "--file", tmp_path / "included", *setting)
        repo.git("config", "include.path", str(tmp_path / "included"))
    elif source == "worktree":
        repo.git("config", "extensions.worktreeConfig", "true")
        repo.git("config", "--worktree", *setting)
    else:
        for name, value in (("COUNT", "1"), ("KEY_0", setting[0]), ("VALUE_0", setting[1])):
            monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    assert runs(repo, path)
    refuses(repo, ("update", LOOSE, repo.commits[2], ANY))


def test_refs_of_one_worktree_are_never_packed(repo: Repository) -> None:
    for name in ("refs/bisect/bad", "refs/worktree/x", "refs/rewritten/x", "ORIG_HEAD"):
        assert name in refuses(repo, ("create", name, repo.commits[0], None), "packed")
        transact(repo, ("create", name, repo.commits[0], None))
        assert (repo.gitdir / name).read_text() == f"{repo.commits[0]}\n"
