"""A store that stays open sees all that git does, however fast, and never goes wrong while git is at it."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import refspan
from race_support import chain_of_commits, read_beside
from reftable_support import NO_COMPACTION
from store_support import FORMATS, Format, Repository, build, git_refs, told


@pytest.fixture(params=FORMATS)
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    """A repository of either format with packed refs and loose ones."""
    repo = build(tmp_path / "repo", request.param)
    repo.create("refs/heads/main", "refs/heads/a/b", "refs/heads/packed", "refs/tags/v1")
    repo.git("pack-refs", "--all")
    repo.create("refs/heads/loose", "refs/heads/main", at=1)
    return repo


def value(store: refspan.RefStore | refspan.Snapshot, name: str) -> str | None:
    """The object id of a ref by look-up, which the listing must confirm."""
    ref = store.get(name)
    assert [found.oid for found in store if found.name == name] == ([] if ref is None else [ref.oid])
    assert (name in store) == (ref is not None)
    return None if ref is None else ref.oid


@pytest.mark.parametrize("name", ["refs/heads/main", "refs/heads/loose", "refs/heads/packed", "refs/heads/new/one"])
def test_each_change_of_a_ref_is_seen(repo: Repository, name: str) -> None:
    store = repo.store()
    value(store, name)
    for at in (0, 1, 2):
        repo.create(name, at=at)
        assert value(store, name) == repo.commits[at]
    repo.git("pack-refs", "--all")
    assert value(store, name) == repo.commits[2]
    repo.create(name, at=0)
    assert value(store, name) == repo.commits[0]
    repo.git("update-ref", "-d", name)
    assert value(store, name) is None
    repo.create(name, at=1)
    assert value(store, name) == repo.commits[1]


def test_all_answers_follow_a_change(repo: Repository) -> None:
    store = repo.store()
    first, second, _ = repo.commits
    before = (store.digest(), store.digest(reflogs=True), len(store), list(store.reflogs()))
    assert store.resolve("HEAD").oid == second
    repo.symref("HEAD", "refs/heads/new")
    assert store.head.target == "refs/heads/new"
    repo.create("refs/heads/new")
    assert (store.resolve("HEAD").oid, store.dwim("new").oid) == (first, first)
    assert len(store) == before[2] + 1
    assert "refs/heads/new" in [ref.name for ref in store.points_at(first)]
    assert [*store.reflogs()] == sorted([*before[3], "refs/heads/new"])
    assert store.digest() != before[0]
    assert store.digest(reflogs=True) != before[1]
    entries = len(list(store.reflog("refs/heads/new")))
    repo.git("update-ref", "refs/heads/new", second)
    assert len(list(store.reflog("refs/heads/new"))) == entries + 1


def test_an_iterator_goes_on_while_git_changes_what_it_reads(repo: Repository) -> None:
    repo.create(*(f"refs/heads/{i:04}" for i in range(1000)))
    store = repo.store()
    names = [ref.name for ref in store]
    refs = iter(store)
    seen = [next(refs).name for _ in range(100)]
    repo.git("pack-refs", "--all")
    repo.update(*(f"delete refs/heads/{i:04}" for i in range(0, 1000, 2)))
    seen += [ref.name for ref in refs]
    # What was deleted meanwhile may be there still; all else must be.
    kept = {name for name in names if not name[-4:].isdigit() or int(name[-1]) % 2}
    assert kept <= {*seen} <= {*names}
    assert seen == [name for name in names if name in {*seen}]


def test_worktrees_come_and_go(repo: Repository) -> None:
    store = repo.store()
    assert "worktrees/linked/HEAD" not in store
    linked = repo.worktree("linked")
    assert store["worktrees/linked/HEAD"].target == "refs/heads/linked"
    own = linked.store()
    linked.symref("HEAD", "refs/heads/main")
    assert own.head.target == store["worktrees/linked/HEAD"].target == "refs/heads/main"
    repo.git("worktree", "remove", "--force", linked.path)
    assert "worktrees/linked/HEAD" not in store


def test_packed_refs_may_appear_and_go(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo")
    store = repo.store()
    assert list(store) == []
    repo.create("refs/heads/main")
    repo.git("pack-refs", "--all")
    content = (repo.gitdir / "packed-refs").read_bytes()
    assert value(store, "refs/heads/main") == repo.commits[0]
    (repo.gitdir / "packed-refs").unlink()
    assert value(store, "refs/heads/main") is None
    (repo.gitdir / "packed-refs").write_bytes(content)
    assert value(store, "refs/heads/main") == repo.commits[0]


def equal_in_size(repo: Repository, turn: int) -> None:
    """Change where two packed refs lead, and nothing else about the file."""
    repo.create("refs/heads/main", at=turn % 3)
    repo.create("refs/heads/packed", at=(turn + 1) % 3)
    repo.git("pack-refs", "--all")


def in_place(repo: Repository, turn: int) -> None:
    """Do the same within the same inode, as an editor does."""
    # What the clock of the file system cannot tell apart nobody can.
    time.sleep(0.02)
    (repo.gitdir / "refs/heads/main").unlink(missing_ok=True)
    path = repo.gitdir / "packed-refs"
    with path.open("r+b") as file:
        lines = [line for line in file.read().splitlines(keepends=True) if line.startswith(b"#")]
        lines += [f"{repo.commits[turn % 3]} refs/heads/main\n".encode()]
        lines += [f"{repo.commits[(turn + 1) % 3]} refs/heads/packed\n".encode()]
        file.seek(0)
        file.write(b"".join(lines))
        file.truncate()


def with_old_times(repo: Repository, turn: int) -> None:
    """Replace the file by another one that pretends to be as old."""
    path = repo.gitdir / "packed-refs"
    times = path.stat()
    equal_in_size(repo, turn)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize("change", [equal_in_size, in_place, with_old_times])
def test_changes_of_equal_size_within_a_second_are_seen(
    tmp_path: Path, change: Callable[[Repository, int], None]
) -> None:
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/main", "refs/heads/packed")
    repo.git("pack-refs", "--all")
    store = repo.store()
    for turn in range(60):
        change(repo, turn)
        assert value(store, "refs/heads/main") == repo.commits[turn % 3]
        assert value(store, "refs/heads/packed") == repo.commits[(turn + 1) % 3]


@pytest.mark.parametrize("refs", FORMATS)
def test_quick_changes_of_a_ref_are_seen(tmp_path: Path, refs: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NO_COMPACTION, "false")
    repo = build(tmp_path / "repo", refs)
    store = repo.store()
    for turn in range(100):
        repo.create("refs/heads/main", at=turn % 3)
        ref = store["refs/heads/main"]
        assert (ref.oid, store.resolve("HEAD").oid) == (repo.commits[turn % 3],) * 2


def test_a_random_life_is_followed(repo: Repository) -> None:
    rng, store = random.Random(4), repo.store()
    names = [f"refs/heads/{i}/{i}" for i in range(6)]
    there = {ref.name for ref in store}
    for _ in range(60):
        name = rng.choice(names)
        if rng.random() < 0.2:
            repo.git("pack-refs", "--all")
        elif name in there and rng.random() < 0.5:
            repo.update(f"delete {name}")
            there.remove(name)
        else:
            repo.create(name, at=rng.randrange(3))
            there.add(name)
        assert told(store) == git_refs(repo)
        assert told(store[name] for name in sorted(there)) == told(store)


# Prints how many reads it made. `counter` and `other` step through the
# commits whose ids are given; `other` is deleted now and then; the refs below refs/fixed/ are always there.
READER = """
import itertools
import sys
import refspan
path, reads, order = sys.argv[1], int(sys.argv[2]), {oid: i for i, oid in enumerate(sys.argv[3].split(","))}
latest, seen = {}, set()

