"""What has moved since the last look: snapshots of one repository, two states of one file, and logs."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest
import refspan
from refspan import CorruptError, LogEntry, PackedRefs
from reftable_support import NO_COMPACTION, needs_reftables
from store_models import Difference, Refs, Values, differences, expected
from store_support import FORMATS, Format, Repository, build, encode
from support import HASHES, Hash, Ref, header, split_records, write_packed

ZEROS = b"0" * 40


def diff(a: Refs, b: Refs) -> list[Difference]:
    return differences(refspan.diff(a, b))


def state(repo: Repository) -> dict[str, str]:
    """What git says of a repository's refs, none of which is symbolic but HEAD."""
    lines = repo.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(line.rsplit(" ", 1) for line in lines)


@pytest.fixture(params=[True, False], ids=["compacting", "not compacting"])
def compaction(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether git compacts stacks on its own."""
    if not request.param:
        monkeypatch.setenv(NO_COMPACTION, "false")
    return bool(request.param)


@pytest.fixture
def steps(repo: Repository) -> list[list[str]]:
    """Transactions, an empty one of which stands for packing."""
    first, second, third = repo.commits
    return [
        [f"update refs/heads/150 {second}"],
        [],
        [f"update refs/heads/000 {second}", "delete refs/heads/299", f"create refs/tags/new {first}"],
        ["delete refs/heads/150", f"update refs/heads/151 {third}"],
        [f"create refs/heads/150 {first}", f"create refs/a {first}", f"create refs/zz {first}"],
        [],
        [f"delete refs/heads/{i:03}" for i in range(100)],
        [f"create refs/heads/{i:03} {first if i % 2 else second}" for i in range(100)],
        [],
        [],
    ]


@pytest.fixture(params=FORMATS)
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    """A repository of either format with 300 refs."""
    repo = build(tmp_path / "repo", request.param)
    repo.create(*(f"refs/heads/{i:03}" for i in range(300)))
    return repo


def test_snapshots_differ_by_what_git_did_between_them(
    repo: Repository, steps: list[list[str]], compaction: bool
) -> None:
    store = repo.store()
    looks = [(store.snapshot(), state(repo))]
    for step in steps:
        if step:
            repo.update(*step)
        else:
            repo.git("pack-refs", "--all")
        looks.append((store.snapshot(), state(repo)))
        assert diff(store, looks[-1][0]) == []
        assert diff(looks[0][0], store) == expected(looks[0][1], looks[-1][1])
    for (a, before), (b, after) in itertools.product(looks, repeat=2):
        assert diff(a, b) == expected(before, after)


def test_packing_alone_makes_no_difference(repo: Repository) -> None:
    store = repo.store()
    before = store.snapshot()
    repo.git("pack-refs", "--all")
    packed = store.snapshot()
    assert diff(before, packed) == diff(packed, before) == diff(packed, store) == []
    repo.create("refs/heads/150", at=1)
    repo.git("pack-refs", "--all")
    first, second, _ = repo.commits
    assert diff(before, store) == diff(packed, store.snapshot()) == [("update", "refs/heads/150", first, second)]


def test_stacks_and_their_reloads_differ_by_what_git_did(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo", "reftable", bare=True)
    repo.create(*(f"refs/heads/{i:03}" for i in range(100)))
    before = refspan.ReftableStack(repo.gitdir / "reftable")
    repo.create("refs/heads/050", at=1)
    after = refspan.ReftableStack(repo.gitdir / "reftable")
    first, second, _ = repo.commits
    assert diff(before, after) == [("update", "refs/heads/050", first, second)]
    repo.git("pack-refs")
    compacted = refspan.ReftableStack(repo.gitdir / "reftable")
    assert diff(before, compacted) == [("update", "refs/heads/050", first, second)]
    assert diff(after, compacted) == []
    assert before.reload()
    assert diff(before, compacted) == []


def records(count: int, hash_: Hash) -> list[Ref]:
    width = 40 if hash_ == "sha1" else 64
    return [Ref(b"refs/heads/%04d" % i, b"%0*x" % (width, i + 1), None) for i in range(count)]


HEADERS = ["sorted", "peeled fully-peeled sorted", "peeled sorted", None]


@pytest.mark.parametrize("hash_", HASHES)
@pytest.mark.parametrize("headers", [*itertools.product(HEADERS, HEADERS[:2])], ids=str)
@pytest.mark.parametrize("at", [0, 1, 777, 1498, 1499])
def test_packed_files_that_differ_in_one_record(
    tmp_path: Path, at: int, headers: tuple[str | None, str], hash_: Hash
) -> None:
    refs = records(1500, hash_)
    ref = refs[at]
    # Of the same length, in the first and in the last digit alone; shorter and longer; a peeled line more.
    for turn, edited in enumerate(
        (
            [ref._replace(oid=b"f" + ref.oid[1:])],
            [ref._replace(oid=ref.oid[:-1] + b"f")],
            [ref._replace(name=ref.name + b"-")],
            [],
            [ref, ref._replace(name=ref.name + b"/new", oid=b"e" * len(ref.oid))],
            [ref._replace(peeled=b"d" * len(ref.oid))],
        )
    ):
        b = [*refs[:at], *edited, *refs[at + 1 :]]
        readers = [
            PackedRefs(write_packed(tmp_path / f"{turn}-{i}", lines, traits))
            for i, (lines, traits) in enumerate(zip((refs, sorted(b)), headers, strict=True))
        ]
        told = expected(values([ref]), values(edited))
        assert diff(readers[0], readers[1]) == told
        assert [row[1] for row in diff(readers[1], readers[0])] == [row[1] for row in told]


def values(refs: Iterable[Ref]) -> Values:
    return {ref.name.decode(): ref.oid.decode() for ref in refs}


def test_peeled_lines_make_no_difference_wherever_they_are(tmp_path: Path) -> None:
    refs = records(2000, "sha1")
    peeled = [ref._replace(peeled=b"9" * 40 if i % 3 else None) for i, ref in enumerate(refs)]
    others = [ref._replace(peeled=b"8" * 40 if i % 5 else None) for i, ref in enumerate(refs)]
    files = [PackedRefs(write_packed(tmp_path / str(i), lines)) for i, lines in enumerate((refs, peeled, others))]
    assert all(diff(a, b) == [] for a, b in itertools.product(files, repeat=2))


@pytest.mark.parametrize("traits", [None, "peeled"])
def test_the_order_of_an_unsorted_file_makes_no_difference(tmp_path: Path, traits: str | None) -> None:
    refs = records(2000, "sha1")
    a = PackedRefs(write_packed(tmp_path / "a", refs))
    b = PackedRefs(write_packed(tmp_path / "b", [*refs[1000:], *refs[:1000]], traits))
    assert diff(a, b) == diff(b, a) == []


@pytest.mark.parametrize("at", [0, 500, 999])
@pytest.mark.parametrize("junk", [b"\n", b"junk\n", b"^%s\n^%s\n" % (ZEROS, ZEROS), b"%sX refs/x\n" % ZEROS])
def test_damage_in_one_of_two_files_is_told(tmp_path: Path, at: int, junk: bytes) -> None:
    write_packed(tmp_path / "a", records(1000, "sha1"))
    lines = split_records((tmp_path / "a").read_bytes())
    lines[at : at + 1] = [lines[at], junk]
    (tmp_path / "b").write_bytes(header("sorted") + b"".join(lines) + b"%s refs/heads/zzzz\n" % (b"1" * 40))
    a, b = PackedRefs(tmp_path / "a"), PackedRefs(tmp_path / "b")
    for pair in ((a, b), (b, a)):
        with pytest.raises(CorruptError):
            diff(*pair)


def logs(store: refspan.RefStore | refspan.Snapshot) -> dict[str, list[LogEntry]]:
    """The entries of all logs, but for those of time 0 and what only says that there is a log."""

    def counts(entry: LogEntry) -> bool:
        return bool(entry.time) and {*f"{entry.old}{entry.new}"} != {"0"}

    return {name: [entry for entry in store.reflog(name) if counts(entry)] for name in store.reflogs()}


def log_differences(
    a: refspan.RefStore | refspan.Snapshot, b: refspan.RefStore | refspan.Snapshot
) -> list[tuple[str, object, object]]:
    """The first entries in which logs differ."""
    before, after = logs(a), logs(b)
    found: list[tuple[str, object, object]] = []
    for name in sorted(before.keys() | after.keys(), key=encode):
        pairs = itertools.zip_longest(before.get(name, []), after.get(name, []))
        first = next(((old, new) for old, new in pairs if old != new), None)
        if first is not None:
            found.append((name, *first))
    return found


@pytest.fixture(params=FORMATS)
def twins(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Repository, Repository]:
    """Two repositories of a format that began as one, and whose logs went apart."""
    a = build(tmp_path / "a", request.param)
    a.git("config", "core.logAllRefUpdates", "always")
    names = ("main", "expired", "extended", "gone", "reworded", "same")
    for at in range(3):
        a.create(*(f"refs/heads/{name}" for name in names), at=at)
    shutil.copytree(a.path, tmp_path / "b")
    b = Repository(tmp_path / "b", tmp_path / "b/.git", a.commits)
    b.git("reflog", "expire", "--expire=all", "refs/heads/expired")
    b.git("update-ref", "-m", "more", "refs/heads/extended", a.commits[0])
    b.git("update-ref", "-d", "refs/heads/gone")
    b.create("refs/heads/new")
    b.git("update-ref", "--create-reflog", "refs/heads/empty", a.commits[0])
    b.git("reflog", "expire", "--expire=all", "refs/heads/empty")
    for repo, message in ((a, "one"), (b, "two")):
        repo.git("update-ref", "-m", message, "refs/heads/reworded", a.commits[0])
    monkeypatch.setenv("GIT_COMMITTER_DATE", "@0 +0000")
    b.git("update-ref", "-m", "hidden", "refs/heads/same", a.commits[0])
    b.git("update-ref", "-m", "hidden", "refs/heads/same", a.commits[2])
    return a, b


DIFFERENT = ("expired", "extended", "gone", "new", "reworded")


def test_logs_are_compared_on_request(twins: tuple[Repository, Repository]) -> None:
    stores: list[refspan.RefStore | refspan.Snapshot] = [repo.store() for repo in twins]
    taken: list[refspan.RefStore | refspan.Snapshot] = [repo.store().snapshot() for repo in twins]
    for a, b in (stores, stores[::-1], taken, [stores[0], taken[1]]):
        changes = list(refspan.diff(a, b, reflogs=True))
        assert [change for change in changes if change.kind != "reflog"] == list(refspan.diff(a, b))
        told = [(change.name, change.before, change.after) for change in changes if change.kind == "reflog"]
        assert told == log_differences(a, b)
        assert [name.removeprefix("refs/heads/") for name, *_ in told] == sorted(DIFFERENT)


def test_the_first_entry_that_differs_is_told(twins: tuple[Repository, Repository]) -> None:
    a, b = (repo.store() for repo in twins)
    changes = {change.name: change for change in refspan.diff(a, b, reflogs=True) if change.kind == "reflog"}
    extended, reworded = changes["refs/heads/extended"], changes["refs/heads/reworded"]
    assert isinstance(extended.after, LogEntry)
    assert (extended.before, extended.after.message) == (None, "more")
    assert isinstance(reworded.before, LogEntry)
    assert isinstance(reworded.after, LogEntry)
    assert (reworded.before.message, reworded.after.message) == ("one", "two")
    gone = changes["refs/heads/gone"]
    assert (gone.before, gone.after) == (next(a.reflog("refs/heads/gone")), None)


@needs_reftables
def test_logs_of_both_formats_are_compared(tmp_path: Path) -> None:
    formats: tuple[Format, Format] = ("files", "reftable")
    repos = [build(tmp_path / refs, refs) for refs in formats]
    for repo in repos:
        for at in range(3):
            repo.create("refs/heads/main", "refs/heads/b", at=at)
    files, reftable = (repo.store() for repo in repos)
    assert list(refspan.diff(files, reftable, reflogs=True)) == []
    repos[1].git("update-ref", "-m", "more", "refs/heads/b", repos[1].commits[2])
    repos[1].git("update-ref", "-m", "more", "refs/heads/b", repos[1].commits[0])
    update, log = refspan.diff(files, reftable, reflogs=True)
    assert (update.kind, log.kind, log.before, log.name) == ("update", "reflog", None, "refs/heads/b")
