"""One frame for many repositories."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import pytest
import refspan
from store_support import FORMATS, Format, Repository, build, decode, encode
from support import HASHES, Hash

pa = pytest.importorskip("pyarrow")

Rows = list[dict[str, Any]]
What = Literal["refs", "reflogs", "repositories"]


def rows(scan: refspan.Scan) -> Rows:
    table = pa.table(scan)
    table.validate(full=True)
    return list(table.to_pylist())


def told(repository: Repository) -> list[tuple[str, ...]]:
    """Git's own listing: name, object id, peeled object id and target of each ref."""
    fields = "%(refname)%00%(objectname)%00%(*objectname)%00%(symref)"
    listed = repository.git("for-each-ref", f"--format={fields}").splitlines()
    return [(name, "" if target else oid, peeled, target) for name, oid, peeled, target in map(_split, listed)]


def _split(line: str) -> list[str]:
    return line.split("\0")


def shown(found: Rows) -> list[tuple[str, ...]]:
    return [tuple(row[field] or "" for field in ("name", "oid", "peeled", "target")) for row in found]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> list[Repository]:
    """Repositories of both formats and hashes, bare and not, one of them empty."""
    root = tmp_path_factory.mktemp("fleet")
    repositories = []
    for refs in ("files", "reftable"):
        for hash_ in HASHES:
            for bare in (False, True):
                repository = build(root / f"{refs}-{hash_}-{bare}", refs, hash_, bare=bare)
                repository.create("refs/heads/main", "refs/heads/topic/one", "refs/remotes/origin/x")
                repository.tag("v1", repository.commits[0])
                repository.git("pack-refs", "--all")
                repository.create("refs/heads/topic/one", "refs/heads/loose", at=1)
                repository.tag("v2", repository.commits[1])
                repository.symref("refs/remotes/origin/HEAD", "refs/remotes/origin/x")
                repositories.append(repository)
    repositories.append(build(root / "empty.git", bare=True))
    return sorted(repositories, key=lambda repository: repository.path)


def paths(fleet: Iterable[Repository]) -> list[str]:
    return [str(repository.path) for repository in fleet]


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("batch_rows", [1, 5, 65536])
def test_the_rows_are_those_of_git_repository_by_repository(
    fleet: list[Repository], workers: int, batch_rows: int
) -> None:
    found = rows(refspan.scan(paths(fleet), workers=workers, batch_rows=batch_rows))
    want = [(str(repository.path), line) for repository in fleet for line in told(repository)]
    assert [row["repository"] for row in found] == [path for path, _ in want]
    assert [row["error"] for row in found] == [None] * len(want)
    # A table has no peeled value of a symbolic ref, and for-each-ref shows none either way for one to a branch.
    assert shown(found) == [line for _, line in want]


def test_a_pattern_stands_for_the_paths_that_it_matches(fleet: list[Repository]) -> None:
    root = fleet[0].path.parent
    assert rows(refspan.scan(f"{root}/*")) == rows(refspan.scan(paths(fleet)))
    assert rows(refspan.scan(root / "files-*")) == rows(refspan.scan(p for p in paths(fleet) if "/files-" in p))
    assert rows(refspan.scan(f"{root.parent}/**/{fleet[0].path.name}")) == rows(refspan.scan(fleet[0].path))
    with pytest.raises(FileNotFoundError, match=r"no\*where"):
        refspan.scan(f"{root}/no*where")


def test_a_path_with_wildcards_that_exists_is_just_a_path(tmp_path: Path) -> None:
    odd = build(tmp_path / "odd[1]*", bare=True)
    odd.create("refs/heads/main")
    assert [row["name"] for row in rows(refspan.scan(odd.path))] == ["refs/heads/main"]