def check(ref):
    value = order[ref.oid]
    if value < latest.get(ref.name, 0):
        sys.exit(f"{ref.name}: {value} after {latest[ref.name]}")
    latest[ref.name] = value

kept = refspan.open(path)
for i in itertools.count():
    # Reading may be over before git has done much.
    if i >= reads and len(seen) > 9:
        break
    if i > 100 * reads:
        sys.exit("git does nothing")
    store = kept if i % 4 else refspan.open(path)
    if i % 8 < 4:
        check(store["refs/heads/counter"])
        seen.add(latest["refs/heads/counter"])
        other = store.get("refs/heads/other")
        if other is not None:
            check(other)
        if "refs/fixed/7" not in store:
            sys.exit("a ref is not found")
    else:
        refs = {ref.name: ref for ref in (store.snapshot() if i % 16 == 7 else store)}
        names = [name for name in refs if name.startswith("refs/fixed/")]
        if len(names) != 20 or len(refs) - ("refs/heads/other" in refs) != 21:
            sys.exit(f"missing or too many: {[*refs]}")
        if any(ref.broken for ref in refs.values()):
            sys.exit(f"broken: {[ref for ref in refs.values() if ref.broken]}")
        for name in ("refs/heads/counter", "refs/heads/other"):
            if name in refs:
                check(refs[name])
print(i)
"""


@pytest.mark.slow
@pytest.mark.parametrize("refs", FORMATS)
def test_readers_never_go_wrong_while_git_creates_deletes_and_packs(tmp_path: Path, refs: Format, full: bool) -> None:
    repo = build(tmp_path / "repo", refs, bare=True)
    commits = chain_of_commits(repo.path, 2000 if full else 300)
    repo.update(*(f"create refs/fixed/{i} {commits[0]}" for i in range(20)))
    repo.git("update-ref", "refs/heads/counter", commits[0])
    # Each of two processes makes half of the reads.
    reads = 50_000 if full else 10_000
    results, _ = read_beside(
        READER, str(repo.path), str(reads), ",".join(commits), write=lambda turn: write(repo, commits, turn)
    )
    for out in results:
        assert int(out) >= reads


def write(repo: Repository, commits: list[str], turn: int) -> None:
    """Take the counter a step further as long as there are steps, and do what else git does to refs."""
    now = commits[min(turn, len(commits) - 1)]
    repo.git("update-ref", "refs/heads/counter", now)
    if turn % 4 == 1:
        # Loose over packed by the time that it goes.
        repo.git("update-ref", "refs/heads/other", now)
    if turn % 4 == 3:
        repo.git("update-ref", "-d", "refs/heads/other")
    if turn % 2:
        repo.git("pack-refs", "--all")
    if turn % 4 == 1:
        repo.git("update-ref", "refs/heads/other", commits[min(turn + 1, len(commits) - 1)])
