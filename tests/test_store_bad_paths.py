"""What may lie below `refs/` but no ref should, and names that are no path: never followed, never waited for."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
import refspan
from refspan import RefNameError
from store_models import broken, read, simple
from store_support import Repository, Told, encode, git_refs, told
from support import Ref, run_python, write_packed

NAME = "refs/heads/x"
LONG = "refs/heads/" + "n" * 300


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A repository in files with a packed ref, a loose one, and one that is both."""
    return simple(tmp_path / "repo")


UNSAFE = ["../x", "refs/../x", "refs/heads/../../x", "/x", "refs/heads/./main", "refs//heads/main", "refs/heads/main/"]
UNSAFE += [
    "refs/heads/main\0",
    "refs/heads/main\0x",
    "\0",
    "",
    ".",
    "..",
    "refs",
    "refs/",
    "refs/heads",
    "worktrees/../x",
]
UNSAFE += [
    "worktrees/../../x",
    "main-worktree/../x",
    "worktrees/w/../../x",
    "refs/worktree/../../x",
    "refs/heads/..",
    "@",
]


def attempt(call: Callable[[str | bytes], object], name: str | bytes) -> object:
    """What it returns; nothing if the name is refused."""
    try:
        return call(name)
    except RefNameError:
        return None


def leads_nowhere(store: refspan.RefStore | refspan.Snapshot, name: str | bytes) -> None:
    assert attempt(store.get, name) is None
    assert not attempt(store.__contains__, name)
    assert not attempt(lambda name: [*store.reflog(name)], name)
    for call in (store.__getitem__, store.resolve):
        with pytest.raises((refspan.RefNotFoundError, RefNameError)):
            call(name)


@pytest.mark.parametrize("name", UNSAFE)
def test_no_name_leads_out_of_the_refs(repo: Repository, name: str) -> None:
    for path in (repo.gitdir / "x", repo.path / "x"):
        path.write_text(f"{repo.commits[0]}\n")
    (repo.gitdir / "worktrees/w").mkdir(parents=True)
    for store in (repo.store(), repo.store().snapshot()):
        leads_nowhere(store, name)
        leads_nowhere(store, encode(name))


@pytest.mark.parametrize("kind", ["FIFO", "socket", "device", "null", "zero"])
@pytest.mark.parametrize("name", [NAME, "refs/heads/packed"])
def test_what_is_no_file_is_broken(repo: Repository, name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = repo.gitdir / name
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "socket":
        # Its whole path may be too long for a socket.
        monkeypatch.chdir(path.parent)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    elif kind == "device":
        try:
            os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))
        except PermissionError:
            pytest.skip("this user may make no device")
    else:
        path.symlink_to(f"/dev/{kind}")
    # In a process of its own first, which might wait for ever.
    script = "import refspan, sys; store = refspan.open(sys.argv[1]); print(store[sys.argv[2]], *store)"
    assert name in run_python(script, repo.path, name)
    assert broken(repo, name) == "not a file"


def test_links_that_loop_are_broken(repo: Repository) -> None:
    for name, target in (("a", "a"), ("b", "c"), ("c", "b")):
        (repo.gitdir / "refs/heads" / name).symlink_to(target)
    refs = read(repo)
    assert {name for name, ref in refs.items() if ref.broken} == {"refs/heads/a", "refs/heads/b", "refs/heads/c"}
    assert {ref.broken for ref in refs.values()} == {None, "symlink loop"}


def test_folders_that_loop_end(repo: Repository) -> None:
    expected = told(repo.store())
    for name, target in (("d", "."), ("e", ".."), ("f", "../../refs")):
        (repo.gitdir / "refs/heads" / name).symlink_to(target)
    # In a process of its own, which might go on for ever.
    script = "import refspan, sys; print(*(ref.name for ref in refspan.open(sys.argv[1])))"
    names = run_python(script, repo.path).split()
    assert {ref.name for ref in expected} <= {*names}
    assert len(names) == len({*names}) < 1000


