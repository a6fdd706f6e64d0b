"""Opening a repository: what its configuration and the environment say of where its refs are, and how."""

from __future__ import annotations

import shutil
import subprocess
import warnings
from pathlib import Path

import pytest
import refspan
from store_support import FORMATS, Format, Repository, build, git_refs, move_storage, same_path, told
from support import Hash, git

V1 = "[core]\nrepositoryformatversion = 1\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A repository with a folder in its work tree and one branch."""
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/main")
    (repo.path / "folder/below").mkdir(parents=True)
    return repo


@pytest.fixture
def other(tmp_path: Path) -> Repository:
    """Another one."""
    other = build(tmp_path / "other")
    other.create("refs/heads/other", at=1)
    return other


def names(store: refspan.RefStore) -> list[str]:
    return list(store.names())


def git_format(where: Path) -> str | None:
    """The format and the hash that git sees there; None if it refuses."""
    done = subprocess.run(
        ["git", "rev-parse", "--show-ref-format", "--show-object-format"], cwd=where, capture_output=True, check=False
    )
    return done.stdout.decode() if done.returncode == 0 else None


@pytest.mark.parametrize(
    "config",
    [
        "",
        "[core]\nbare = false\n",
        "[core]\nrepositoryformatversion = 0\n",
        V1,
        "[core]\nrepositoryformatversion = 0\n[extensions]\nunknown = true\n",
        # Without a version extensions are nothing but words.
        "[extensions]\nrefstorage = reftable\nobjectformat = sha256\nunknown = true\n",
        V1 + "[extensions]\nnoop\nnoop-v1\npreciousobjects = true\npartialclone = x\nworktreeconfig\n",
        V1 + "[extensions]\ncompatobjectformat = sha256\n",
        V1 + "[extensions]\nrefstorage = reftable\nrefstorage = files\n",
        V1 + "[extensions]\nobjectformat = sha1\nrefstorage = files\n",
        V1 + "[EXTENSIONS]\nRefStorage = reftable\n",
        "[core]\nrepositoryformatversion = 0x1\n[extensions]\nrefstorage = reftable\n",
        V1 + "[extensions]\nobjectformat = sha256\n",
        "[core]\nrepositoryformatversion = 0\nrepositoryformatversion = 1\n[extensions]\nrefstorage = reftable\n",
        # Only the file itself says what a repository is.
        V1 + "[include]\npath = other-config\n",
    ],
)
def test_a_configuration_is_read_as_by_git(repo: Repository, tmp_path: Path, config: str) -> None:
    # There is something to read in either format.
    hash_: Hash = "sha256" if "sha256" in config else "sha1"
    shutil.copytree(build(tmp_path / "other", "reftable", hash_).gitdir / "reftable", repo.gitdir / "reftable")
    (repo.gitdir / "other-config").write_text(V1 + "[extensions]\nrefstorage = reftable\n")
    (repo.gitdir / "config").write_text(config)
    store = refspan.open(repo.path)
    assert f"{store.format}\n{store.hash}\n" == git_format(repo.path)


@pytest.mark.parametrize(
    "config",
    [
        "[core]\nrepositoryformatversion = 2\n",
        V1 + "[extensions]\nunknown = true\n",
        V1 + "[extensions]\nrefstorage = nosuch\n",
        V1 + "[extensions]\nrefstorage = FILES\n",
        V1 + "[extensions]\nobjectformat = md5\n",
        V1 + '[extensions "of some"]\nkind = true\n',
        V1 + "[extensions]\nunknown\n",
        V1 + "[extensions]\nrefstorage = nosuch\nrefstorage = files\n",
        "[core]\nrepositoryformatversion = 0x2\n",
        # These mean something in the newer version alone.
        "[core]\nrepositoryformatversion = 0\n[extensions]\nrefstorage = files\n",
        "[core]\nrepositoryformatversion = 0\n[extensions]\nobjectformat = sha1\n",
    ],
)
def test_a_configuration_that_git_refuses_is_unsupported(repo: Repository, config: str) -> None:
    (repo.gitdir / "config").write_text(config)
    assert git_format(repo.path) is None
    with pytest.raises(refspan.UnsupportedError):
        refspan.open(repo.path)


def test_the_common_directory_alone_says_what_a_repository_is(tmp_path: Path) -> None:
    main = build(tmp_path / "main", "reftable")
    main.create("refs/heads/main")
    side = main.worktree("side")
    (side.gitdir / "config").write_text("[core]\nrepositoryformatversion = 0\n")
    (side.gitdir / "config.worktree").write_text("[extensions]\nrefstorage = files\n")
    assert refspan.open(side.path).format == "reftable"


