"""Reflogs of a repository: both ways, in both formats, what git wrote or shows."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from reftable_support import needs_reftables
from store_support import (
    FORMATS,
    LATIN1,
    SAMPLES,
    WORKTREES,
    Format,
    Repository,
    Told,
    both_ways,
    build,
    by_name,
    file_lines,
    git_log,
    line,
    sample,
    sample_name,
    shown,
)
from support import HASHES, Hash

NAME = "refs/heads/main"


@pytest.fixture(params=SAMPLES, ids=sample_name)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Each worktree of each repository with refs of all kinds."""
    return sample(tmp_path_factory.getbasetemp(), request.param)


def git_logs(where: Repository) -> list[str]:
    """The names of the refs that git says have a log, in order: in files format git goes through folders."""
    return [ref.name for ref in by_name(map(Told, where.git("reflog", "list").splitlines()))]


def test_logs_are_those_that_git_lists(place: Repository) -> None:
    names = list(place.store().reflogs())
    assert names == git_logs(place)
    assert {"HEAD", "FOO", LATIN1, f"refs/bisect/good-{place.path.name}"} <= {*names}


def test_entries_are_those_that_git_shows(place: Repository) -> None:
    store = place.store()
    for name in store.reflogs():
        entries = both_ways(store, name)
        # Git shows commits alone.
        if not name.startswith("refs/tags/"):
            assert shown(entries)[::-1] == git_log(place, name)
        assert {(entry.ref, entry.kind, entry.update_index) for entry in entries} == {(name, "update", None)}
        # One begins where the one before ends.
        assert [entry.old for entry in entries[1:]] == [entry.new for entry in entries[:-1]]


def test_logs_of_other_worktrees_are_read_by_their_long_names(place: Repository) -> None:
    store = place.store()
    for where in WORKTREES:
        prefix = "main-worktree" if where == "main" else f"worktrees/{where}"
        for name in ("HEAD", "refs/bisect/bad", "FOO"):
            entries = both_ways(store, f"{prefix}/{name}")
            assert shown(entries)[::-1] == git_log(place, f"{prefix}/{name}")
            assert entries
            assert {entry.ref for entry in entries} == {f"{prefix}/{name}"}


@pytest.mark.parametrize(
    "name", ["refs/heads/none", "refs/heads", "refs/heads/gone", "FETCH_HEAD", "worktrees/no/HEAD"]
)
def test_without_a_log_there_are_no_entries(place: Repository, name: str) -> None:
    assert both_ways(place.store(), name) == []
    assert place.store().reflog(name).skipped == 0