def test_a_link_to_nowhere_is_no_ref(repo: Repository) -> None:
    (repo.gitdir / NAME).symlink_to("nowhere")
    (repo.gitdir / "refs/heads/y").symlink_to("../../../nowhere")
    assert NAME not in read(repo)
    assert NAME not in repo.store()
    assert "refs/heads/y" not in repo.store()


def test_a_link_to_nowhere_hides_no_packed_ref(repo: Repository) -> None:
    (repo.gitdir / "refs/heads/packed").symlink_to("nowhere")
    assert read(repo)["refs/heads/packed"].oid == repo.commits[0]


def test_a_link_to_an_unborn_branch_is_a_symbolic_ref(repo: Repository) -> None:
    (repo.gitdir / NAME).symlink_to("refs/heads/none")
    assert told([repo.store()[NAME]]) == [Told(NAME, target="refs/heads/none")]
    assert read(repo)[NAME].broken is None


def test_a_name_may_be_longer_than_any_file_has(repo: Repository) -> None:
    assert LONG not in repo.store()
    assert f"{LONG}/below" not in repo.store()
    assert "refs/heads/" + "n/" * 3000 + "n" not in repo.store()
    assert list(repo.store().reflog(LONG)) == []
    names = sorted([b"refs/heads/main", encode(LONG), b"refs/heads/packed"])
    write_packed(repo.gitdir / "packed-refs", [Ref(name, repo.commits[0].encode(), None) for name in names])
    assert read(repo)[LONG].oid == repo.commits[0]
    assert LONG in repo.store()
    assert f"{LONG}/below" not in repo.store()


def test_nothing_is_below_a_ref(repo: Repository) -> None:
    for name in ("refs/heads/main/below", "refs/heads/packed/below", "refs/heads/loose/b/e/l/o/w", "HEAD/below"):
        assert name not in repo.store()
        assert list(repo.store().reflog(name)) == []
        assert list(repo.store().refs(name)) == list(repo.store().refs(f"{name}/")) == []
        with pytest.raises(refspan.RefNotFoundError) as caught:
            repo.store()[name]
        assert caught.value.name == name


def test_a_packed_ref_below_a_loose_one_is_found_as_listed(repo: Repository) -> None:
    names = [b"refs/heads/loose/below", b"refs/heads/main", b"refs/heads/packed"]
    write_packed(repo.gitdir / "packed-refs", [Ref(name, repo.commits[0].encode(), None) for name in names])
    assert read(repo)["refs/heads/loose/below"].oid == repo.commits[0]


@pytest.mark.parametrize("below", ["", "empty/folders", "x.lock", ".hidden"])
def test_a_folder_in_place_of_a_ref_hides_no_packed_one(repo: Repository, below: str) -> None:
    folder = repo.gitdir / "refs/heads/packed"
    folder.mkdir()
    if below:
        (folder / below).mkdir(parents=True)
    (repo.gitdir / NAME).mkdir()
    assert broken(repo, "refs/heads/packed") is None
    assert repo.store()["refs/heads/packed"].oid == repo.commits[0]
    assert NAME not in repo.store()


@pytest.mark.parametrize("name", ["config", "objects", "index", "logs", "description", "packed-refs", "hooks/x"])
def test_other_files_of_a_git_directory_are_no_usable_refs(repo: Repository, name: str) -> None:
    ref = repo.store().get(name)
    assert ref is None or ref.broken
    assert told(repo.store()) == git_refs(repo)


@pytest.mark.parametrize(
    "name", ["worktrees/linked/HEAD", "worktrees/linked/refs/bisect/bad", "main-worktree/HEAD", "x"]
)
def test_a_usable_ref_beside_refs_is_not_broken(repo: Repository, name: str) -> None:
    repo.worktree("linked").create("refs/bisect/bad")
    repo.loose("x", f"{repo.commits[0]}\n")
    store = repo.store()
    assert store[name].broken is None
    assert store.resolve(name).oid in repo.commits