@pytest.mark.parametrize("where", ["global", "environment"])
def test_what_a_repository_is_stands_in_no_other_configuration(
    repo: Repository, tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if where == "global":
        (tmp_path / "global").write_text(V1 + "[extensions]\nrefstorage = reftable\n")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    else:
        configure(monkeypatch, "extensions.refstorage", "reftable")
    assert git_format(repo.path) == "files\nsha1\n"
    assert refspan.open(repo.path).format == "files"


def configure(monkeypatch: pytest.MonkeyPatch, key: str, value: str) -> None:
    """Configure git by its environment."""
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", key)
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", value)


@pytest.mark.parametrize("where", ["repository", "worktree", "global", "environment"])
def test_settings_stand_where_git_looks_for_them(
    repo: Repository, tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.create("refs/tags/main", at=1)
    with pytest.warns(UserWarning, match="refs/heads/main"):
        refspan.open(repo.path).dwim("main")
    setting = "[core]\nwarnAmbiguousRefs = false\n"
    if where == "repository":
        repo.git("config", "core.warnAmbiguousRefs", "false")
    elif where == "worktree":
        repo.git("config", "extensions.worktreeConfig", "true")
        (repo.gitdir / "config.worktree").write_text(setting)
    elif where == "global":
        (tmp_path / "global").write_text(setting)
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    else:
        configure(monkeypatch, "core.warnAmbiguousRefs", "false")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert refspan.open(repo.path).dwim("main").name == "refs/tags/main"


def test_the_environment_overrides_other_settings(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.create("refs/tags/main", at=1)
    repo.git("config", "core.warnAmbiguousRefs", "false")
    configure(monkeypatch, "core.warnAmbiguousRefs", "true")
    with pytest.warns(UserWarning, match="refs/heads/main"):
        refspan.open(repo.path).dwim("main")


@pytest.mark.parametrize("relative", [False, True])
def test_git_dir_counts_without_a_path_alone(
    repo: Repository, other: Repository, relative: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo.path)
    monkeypatch.setenv("GIT_DIR", "../other/.git" if relative else str(other.gitdir))
    assert names(refspan.open()) == ["refs/heads/other"]
    # So it is in a hook that looks into another repository.
    assert names(refspan.open(repo.path)) == ["refs/heads/main"]
    assert names(refspan.open(".")) == ["refs/heads/main"]


def test_a_wrong_git_dir_is_told(repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo.path)
    # Unlike a path, it is not looked for in the folders above.
    for value in (tmp_path / "missing", repo.path / "folder"):
        monkeypatch.setenv("GIT_DIR", str(value))
        with pytest.raises(refspan.RepositoryNotFoundError):
            refspan.open()


def test_git_common_dir_counts_without_a_path_alone(
    repo: Repository, other: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = other.worktree("side")
    side.create("refs/bisect/bad", "ORIG_HEAD", at=2)
    expected = git_refs(side, "--include-root-refs")
    monkeypatch.setenv("GIT_COMMON_DIR", str(other.gitdir))
    store = refspan.open(repo.path)
    assert same_path(store.common_dir, repo.gitdir)
    assert names(store) == ["refs/heads/main"]
    monkeypatch.setenv("GIT_DIR", str(side.gitdir))
    monkeypatch.chdir(repo.path)
    store = refspan.open()
    assert same_path(store.git_dir, side.gitdir)
    assert same_path(store.common_dir, other.gitdir)
    assert told(store.refs(root_refs=True)) == expected == git_refs(repo, "--include-root-refs")


CEILINGS = {
    "the repository": "{repo}",
    "the repository, with a slash": "{repo}/",
    "a folder in it": "{repo}/folder",
    "the folder that it is in": "{repo}/..",
    "the starting point": "{repo}/folder/below",
    "one of several": "/nowhere:{repo}:/else",
    "a relative one": "repo",
    "through a link": "{link}",
    "through a link that is taken as it is": ":{link}",
    "empty": "",
}


@pytest.mark.parametrize("ceiling", CEILINGS.values(), ids=CEILINGS)
@pytest.mark.parametrize("start", [".", "folder", "folder/below"])
def test_ceilings_stop_the_search_as_in_git(
    repo: Repository, tmp_path: Path, ceiling: str, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(repo.path)
    value = ceiling.format(repo=repo.path, link=tmp_path / "link")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", value)
    found = git_format(repo.path / start) is not None
    try:
        store = refspan.open(repo.path / start)
    except refspan.RepositoryNotFoundError:
        assert not found
    else:
        assert found
        assert names(store) == ["refs/heads/main"]


@pytest.mark.parametrize("refs", FORMATS)
@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("by", ["extension", "environment"])
def test_refs_that_are_stored_elsewhere_are_followed(
    tmp_path: Path, refs: Format, relative: bool, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = build(tmp_path / "main", refs)
    main.create("refs/heads/main", "refs/tags/v1", "refs/bisect/bad", at=1)
    main.git("pack-refs", "--all")
    main.create("refs/heads/main", "refs/heads/loose")
    side = main.worktree("side")
    side.create("refs/bisect/bad", "ORIG_HEAD", at=2)
    expected = {repo: git_refs(repo, "--include-root-refs") for repo in (main, side)}
    target = main.gitdir / "elsewhere" if relative else tmp_path / "elsewhere"
    move_storage(main, refs, target, [side])
    # What is relative is relative to the common directory.
    value = f"{refs}://{'elsewhere' if relative else target}"
    if by == "extension":
        for key, setting in (("core.repositoryFormatVersion", "1"), ("extensions.refStorage", value)):
            git("config", "--file", main.gitdir / "config", key, setting)
    else:
        monkeypatch.setenv("GIT_REFERENCE_BACKEND", value)
    for repo, known in expected.items():
        store = refspan.open(repo.path)
        assert store.format == refs
        assert told(store.refs(root_refs=True)) == known
        assert same_path(store.common_dir, main.gitdir)


def test_the_environment_says_which_format_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = build(tmp_path / "repo")
    other = build(tmp_path / "other", "reftable")
    repo.create("refs/heads/files")
    other.create("refs/heads/reftable")
    shutil.copytree(other.gitdir / "reftable", repo.gitdir / "reftable")
    for value, names in (("reftable", ["refs/heads/reftable"]), ("files", ["refs/heads/files"])):
        monkeypatch.setenv("GIT_REFERENCE_BACKEND", value)
        store = refspan.open(repo.path)
        assert (store.format, list(store.names())) == (value, names)


@pytest.mark.parametrize("value", ["nosuch", "nosuch://elsewhere", "FILES"])
def test_an_unknown_format_from_the_environment_is_unsupported(
    repo: Repository, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_REFERENCE_BACKEND", value)
    with pytest.raises(refspan.UnsupportedError):
        refspan.open(repo.path)