def history(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Things that happen to refs, in time zones of all kinds."""
    repo.git("config", "core.logAllRefUpdates", "always")
    first, second, third = repo.commits

    def at(zone: str, time: int, *args: str, who: str = "Committer") -> None:
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"@{time} {zone}")
        monkeypatch.setenv("GIT_COMMITTER_NAME", who)
        repo.git(*args)

    at("+0530", 1_700_000_000, "update-ref", "-m", "created", NAME, first)
    at("-0330", 1_700_000_001, "update-ref", "-m", "moved", NAME, second)
    at("+1345", 1_700_000_002, "update-ref", NAME, third)
    at("-0001", 1_700_000_003, "update-ref", "-m", " spaces   and\ttabs and\nlines ", NAME, first)
    at("+0000", 1, "update-ref", "-m", "x" * 1000, NAME, second)
    at("-1200", 4_000_000_000, "update-ref", "-m", "größe", "refs/heads/größe", first, who="Größe Ünter")
    at("+0000", 1_700_000_004, "update-ref", "-m", "merge a -> b> 1 +0000 <c@d> 5 -0100", "refs/other/x", first)
    at("+0000", 1_700_000_004, "update-ref", "-m", "to be deleted", "refs/heads/gone", first)
    at("+0000", 1_700_000_005, "update-ref", "-d", "refs/heads/gone")
    at("+0000", 1_700_000_006, "update-ref", "-m", "first life", "refs/heads/phoenix", first)
    at("+0000", 1_700_000_007, "update-ref", "-m", "first life goes on", "refs/heads/phoenix", second)
    at("+0000", 1_700_000_008, "update-ref", "-d", "refs/heads/phoenix")
    at("+0000", 1_700_000_009, "update-ref", "-m", "second life", "refs/heads/phoenix", third)
    at("+0000", 1_700_000_010, "symbolic-ref", "-m", "switched", "HEAD", "refs/heads/phoenix")
    at("+0000", 1_700_000_011, "update-ref", "-m", "by HEAD", "HEAD", first)
    at("+0000", 1_700_000_012, "reflog", "delete", f"{NAME}@{{1}}")
    at("+0000", 1_700_000_013, "update-ref", "-d", "refs/heads/phoenix")
    at("+0000", 1_700_000_014, "update-ref", "--create-reflog", "-m", "emptied", "refs/heads/empty", first)
    at("+0000", 1_700_000_015, "reflog", "expire", "--expire=all", "refs/heads/empty")


@needs_reftables
@pytest.mark.parametrize("hash_", HASHES)
def test_both_formats_have_the_same_entries(tmp_path: Path, hash_: Hash, monkeypatch: pytest.MonkeyPatch) -> None:
    files, reftable = (build(tmp_path / refs, refs, hash_) for refs in ("files", "reftable"))
    for repo in (files, reftable):
        history(repo, monkeypatch)
    names = list(files.store().reflogs())
    assert names == list(reftable.store().reflogs()) == git_logs(files) == git_logs(reftable)
    for name in names:
        entries = both_ways(files.store(), name)
        assert entries == both_ways(reftable.store(), name)
        assert [line(entry) for entry in entries] == file_lines(files.gitdir / "logs" / name)
    assert [entry.tz for entry in files.store().reflog(NAME)] == ["+0530", "-0330", "+1345", "+0000"]
    assert files.store().reflog(NAME).skipped == reftable.store().reflog(NAME).skipped == 0


@pytest.mark.parametrize("refs", FORMATS)
def test_a_zone_is_hours_and_minutes(tmp_path: Path, refs: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = build(tmp_path, refs)
    for at, zone in enumerate(("+0530", "-0330")):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"@1700000000 {zone}")
        repo.create(NAME, at=at)
    east, west = repo.store().reflog(NAME)
    assert (east.tz, west.tz, east.time, west.time) == ("+0530", "-0330", 1_700_000_000, 1_700_000_000)
    assert east.when is not None
    assert west.when is not None
    assert (east.when.utcoffset(), west.when.utcoffset()) == (timedelta(hours=5.5), timedelta(hours=-3.5))
    assert east.when == west.when


@pytest.mark.parametrize("refs", FORMATS)
def test_an_empty_log_is_a_log_without_entries(tmp_path: Path, refs: Format) -> None:
    repo = build(tmp_path, refs)
    repo.create(NAME)
    repo.git("reflog", "expire", "--expire=all", NAME)
    store = repo.store()
    assert both_ways(store, NAME) == []
    assert list(store.reflogs()) == git_logs(repo) == ["HEAD", NAME]
    # Compacting, git gives the entry that marks the log a message of one LF.
    repo.git("pack-refs", "--all")
    assert both_ways(store, NAME) == []
    assert repo.git("reflog", "show", NAME) == ""
    assert list(store.reflogs()) == git_logs(repo) == ["HEAD", NAME]


@pytest.mark.parametrize("refs", FORMATS)
def test_an_entry_of_time_0_is_hidden_as_in_git(tmp_path: Path, refs: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = build(tmp_path, refs)
    for at, time in enumerate((5, 0, 7)):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"@{time} +0000")
        repo.create(NAME, at=at)
    entries = both_ways(repo.store(), NAME)
    assert shown(entries)[::-1] == git_log(repo, NAME)
    assert [entry.time for entry in entries] == ([5, 7] if refs == "files" else [5, 0, 7])


def test_logs_are_found_where_git_finds_them(tmp_path: Path) -> None:
    repo = build(tmp_path)
    repo.create(NAME)
    content = (repo.gitdir / "logs" / NAME).read_text()
    names = ["refs/heads/orphan", "refs/heads/a-", "refs/heads/a/b", "refs/heads/a0", "refs/other/x", "foo"]
    # Nobody takes these for logs.
    names += ["refs/heads/x.lock", "refs/heads/.tmp-renamed", "refs/heads/a b", "refs/heads/x..y"]
    for name in names:
        repo.loose(f"logs/{name}", content)
    (repo.gitdir / "logs/refs/heads/folder").mkdir()
    (repo.gitdir / "logs/refs/heads/link").symlink_to("main")
    store = repo.store()
    assert list(store.reflogs()) == git_logs(repo)
    assert {*names[:6]} <= {*store.reflogs()}
    # There may be a log without a ref.
    assert [entry.ref for entry in store.reflog("refs/heads/orphan")] == ["refs/heads/orphan"]
