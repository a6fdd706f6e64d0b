"""Corners where listing, look-up, diff and git once disagreed."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import refspan
from reftable_support import needs_reftables
from store_support import Format, Repository, build, git_names

HEADER = "# pack-refs with: peeled fully-peeled sorted \n"


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/main")
    return repo


def pack(repo: Repository, *names: bytes) -> None:
    oid = repo.commits[0].encode()
    (repo.gitdir / "packed-refs").write_bytes(HEADER.encode() + b"".join(b"%s %s\n" % (oid, name) for name in names))


def show_ref(repo: Repository, *args: str) -> tuple[int, bytes]:
    done = subprocess.run(
        [sys.executable, "-m", "refspan", "show-ref", *args], cwd=repo.path, stdout=subprocess.PIPE, check=False
    )
    return done.returncode, done.stdout


def git_show_ref(repo: Repository, *args: str) -> tuple[int, bytes]:
    done = subprocess.run(["git", "show-ref", *args], cwd=repo.path, capture_output=True, check=False)
    return done.returncode, done.stdout


@needs_reftables
@pytest.mark.parametrize(("before", "after"), [("files", "reftable"), ("reftable", "files")])
def test_while_git_migrates_no_ref_is_missing(tmp_path: Path, before: Format, after: Format) -> None:
    repo = build(tmp_path / "repo", before)
    repo.git("config", "core.logAllRefUpdates", "false")  # git refuses to migrate logs
    repo.create(*(f"refs/heads/b{i}" for i in range(3_000)))
    store = repo.store()
    digest, seen = store.digest(), set()
    with subprocess.Popen(["git", "refs", "migrate", f"--ref-format={after}"], cwd=repo.path) as migration:
        while migration.poll() is None:
            seen.add((len(store), store.digest(), store.get("refs/heads/b2999") is None))
    assert migration.returncode == 0
    assert seen <= {(3_000, digest, False)}
    assert (store.format, len(store), store.digest()) == (after, 3_000, digest)


@pytest.mark.parametrize("meanwhile", [None, b"ref: refs/heads/.invalid\n"], ids=["no HEAD", "the stub"])
def test_the_last_step_of_a_migration_is_waited_for(repo: Repository, meanwhile: bytes | None) -> None:
    store, head = repo.store(), repo.gitdir / "HEAD"
    complete = head.read_bytes()
    head.unlink()
    if meanwhile:
        head.write_bytes(meanwhile)
    (repo.gitdir / "new").write_bytes(complete)
    step = threading.Timer(0.05, (repo.gitdir / "new").rename, [head])
    step.start()
    assert store.get("refs/heads/none") is None
    step.join()


def test_a_migration_that_was_left_behind_is_not_waited_for_again(repo: Repository) -> None:
    (repo.gitdir / "ref_migration.abc123").mkdir()
    store = repo.store()
    assert [ref.name for ref in store] == ["refs/heads/main"]
    for _ in range(1_000):
        assert store.get("refs/heads/none") is None


@pytest.mark.parametrize(
    ("names", "listed"),
    [
        ([b"zzz/../x"], ["refs/heads/main", "zzz/../x"]),
        ([b" refs/heads/a", b"zzz/../x"], [" refs/heads/a", "refs/heads/main", "zzz/../x"]),
        ([b"refs/\xffz", b"zzz/../x"], ["refs/heads/main", "refs/\udcffz", "zzz/../x"]),
    ],
)
def test_unsafe_names_are_listed_once_and_in_order(repo: Repository, names: list[bytes], listed: list[str]) -> None:
    pack(repo, *names)
    store = repo.store()
    assert [ref.name for ref in store] == list(store.names()) == [ref.name for ref in store.snapshot()] == listed
    assert len(store) == len(listed)


def test_a_log_that_was_written_anew_is_not_taken_for_the_same(repo: Repository) -> None:
    for i in range(12):
        repo.git("commit", "-q", "--allow-empty", "-m", f"c{i}")
    repo.git("reflog", "delete", "HEAD@{10}")
    snapshot = repo.store().snapshot()
    before = (repo.gitdir / "logs/HEAD").read_bytes()
    repo.git("reflog", "expire", "--expire=never", "--expire-unreachable=never", "--rewrite", "HEAD")
    after = (repo.gitdir / "logs/HEAD").read_bytes()
    assert before != after
    with pytest.raises(refspan.UnsupportedError, match="rewritten"):
        list(snapshot.reflog("HEAD"))


def test_a_diff_over_one_falsely_sorted_file_is_an_error(repo: Repository) -> None:
    pack(repo, *(f"refs/heads/{name}".encode() for name in ("a", "b", "z1", "c", "d", "e", "f", "g")))
    store = repo.store()
    before = store.snapshot()
    repo.loose("refs/heads/z1", repo.commits[1] + "\n")
    with pytest.raises(refspan.CorruptError, match="sorts before"):
        list(refspan.diff(before, store.snapshot()))


@pytest.mark.parametrize("kind", ["dangling link", "socket", "loop"])
def test_what_git_does_not_list_hides_nothing_packed_from_show_ref(
    repo: Repository, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(repo, b"refs/heads/x")
    path = repo.gitdir / "refs/heads/x"
    if kind == "socket":
        monkeypatch.chdir(path.parent)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("x")
    else:
        path.symlink_to("x" if kind == "loop" else "refs/heads/nope")
    assert show_ref(repo) == git_show_ref(repo)
    assert b"refs/heads/x" in show_ref(repo)[1]


def test_a_ref_that_is_named_like_a_worktrees_own_folder_is_a_ref(repo: Repository) -> None:
    repo.loose("refs/bisect", repo.commits[0] + "\n")
    store = repo.store()
    assert [ref.name for ref in store] == git_names(repo) == ["refs/bisect", "refs/heads/main"]
    assert store["refs/bisect"].oid == repo.commits[0]


def test_a_folder_of_a_worktrees_own_that_leads_round_spoils_no_listing(repo: Repository) -> None:
    (repo.gitdir / "refs/bisect").symlink_to("bisect")
    assert {ref.name: ref.broken for ref in repo.store() if ref.broken} == {"refs/bisect": "symlink loop"}
    assert [ref.name for ref in repo.store() if not ref.broken] == ["refs/heads/main"]


@pytest.mark.parametrize("args", [[], ["main"], ["/a"]])
def test_an_unsafe_packed_name_ends_show_ref_whatever_is_asked_for(repo: Repository, args: list[str]) -> None:
    pack(repo, b"refs/heads/a", b"zzz/../q")
    assert show_ref(repo, *args)[0] == git_show_ref(repo, *args)[0] == 128


def test_a_well_formed_name_outside_refs_is_shown_as_by_git(repo: Repository) -> None:
    pack(repo, b"refs/heads/a", b"zzz/ok")
    assert show_ref(repo) == git_show_ref(repo)


def test_without_objects_a_snapshot_says_what_is_missing(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/main")
    snapshot = repo.store().snapshot()
    (repo.gitdir / "objects").rename(tmp_path / "objects")
    with pytest.raises(FileNotFoundError) as caught:
        _ = snapshot["refs/heads/main"].peeled
    assert caught.value.filename == str(repo.gitdir / "objects")
