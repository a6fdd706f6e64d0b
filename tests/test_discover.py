"""Finding repositories below a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import refspan
from store_support import build
from support import git


def found(root: Path) -> list[str]:
    """What is found, by its path below the root."""
    return [os.path.relpath(path, root) for path in refspan.discover(root)]


def test_bare_repositories_and_work_trees_are_found_in_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b/tree", "b.git", "a/deep/er.git"):
        build(tmp_path / name, bare=name.endswith(".git"))
    (tmp_path / "a/nothing").mkdir()
    assert found(tmp_path) == ["a/deep/er.git", "b/tree", "b.git"]


def test_the_root_itself_may_be_one(tmp_path: Path) -> None:
    assert found(build(tmp_path / "tree").path) == ["."]
    assert found(build(tmp_path / "bare.git", bare=True).path) == ["."]


def test_repositories_within_a_work_tree_are_found_and_what_is_in_a_git_directory_is_not(tmp_path: Path) -> None:
    outer = build(tmp_path / "outer")
    build(tmp_path / "outer/vendor/inner")
    build(outer.gitdir / "modules/hidden.git", bare=True)
    assert found(tmp_path) == ["outer", "outer/vendor/inner"]


def test_a_submodule_is_a_repository(tmp_path: Path) -> None:
    library = build(tmp_path / "library")
    library.create("refs/heads/main")
    outer = build(tmp_path / "outer")
    allowed = ("-c", "protocol.file.allow=always")
    git(*allowed, "submodule", "--quiet", "add", str(library.path), "lib", cwd=outer.path)
    assert (outer.path / "lib/.git").is_file()
    assert found(tmp_path) == ["library", "outer", "outer/lib"]


def test_a_linked_worktree_is_left_out_if_its_repository_is_below_the_root(tmp_path: Path) -> None:
    main = build(tmp_path / "in/main")
    main.create("refs/heads/main")
    main.git("worktree", "add", "-q", "--detach", tmp_path / "in/side", "main")
    main.git("worktree", "add", "-q", "--detach", tmp_path / "out/one", "main")
    main.git("worktree", "add", "-q", "--detach", tmp_path / "out/two", "main")
    assert found(tmp_path / "in") == ["main"]
    # Elsewhere it stands for its repository, once.
    assert found(tmp_path / "out") == ["one"]


def test_a_repository_whose_git_directory_lies_elsewhere_is_found_once(tmp_path: Path) -> None:
    bare = build(tmp_path / "p/.bare", bare=True)
    (tmp_path / "p/.git").write_text("gitdir: ./.bare\n")
    git("init", "-q", "--separate-git-dir", tmp_path / "z-elsewhere.git", tmp_path / "tree")
    assert bare.store().head.target == "refs/heads/main"
    assert found(tmp_path) == ["p", "tree"]


def test_a_bare_repository_may_have_its_objects_behind_a_link(tmp_path: Path) -> None:
    bare = build(tmp_path / "r/bare.git", bare=True)
    (bare.gitdir / "objects").rename(tmp_path / "objects")
    (bare.gitdir / "objects").symlink_to(tmp_path / "objects")
    assert bare.store().head.target == "refs/heads/main"
    assert found(tmp_path / "r") == ["bare.git"]


def test_what_is_damaged_is_found_too(tmp_path: Path) -> None:
    (build(tmp_path / "no-head.git", bare=True).gitdir / "HEAD").unlink()
    (build(tmp_path / "bad-head").gitdir / "HEAD").write_text("what?\n")
    (tmp_path / "bad-file").mkdir()
    (tmp_path / "bad-file/.git").write_text("nowhere\n")
    assert found(tmp_path) == ["bad-file", "bad-head", "no-head.git"]


def test_links_are_not_followed(tmp_path: Path) -> None:
    build(tmp_path / "there/one.git", bare=True)
    (tmp_path / "here/below").mkdir(parents=True)
    (tmp_path / "here/link").symlink_to(tmp_path / "there")
    (tmp_path / "here/below/up").symlink_to(tmp_path / "here")
    assert found(tmp_path / "here") == []
    # But for the root.
    assert found(tmp_path / "here/link") == ["one.git"]


def test_names_that_are_no_text_come_as_python_spells_them(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    build(folder / "x.git", bare=True)
    assert list(refspan.discover(tmp_path)) == [str(folder / "x.git")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_that_cannot_be_listed_is_a_warning(tmp_path: Path) -> None:
    build(tmp_path / "a.git", bare=True)
    (tmp_path / "b").mkdir(mode=0)
    build(tmp_path / "c.git", bare=True)
    with pytest.warns(UserWarning, match="not searched for repositories: .*Permission denied.*/b'"):
        assert found(tmp_path) == ["a.git", "c.git"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_root_that_cannot_be_listed_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir(mode=0)
    with pytest.raises(PermissionError, match="/r'"):
        refspan.discover(tmp_path / "r")


def test_a_folder_that_goes_away_meanwhile_is_no_matter(tmp_path: Path) -> None:
    for name in ("a.git", "b.git"):
        build(tmp_path / name, bare=True)
    walk = refspan.discover(tmp_path)
    assert next(walk) == str(tmp_path / "a.git")
    (tmp_path / "b.git").rename(tmp_path / "moved.git")
    assert list(walk) == []


def test_a_root_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        refspan.discover(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="file"):
        refspan.discover(tmp_path / "file")
    with pytest.raises(ValueError, match="null"):
        refspan.discover("a\0b")