@pytest.mark.parametrize("refs", FORMATS)
@pytest.mark.parametrize("hash_", HASHES)
def test_repositories_are_a_row_each(tmp_path: Path, refs: Format, hash_: Hash) -> None:
    repository = build(tmp_path / "r.git", refs, hash_, bare=True)
    repository.create("refs/heads/a", "refs/heads/b", "refs/tags/c")
    head = repository.git("symbolic-ref", "HEAD")
    (row,) = rows(refspan.scan(repository.path, what="repositories"))
    assert row == {
        "repository": str(repository.path),
        "format": refs,
        "hash": hash_,
        "head": f"ref:{head}",
        "refs": 3,
        "error": None,
    }
    repository.git("update-ref", "--no-deref", "HEAD", repository.commits[2])
    scan = refspan.scan(repository.path, what="repositories", fields=["head", "refs"], prefix="refs/heads/")
    assert rows(scan) == [{"head": repository.commits[2], "refs": 2}]


@pytest.mark.parametrize("refs", FORMATS)
def test_reflogs_of_all_repositories_come_newest_first(tmp_path: Path, refs: Format) -> None:
    want = []
    for name in ("a", "b"):
        repository = build(tmp_path / name, refs)
        for at in range(3):
            repository.git("update-ref", "-m", f"step {at}", "refs/heads/main", repository.commits[at])
        for index, at in enumerate((2, 1, 0)):
            want.append((str(repository.path), "refs/heads/main", repository.commits[at], f"step {at}", index))
    found = rows(refspan.scan([tmp_path / "a", tmp_path / "b"], what="reflogs", prefix="refs/"))
    keys = ("repository", "ref", "new", "message", "index")
    assert [tuple(row[key] for key in keys) for row in found] == want


def damaged_fleet(root: Path) -> list[str]:
    """A sound repository among such as cannot be read, or not to their ends."""
    sound = build(root / "b.git", bare=True)
    sound.create("refs/heads/main")
    half = build(root / "a.git", bare=True)
    half.create("refs/heads/a", "refs/heads/b")
    half.git("pack-refs", "--all")
    packed = half.gitdir / "packed-refs"
    lines = packed.read_text().splitlines(keepends=True)
    packed.write_text(lines[0] + lines[1] + "garbage\n" + lines[2])
    no_head = build(root / "c.git", bare=True)
    (no_head.gitdir / "HEAD").write_text("\n")
    version = build(root / "d.git", bare=True)
    version.git("config", "core.repositoryformatversion", "7")
    (root / "e").write_text("just a file\n")
    return [str(root / name) for name in ("a.git", "b.git", "c.git", "d.git", "e", "nowhere")]


@pytest.mark.parametrize("what", ["refs", "reflogs", "repositories"])
def test_what_cannot_be_read_is_a_row_and_the_others_are_whole(tmp_path: Path, what: What) -> None:
    fleet = damaged_fleet(tmp_path)
    found = rows(refspan.scan(fleet, what=what, on_error="record"))
    errors = {row["repository"]: row["error"] for row in found if row["error"] is not None}
    assert set(errors) == set(fleet) - {fleet[1]} - ({fleet[0]} if what == "reflogs" else set())
    assert "version is 7" in errors[fleet[3]] or "repositoryformatversion" in errors[fleet[3]]
    if what == "refs":
        assert f"{fleet[0]}/packed-refs:3: " in errors[fleet[0]]
        assert [row["name"] for row in found if row["repository"] == fleet[1]] == ["refs/heads/main"]
        # What could be read may come first.
        *names, last = [row["name"] for row in found if row["repository"] == fleet[0]]
        assert last is None
        assert set(names) <= {"refs/heads/a"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_what_may_not_be_read_is_a_row(tmp_path: Path) -> None:
    refused, sound = (build(tmp_path / name, bare=True) for name in ("a.git", "b.git"))
    sound.create("refs/heads/main")
    (refused.gitdir / "refs").chmod(0)
    error, ref = rows(refspan.scan(paths([refused, sound]), on_error="record"))
    assert "Permission denied" in error["error"]
    assert ref["name"] == "refs/heads/main"


def test_without_leave_the_first_damage_ends_the_stream(tmp_path: Path) -> None:
    with pytest.raises(pa.ArrowException, match=r"a\.git/packed-refs:3: "):
        pa.table(refspan.scan(damaged_fleet(tmp_path)))


def test_a_damaged_repository_within_another_is_not_taken_for_that(tmp_path: Path) -> None:
    outer = build(tmp_path / "outer")
    outer.create("refs/heads/outer")
    inner = build(tmp_path / "outer/inner")
    (inner.gitdir / "HEAD").unlink()
    (row,) = rows(refspan.scan(inner.path, on_error="record"))
    assert row["name"] is None
    assert str(inner.path) in row["error"]


def test_progress_is_told_in_order_and_to_the_end(fleet: list[Repository]) -> None:
    told: list[tuple[int, int | None, str]] = []
    rows(refspan.scan(paths(fleet), progress=lambda *step: told.append(step)))
    assert told[-1] == (len(fleet), len(fleet), "repositories")
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)
    assert {what for _, _, what in told} == {"repositories"}


