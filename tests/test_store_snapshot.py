"""Snapshots, which nothing that git does afterwards changes, and digests, which anyone can compute without us."""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import subprocess
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest
import refspan
from reftable_support import needs_reftables
from store_support import (
    DANGLING,
    FORMATS,
    SAMPLES,
    Format,
    Repository,
    Told,
    build,
    by_name,
    encode,
    git_refs,
    sample,
    sample_name,
    told,
)
from support import HASHES, Hash

# What the documentation says gives the digest.
SHELL = (
    "git for-each-ref --include-root-refs --format='%(refname) "
    "%(if)%(symref)%(then)ref:%(symref)%(else)%(objectname)%(end)' | LC_ALL=C sort | sha256sum"
)


@pytest.fixture(params=SAMPLES, ids=sample_name)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Each worktree of each repository with refs of all kinds."""
    return sample(tmp_path_factory.getbasetemp(), request.param)


@pytest.fixture(params=FORMATS)
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    """A repository of either format with packed refs, loose ones, logs and a linked worktree."""
    repo = build(tmp_path / "repo", request.param)
    fill(repo)
    return repo


def fill(repo: Repository) -> None:
    repo.create("refs/heads/main", "refs/heads/b", "refs/tags/light", "ORIG_HEAD", "refs/bisect/bad")
    repo.tag("annotated", repo.commits[0])
    repo.git("pack-refs", "--all")
    repo.create("refs/heads/b", "refs/heads/c/d", "refs/other/größe", "AUTO_MERGE", at=1)
    repo.tag("nested", "refs/tags/annotated")
    repo.symref("refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    repo.create("refs/remotes/origin/main", at=2)
    repo.worktree("linked")


def everything(store: refspan.RefStore | refspan.Snapshot) -> list[object]:
    """All that a store answers about refs, in whatever way it is asked."""
    names = [ref.name for ref in store.refs(root_refs=True)]
    return [
        told(store.refs(root_refs=True)),
        [ref.peeled for ref in store],
        told(store.refs(glob="refs/*/*")),
        told(store.refs("refs/heads/", start_after="refs/heads/b", exclude=["refs/heads/main"])),
        told(store[name] for name in names),
        [name in store for name in ("refs/heads/new", "refs/heads/b", "refs/heads/main/below", "BISECT_HEAD")],
        told([store.head, store.resolve("HEAD"), store.dwim("annotated"), store.dwim("origin")]),
        told(store.points_at(str(store["refs/heads/main"].oid))),
        list(store.names()),
        len(store),
        store.digest(),
    ]


def all_logs(store: refspan.RefStore | refspan.Snapshot) -> list[object]:
    """All logs, forwards and backwards."""
    logs = [(name, [*store.reflog(name)], [*store.reflog(name, reverse=True)]) for name in store.reflogs()]
    return [logs, store.digest(reflogs=True)]


def test_a_snapshot_answers_as_its_store(place: Repository) -> None:
    store = place.store()
    snapshot = store.snapshot()
    assert (snapshot.git_dir, snapshot.common_dir) == (store.git_dir, store.common_dir)
    assert (snapshot.format, snapshot.hash) == (store.format, store.hash)
    assert list(snapshot.refs(root_refs=True)) == list(store.refs(root_refs=True))
    assert [ref.peeled for ref in snapshot] == [ref.peeled for ref in store]
    assert list(snapshot.reflogs()) == list(store.reflogs())
    assert snapshot.digest(reflogs=True) == store.digest(reflogs=True)


@pytest.mark.parametrize("name", ["HEAD", "FOO", "FETCH_HEAD", "refs/bisect/bad"])
def test_a_snapshot_finds_what_it_does_not_list(place: Repository, name: str) -> None:
    store = place.store()
    assert store.snapshot()[name] == store[name]
    assert list(store.snapshot().reflog(name)) == list(store.reflog(name))


@pytest.mark.parametrize("name", ["worktrees/side/HEAD", "main-worktree/refs/bisect/bad"])
def test_a_snapshot_does_not_answer_for_other_worktrees(place: Repository, name: str) -> None:
    snapshot = place.store().snapshot()
    for ask in (snapshot.get, snapshot.reflog, snapshot.resolve):
        with pytest.raises(refspan.UnsupportedError, match="of other worktrees"):
            ask(name)


CHANGES = [
    "update-ref refs/heads/b {2}",
    "update-ref refs/heads/new {2}",
    "update-ref BISECT_HEAD {0}",
    "update-ref -d ORIG_HEAD",
    "symbolic-ref HEAD refs/heads/b",
    "symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/none",
    "tag -f -m other annotated {2}",
    "tag -d nested",
    "commit -q --allow-empty -m more",
    "pack-refs --all",
    "worktree remove --force ../linked",
]
REWRITES = [
    "update-ref -d refs/heads/main",
    "update-ref -d refs/heads/c/d",
    "reflog delete HEAD@{{0}}",
    "reflog expire --expire=all --all",
]


@pytest.mark.parametrize("change", [*CHANGES, *REWRITES])
def test_what_git_does_changes_no_snapshot(repo: Repository, change: str) -> None:
    store = repo.store()
    snapshot = store.snapshot()
    before, logs = everything(snapshot), all_logs(snapshot)
    assert (before, logs) == (everything(store), all_logs(store))
    repo.git(*change.format(*repo.commits).split())
    assert everything(snapshot) == before
    if store.format == "reftable" or change not in REWRITES:
        assert all_logs(snapshot) == logs
    else:
        # A snapshot does not hold what may be huge. But it must not tell another story.
        with contextlib.suppress(refspan.UnsupportedError):
            assert all_logs(snapshot) == logs
    assert repo.store().digest(reflogs=True) == store.digest(reflogs=True)


def test_snapshots_stay_as_they_are_however_much_happens(repo: Repository) -> None:
    store = repo.store()
    taken: list[tuple[refspan.Snapshot, list[object]]] = []
    for change in [*CHANGES, *REWRITES]:
        snapshot = store.snapshot()
        taken.append((snapshot, [told(snapshot.refs(root_refs=True)), snapshot.digest()]))
        repo.git(*change.format(*repo.commits).split())
    for snapshot, before in taken:
        assert [told(snapshot.refs(root_refs=True)), snapshot.digest()] == before
    # Neither packing nor removing a worktree changes refs; nor does what happens to logs.
    assert len({snapshot.digest() for snapshot, _ in taken}) == len(taken) - 3


def test_a_snapshot_outlives_its_repository(repo: Repository) -> None:
    snapshot = repo.store().snapshot()
    before = [told(snapshot.refs(root_refs=True)), snapshot.digest()]
    shutil.rmtree(repo.path)
    assert [told(snapshot.refs(root_refs=True)), snapshot.digest()] == before


def test_threads_may_share_a_snapshot(place: Repository) -> None:
    snapshot = place.store().snapshot()
    expected = (told(snapshot), snapshot.digest(reflogs=True))
    found: list[object] = []

    def read() -> None:
        for _ in range(5):
            found.append((told(snapshot), snapshot.digest(reflogs=True)))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for step in (threading.Thread.start, threading.Thread.join):
        for thread in threads:
            step(thread)
    assert found == [expected] * 20


@pytest.mark.parametrize("where", ["repo", "linked"])
@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("refs", FORMATS)
def test_the_digest_is_that_of_the_shell_line(tmp_path: Path, refs: Format, hash_: Hash, where: str) -> None:
    fill(build(tmp_path / "repo", refs, hash_))
    printed = subprocess.run(["sh", "-c", SHELL], cwd=tmp_path / where, stdout=subprocess.PIPE, check=True).stdout
    assert f"{refspan.open(tmp_path / where).digest()}  -\n".encode() == printed
    assert refspan.open(tmp_path / where).snapshot().digest() == printed.split()[0].decode()


def sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def text_of(where: Repository, dangling: Iterable[Told] = ()) -> bytes:
    """What a digest is of, put together from what git says, chains of symbolic refs too."""
    refs = by_name([*git_refs(where, "--include-root-refs"), *dangling])
    return b"".join(encode(f"{ref.name} {ref.oid or f'ref:{ref.target}'}\n") for ref in refs)


def test_the_digest_is_of_a_line_for_each_ref(place: Repository) -> None:
    assert place.store().digest() == sha256(text_of(place, DANGLING))


@pytest.mark.parametrize("refs", FORMATS)
def test_the_digest_of_an_empty_repository_is_of_its_head(tmp_path: Path, refs: Format) -> None:
    repo = build(tmp_path / "repo", refs)
    assert repo.store().digest() == sha256(b"HEAD ref:refs/heads/main\n")
    assert repo.store().digest(reflogs=True) == sha256(b"HEAD ref:refs/heads/main\n\n")


def test_broken_refs_and_pseudorefs_are_not_in_the_digest(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/main")
    before = repo.store().digest()
    for name, content in (("x", "junk\n"), ("y", ""), ("z", "0" * 40), ("a..b", repo.commits[0]), ("t", "ref: a..b\n")):
        repo.loose(f"refs/heads/{name}", content)
    repo.loose("FETCH_HEAD", f"{repo.commits[0]}\t\tx\n")
    repo.loose("MERGE_HEAD", f"{repo.commits[0]}\n")
    repo.create("FOO")
    assert [ref.broken is None for ref in repo.store()].count(False) == 5
    assert repo.store().digest() == repo.store().snapshot().digest() == before


@needs_reftables
@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize(("old", "new"), [("files", "reftable"), ("reftable", "files")])
def test_the_digest_survives_a_migration(tmp_path: Path, old: Format, new: Format, hash_: Hash) -> None:
    # Older versions of git migrate no logs and no repository with worktrees; a bare one has neither.
    repo = build(tmp_path / "repo", old, hash_, bare=True)
    repo.create("refs/heads/main", "refs/heads/größe", "refs/tags/light", "ORIG_HEAD")
    repo.tag("annotated", repo.commits[0])
    repo.git("pack-refs", "--all")
    repo.create("refs/heads/main", "refs/notes/commits", "BISECT_HEAD", at=1)
    repo.symref("refs/heads/alias", "refs/heads/main")
    repo.symref("refs/heads/dangling", "refs/heads/none")
    (repo.gitdir / "FETCH_HEAD").write_text(f"{repo.commits[0]}\t\tx\n")
    before = repo.store()
    digests = (before.digest(), before.digest(reflogs=True))
    repo.git("refs", "migrate", f"--ref-format={new}")
    after = repo.store()
    assert (before.hash, after.format) == (hash_, new)
    assert (after.digest(), after.digest(reflogs=True)) == digests


def history(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens to a repository in some days of work."""
    repo.git("config", "core.logAllRefUpdates", "always")
    first, second, third = repo.commits
    commands = [
        f"update-ref -m start refs/heads/main {first}",
        f"update-ref refs/heads/main {second}",
        "commit -q --allow-empty -m größe",
        f"branch side {third}",
        "symbolic-ref -m switched HEAD refs/heads/side",
        "commit -q --allow-empty -m aside",
        "tag -m tagged annotated",
        f"update-ref --no-deref -m detached HEAD {third}",
        f"update-ref -m orig ORIG_HEAD {first}",
        f"update-ref -m one refs/bisect/bad {first}",
        f"update-ref -m one refs/heads/gone {first}",
        "update-ref -d refs/heads/gone",
        f"update-ref -m one refs/heads/emptied {first}",
        "reflog expire --expire=all refs/heads/emptied",
        f"update-ref -m one refs/heads/thinned {first}",
        f"update-ref refs/heads/thinned {second}",
        f"update-ref -m three refs/heads/thinned {third}",
        "reflog delete refs/heads/thinned@{2}",
        f"update-ref -m again refs/heads/main {first}",
        f"update-ref -m hidden refs/heads/main {third}",
    ]
    for at, command in enumerate(commands):
        time = 0 if "hidden" in command else 1_700_000_000 + at * 1000
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"@{time} {('+0530', '-0330', '+0000')[at % 3]}")
        monkeypatch.setenv("GIT_COMMITTER_NAME", ("Committer", "Größe Ünter")[at % 2])
        repo.git(*command.split())


