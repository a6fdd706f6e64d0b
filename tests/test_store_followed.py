"""An open store follows its repository to the other format, and out of existence; then where refs might be sought."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Container
from pathlib import Path
from typing import NamedTuple

import pytest
import refspan
from refspan import CorruptError, RepositoryNotFoundError
from reftable_support import needs_reftables
from store_models import HEAD, repository
from store_support import FORMATS, Format, Repository, build, git_names, git_refs, line, told

NONE = "refs/heads/none"


def without_logs(path: Path, refs: Format) -> Repository:
    """A bare repository, whose refs have no logs, so that older versions of git can migrate it too."""
    repo = build(path, refs, bare=True)
    repo.create("refs/heads/main", "refs/heads/packed", "ORIG_HEAD")
    repo.tag("annotated", repo.commits[0])
    repo.git("pack-refs", "--all")
    repo.create("refs/heads/main", "refs/heads/loose", at=1)
    repo.symref("refs/heads/alias", "refs/heads/main")
    return repo


def migrate(repo: Repository, refs: str) -> None:
    repo.git("refs", "migrate", f"--ref-format={refs}")


class Migrated(NamedTuple):
    """A repository after its migration, stores of it that nobody has asked anything since, and what it was before."""

    repo: Repository
    stores: list[refspan.RefStore]
    snapshot: refspan.Snapshot


@pytest.fixture(params=[("files", "reftable"), ("reftable", "files")], ids=" to ".join, scope="module")
def migrated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Migrated:
    """A repository that was migrated while it was open. Not to be changed."""
    old, new = request.param
    repo = without_logs(tmp_path_factory.mktemp("migrated"), old)
    stores = [repo.store() for _ in range(10)]
    snapshot = stores[0].snapshot()
    for store in stores:
        assert list(store) == list(snapshot)
    migrate(repo, new)
    return Migrated(repo, stores, snapshot)


@needs_reftables
def test_a_migrated_repository_is_listed_as_by_git(migrated: Migrated) -> None:
    store = migrated.stores.pop()
    assert told(store.refs(root_refs=True)) == git_refs(migrated.repo, "--include-root-refs")
    assert len(migrated.stores.pop()) == 5
    assert store.format == migrated.repo.git("rev-parse", "--show-ref-format") != migrated.snapshot.format


@needs_reftables
def test_the_refs_of_a_migrated_repository_are_found_by_name(migrated: Migrated) -> None:
    store, snapshot = migrated.stores.pop(), migrated.snapshot
    assert [store[ref.name] for ref in snapshot] == list(snapshot)
    assert migrated.stores.pop().head.target == "refs/heads/main"
    assert store.resolve("HEAD") == snapshot["refs/heads/main"]
    assert store.get("refs/heads/.invalid") is store.get(NONE) is None


@needs_reftables
def test_without_logs_there_are_none_after_a_migration(migrated: Migrated) -> None:
    store = migrated.stores.pop()
    assert [list(store.reflog(name)) for name in ("HEAD", "refs/heads/main", NONE)] == [[], [], []]
    assert list(store.reflogs()) == []


@needs_reftables
@pytest.mark.parametrize("reflogs", [False, True])
def test_a_migration_changes_neither_digest_nor_refs(migrated: Migrated, reflogs: bool) -> None:
    store, snapshot = migrated.stores.pop(), migrated.snapshot
    assert list(refspan.diff(snapshot, store, reflogs=reflogs)) == []
    assert store.digest(reflogs=reflogs) == snapshot.digest(reflogs=reflogs)


@needs_reftables
@pytest.mark.parametrize("old", ["files", "reftable"])
def test_what_git_does_between_migrations_is_seen(tmp_path: Path, old: Format) -> None:
    repo = without_logs(tmp_path / "repo", old)
    store = repo.store()
    for turn, refs in enumerate(("reftable", "files", "reftable") if old == "files" else ("files", "reftable")):
        migrate(repo, refs)
        repo.create("refs/heads/main", f"refs/heads/new{turn}", at=turn)
        assert store["refs/heads/main"].oid == store.resolve("HEAD").oid == repo.commits[turn]
        repo.update(f"delete refs/heads/new{turn}", f"create refs/heads/kept{turn} {repo.commits[0]}")
        assert told(store) == git_refs(repo)


Question = Callable[[refspan.RefStore], object]
QUESTIONS: dict[str, Question] = {
    "refs": lambda store: list(store.refs()),
    "tags": lambda store: list(store.names("refs/tags/")),
    "len": len,
    "a missing ref": lambda store: store.get(NONE),
    "head": lambda store: store.head,
    "a missing log": lambda store: list(store.reflog(NONE)),
    "reflogs": lambda store: list(store.reflogs()),
    "digest": lambda store: store.digest(),
    "snapshot": lambda store: store.snapshot(),
}
Errors = type[Exception] | tuple[type[Exception], ...]
GONE: dict[str, Errors] = {"files": RepositoryNotFoundError, "reftable": (refspan.Error, OSError)}


def assert_unanswered(store: refspan.RefStore, kind: Errors, *, but: Container[str] = ()) -> None:
    """All questions end in such an error, and none in that there is no such ref."""
    answers = {name: outcome(question, store) for name, question in QUESTIONS.items() if name not in but}
    refused = {name for name, answer in answers.items() if isinstance(answer, kind)}
    assert refused == answers.keys(), answers
    assert not any(isinstance(answer, refspan.RefNotFoundError) for answer in answers.values())


def outcome(question: Question, store: refspan.RefStore) -> object:
    """Its answer, or the error."""
    try:
        return question(store)
    except Exception as error:
        return error


def rename(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))


@pytest.mark.parametrize("refs", FORMATS)
@pytest.mark.parametrize("leave", [shutil.rmtree, rename])
@pytest.mark.parametrize("which", ["work tree", "git directory"])
def test_a_repository_that_went_away_has_no_answers(
    tmp_path: Path, refs: Format, leave: Callable[[Path], None], which: str
) -> None:
    repo = build(tmp_path / "repo", refs)
    repo.create("refs/heads/main", "refs/heads/other")
    repo.git("pack-refs", "--all")
    store = repo.store()
    for question in QUESTIONS.values():
        question(store)
    leave(repo.path if which == "work tree" else repo.gitdir)
    assert_unanswered(store, GONE[refs])


@pytest.mark.parametrize("refs", FORMATS)
def test_a_repository_that_comes_back_has_answers_again(tmp_path: Path, refs: Format) -> None:
    repo = build(tmp_path / "repo", refs)
    repo.create("refs/heads/main")
    store = repo.store()
    rename(repo.path)
    assert_unanswered(store, GONE[refs])
    (tmp_path / "elsewhere").rename(repo.path)
    assert told(store) == git_refs(repo)


@pytest.fixture(params=FORMATS)
def removed(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[refspan.RefStore, Format]:
    """The store of a linked worktree that git has removed meanwhile."""
    repo = build(tmp_path / "repo", request.param)
    repo.create("refs/heads/main")
    side = repo.worktree("side")
    store = side.store()
    assert store.head.target == "refs/heads/side"
    repo.git("worktree", "remove", side.path)
    return store, request.param


MISSING = ("a missing ref", "a missing log")


def test_a_removed_worktree_has_no_answers(removed: tuple[refspan.RefStore, Format]) -> None:
    store, refs = removed
    assert_unanswered(store, GONE[refs], but=MISSING)
    with pytest.raises(GONE[refs]):
        list(store.reflog("HEAD"))


@pytest.mark.parametrize("what", MISSING)
def test_a_removed_worktree_misses_nothing(removed: tuple[refspan.RefStore, Format], what: str) -> None:
    store, refs = removed
    with pytest.raises(GONE[refs]):
        QUESTIONS[what](store)


def test_the_stub_of_the_other_format_is_no_head(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/main")
    store = repo.store()
    (repo.gitdir / "HEAD").write_text("ref: refs/heads/.invalid\n")
    assert_unanswered(store, CorruptError)
    with pytest.raises(CorruptError) as caught:
        list(store)
    assert caught.value.path == str(repo.gitdir / "HEAD")


def test_without_head_there_is_no_repository(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/main")
    store = repo.store()
    (repo.gitdir / "HEAD").unlink()
    assert_unanswered(store, RepositoryNotFoundError)


def record(repo: Repository, name: str, *messages: str) -> None:
    for at, message in enumerate(messages):
        repo.git("update-ref", "-m", message, name, repo.commits[at % 3])


@pytest.mark.parametrize("messages", [["two"], ["two", "more"], ["new"], ["a longer one"]], ids=" ".join)
def test_no_other_log_is_taken_for_that_of_a_snapshot(tmp_path: Path, messages: list[str]) -> None:
    repo = build(tmp_path)
    # In a folder of its own a file soon gets the inode of the one before it.
    name = "refs/heads/d/x"
    for _ in range(5):
        record(repo, name, "one")
        store = repo.store()
        snapshot, entries = store.snapshot(), list(store.reflog(name))
        assert list(snapshot.reflog(name)) == entries
        repo.git("update-ref", "-d", name)
        record(repo, name, *messages)
        with contextlib.suppress(refspan.UnsupportedError):
            assert list(snapshot.reflog(name)) == entries
        repo.git("update-ref", "-d", name)


@pytest.mark.parametrize("refs", FORMATS)
def test_a_snapshot_keeps_the_entries_of_a_log_that_grows(tmp_path: Path, refs: Format) -> None:
    repo = build(tmp_path, refs)
    record(repo, "refs/heads/x", *map(str, range(9)))
    snapshot = repo.store().snapshot()
    entries = list(snapshot.reflog("refs/heads/x"))
    assert [entry.message for entry in entries] == [*map(str, range(9))]
    record(repo, "refs/heads/x", "more", "and more")
    assert [*map(line, snapshot.reflog("refs/heads/x"))] == [*map(line, entries)]
    assert list(snapshot.reflog("refs/heads/x", reverse=True)) == entries[::-1]


@needs_reftables
def test_the_format_may_stand_at_the_end_of_a_long_configuration(tmp_path: Path) -> None:
    repo = without_logs(tmp_path / "repo", "files")
    config = repo.gitdir / "config"
    branches = (f'[branch "b{i}"]\n\tremote = origin\n\tmerge = refs/heads/b{i}\n' for i in range(1500))
    config.write_text(config.read_text() + "".join(branches))
    migrate(repo, "reftable")
    assert config.read_bytes().index(b"[extensions]") > 1 << 16
    assert repo.store().format == "reftable"
    assert told(repo.store()) == git_refs(repo)


def test_the_format_may_stand_anywhere_in_a_long_configuration(tmp_path: Path) -> None:
    path = repository(tmp_path, "reftable", {HEAD: "1" * 40})
    core, _, extensions = (path / "config").read_text().partition("[extensions]")
    for padding in range(60):
        comment = "#" * ((1 << 16) - len(core) - padding - 1)
        (path / "config").write_text(f"{core}{comment}\n[extensions]{extensions}")
        store = refspan.open(path)
        assert (store.format, list(store.names())) == ("reftable", [HEAD])


@pytest.mark.parametrize("refs", FORMATS)
@pytest.mark.parametrize("linked", [False, True], ids=["main", "linked"])
def test_git_common_dir_does_not_move_refs(
    tmp_path: Path, refs: Format, linked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # They have the same objects, which are the other one's in that environment.
    here, there = build(tmp_path / "here", refs), build(tmp_path / "there", refs)
    here.create("refs/heads/here", "refs/bisect/bad")
    there.create("refs/heads/there", "refs/bisect/good")
    place = here.worktree("side") if linked else here
    monkeypatch.setenv("GIT_DIR", str(place.gitdir))
    monkeypatch.setenv("GIT_COMMON_DIR", str(there.gitdir))
    store = refspan.open()
    assert told(store) == git_refs(place)
    assert "refs/heads/here" in git_names(place)
    assert [f"{ref.oid} {ref.name}" for ref in store] == place.git("show-ref").splitlines()


@pytest.mark.parametrize("start", [".", "folder/below", ".git"])
def test_no_outer_repository_stands_in_for_one_amid_its_migration(tmp_path: Path, start: str) -> None:
    build(tmp_path / "outer").create("refs/heads/outer")
    inner = build(tmp_path / "outer/inner")
    inner.create("refs/heads/inner")
    (inner.path / "folder/below").mkdir(parents=True)
    folder = inner.gitdir / "ref_migration.abc123"
    folder.mkdir()
    for name in ("HEAD", "refs"):
        shutil.move(inner.gitdir / name, folder / name)
    with pytest.raises(CorruptError) as caught:
        refspan.open(inner.path / start)
    assert caught.value.path == str(folder)