def test_what_progress_raises_ends_the_stream(fleet: list[Repository]) -> None:
    def stop(*_: object) -> None:
        raise RuntimeError("enough")

    with pytest.raises(pa.ArrowException, match="enough"):
        pa.table(refspan.scan(paths(fleet), progress=stop))


def read_until_interrupted(scan: refspan.Scan) -> None:
    try:
        pa.table(scan)
    except pa.ArrowException:
        # The library says so in its own words; Ctrl-C comes right behind.
        threading.Event().wait(5)


def test_ctrl_c_ends_a_long_scan(tmp_path: Path) -> None:
    repository = build(tmp_path / "r.git", bare=True)
    repository.create(*(f"refs/heads/b{i}" for i in range(200)))
    scan = refspan.scan([repository.path] * 100_000)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        read_until_interrupted(scan)
    timer.join()


def threads() -> int:
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def test_a_stream_dropped_half_way_leaves_no_thread(tmp_path: Path) -> None:
    repository = build(tmp_path / "r.git", bare=True)
    repository.create(*(f"refs/heads/b{i}" for i in range(200)))
    before = threads()
    reader = pa.RecordBatchReader.from_stream(refspan.scan([repository.path] * 2000, batch_rows=100, workers=4))
    assert reader.read_next_batch().num_rows > 0
    assert threads() > before
    del reader
    # The system may list one for a moment after its end.
    deadline = time.monotonic() + 10
    while threads() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threads() <= before


def test_each_stream_reads_anew(tmp_path: Path) -> None:
    repository = build(tmp_path / "r.git", bare=True)
    scan = refspan.scan(repository.path, fields=["name"])
    assert rows(scan) == []
    repository.create("refs/heads/new")
    assert rows(scan) == [{"name": "refs/heads/new"}]


def test_no_repositories_are_an_empty_frame_of_the_same_columns(fleet: list[Repository]) -> None:
    for what in ("refs", "reflogs", "repositories"):
        none, some = (pa.table(refspan.scan(some, what=what)) for some in ([], paths(fleet)))
        assert none.num_rows == 0
        assert none.schema == some.schema


def test_paths_that_are_no_text_are_shown_as_far_as_they_are(tmp_path: Path) -> None:
    repository = build(tmp_path / decode(b"caf\xe9.git"), bare=True)
    repository.create("refs/heads/main")
    (row,) = rows(refspan.scan(repository.path))
    assert row["repository"] == encode(str(repository.path)).decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ({"what": "stars"}, "'refs', 'reflogs' or 'repositories'"),
        ({"on_error": "ignore"}, "'raise' or 'record'"),
        ({"workers": 0}, "at least 1"),
        ({"batch_rows": 0}, "at least 1"),
        ({"fields": ["name", "nme"]}, "'nme'|\"nme\""),
        ({"what": "repositories", "fields": ["oid"]}, "oid"),
        ({"oid": "base64"}, "'hex' or 'raw'"),
    ],
)
def test_a_word_that_is_unknown_is_refused_at_the_call(option: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        refspan.scan([], **option)