def logs_of(repo: Repository) -> bytes:
    """The lines of all reflog files of a main worktree, each behind its ref's name."""
    root = repo.gitdir / "logs"
    files = sorted((bytes(path.relative_to(root)), path) for path in root.rglob("*") if path.is_file())
    lines = [name + b" " + line for name, path in files for line in path.read_bytes().splitlines(keepends=True)]
    # Git ends some lines without a message in a TAB; and it shows no entry of time 0, ever.
    return b"".join(line.replace(b"\t\n", b"\n") for line in lines if not re.search(rb"> 0 [+-]\d{4}[\t\n]", line))


@needs_reftables
@pytest.mark.parametrize("hash_", HASHES)
def test_the_same_history_gives_the_same_digest(tmp_path: Path, hash_: Hash, monkeypatch: pytest.MonkeyPatch) -> None:
    files, reftable = (build(tmp_path / refs, refs, hash_) for refs in ("files", "reftable"))
    for repo in (files, reftable):
        history(repo, monkeypatch)
    text = text_of(files)
    logs = logs_of(files)
    assert logs.count(b"\n") > 15
    assert files.store().digest() == reftable.store().digest() == sha256(text)
    assert files.store().digest(reflogs=True) == sha256(text + b"\n" + logs)
    assert reftable.store().digest(reflogs=True) == sha256(text + b"\n" + logs)
