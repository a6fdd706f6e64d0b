"""Repositories made to mislead, and what comes in between: a typed error or the right answer, and always an end."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import refspan
from store_support import FORMATS, Format, Repository, build
from support import run_python, write_packed


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    repo = build(tmp_path / "repo")
    repo.create("refs/heads/main")
    return repo


def packed(repo: Repository, *names: str, at: int = 0) -> Path:
    """Write a packed-refs file that claims to be sorted, whether it is or not."""
    oid = repo.commits[at]
    lines = "".join(f"{oid} {name}\n" for name in names)
    path = repo.gitdir / "packed-refs"
    path.write_text("# pack-refs with: peeled fully-peeled sorted \n" + lines)
    return path


def test_alternates_that_lead_round_are_an_error_and_no_answer(repo: Repository, tmp_path: Path) -> None:
    repo.tag("v", repo.commits[0])
    other = build(tmp_path / "other")
    ends = [(repo, other), (other, repo)]
    for here, there in ends:
        (here.gitdir / "objects/info/alternates").write_text(f"{there.gitdir}/objects\n")
    store = repo.store()
    for ask in (lambda: store["refs/tags/v"].peeled, lambda: list(store.points_at(repo.commits[0]))):
        with pytest.raises(refspan.CorruptError) as caught:
            ask()
        assert caught.value.path == str(repo.gitdir / "objects/info/alternates")
    # What is mended is seen by the same store.
    (repo.gitdir / "objects/info/alternates").unlink()
    assert store["refs/tags/v"].peeled == repo.commits[0]


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_alternates_that_are_no_file_are_an_error(repo: Repository, kind: str) -> None:
    alternates = repo.gitdir / "objects/info/alternates"
    if kind == "fifo":
        os.mkfifo(alternates)
    else:
        alternates.symlink_to("/dev/zero")
    with pytest.raises(refspan.CorruptError, match="not a file"):
        _ = repo.store()["refs/heads/main"].peeled


@pytest.mark.parametrize("stray", ["zzz", "HEAD", "refs0", "refs"])
def test_a_stray_name_in_a_falsely_sorted_file_hides_nothing(repo: Repository, stray: str) -> None:
    packed(repo, "refs/heads/a", "refs/heads/b", stray, "refs/heads/c", "refs/heads/d")
    store = repo.store()
    for ask in (lambda: list(store), lambda: len(store), store.digest, lambda: list(store.names())):
        with pytest.raises(refspan.CorruptError, match="sorts before"):
            ask()


def test_a_diff_of_a_falsely_sorted_file_invents_nothing(repo: Repository, tmp_path: Path) -> None:
    names = [f"refs/heads/a{i:04}" for i in range(300)]
    names.insert(150, "refs/heads/m")
    other = build(tmp_path / "other")
    for where in (repo, other):
        packed(where, *names, "refs/heads/z")
    repo.loose("refs/heads/m", repo.commits[1] + "\n")
    with pytest.raises(refspan.CorruptError, match="sorts before"):
        list(refspan.diff(repo.store(), other.store()))


def test_a_signal_handler_may_ask_the_diff_that_it_interrupts(tmp_path: Path) -> None:
    script = """
import signal, sys, refspan
it = refspan.diff(refspan.PackedRefs(sys.argv[1]), refspan.PackedRefs(sys.argv[2]))
asked = []
def handler(*_):
    try:
        next(it, None)
    except ValueError as error:
        asked.append(str(error))
    else:
        asked.append("fine")
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
changes = list(it)
signal.setitimer(signal.ITIMER_REAL, 0)
assert changes == [] and set(asked) <= {"iterator already executing", "fine"}, asked
"""
    lines = [b"%039x%%d refs/heads/%07d\n" % (1, i) for i in range(200_000)]
    for name, digit in (("a", 1), ("b", 1)):
        text = b"".join(line.replace(b"%d", b"%d" % digit) for line in lines)
        # Of different case, so that no run is equal byte for byte.
        head = b"# pack-refs with: peeled fully-peeled sorted \n"
        (tmp_path / name).write_bytes(head + (text if name == "a" else text.replace(b"0001 ", b"0001\t")))
    assert run_python(script, tmp_path / "a", tmp_path / "b") == ""


def test_one_diff_may_be_shared_by_threads(repo: Repository, tmp_path: Path) -> None:
    count = 2_000
    one, none = (tmp_path / name for name in ("one", "none"))
    write_packed(one, [])
    write_packed(none, [])
    oid = repo.commits[0]
    one.write_text("# pack-refs with: sorted \n" + "".join(f"{oid} refs/heads/{i:05}\n" for i in range(count)))
    changes = refspan.diff(refspan.PackedRefs(none), refspan.PackedRefs(one))
    taken: list[str] = []

    def take() -> None:
        taken.extend(change.name for change in changes)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [f"refs/heads/{i:05}" for i in range(count)]


def test_names_may_be_as_deep_as_paths_can_be(repo: Repository) -> None:
    name = "refs/heads/" + "a/" * 900 + "b"
    repo.create(name)
    found: list[object] = []

    def ask() -> None:
        store = repo.store()
        found.extend([[ref.name for ref in store], list(store.reflogs())])

    size = threading.stack_size(256 << 10)
    try:
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    assert found == [[name, "refs/heads/main"], ["HEAD", name, "refs/heads/main"]]


def test_links_that_lead_to_each_other_come_to_an_end(repo: Repository) -> None:
    heads = repo.gitdir / "refs/heads"
    for i in range(8):
        (heads / f"d{i}").mkdir()
        for j in range(8):
            if i != j:
                (heads / f"d{i}/l{j}").symlink_to(f"../d{j}")
    listed = list(repo.store())
    assert [ref.name for ref in listed if not ref.broken] == ["refs/heads/main"]
    assert {ref.broken for ref in listed} == {None, "symlink loop"}
    assert len(listed) <= 1 + 8 * 8 * 8


def test_a_log_that_is_emptied_in_place_is_at_its_end(repo: Repository) -> None:
    log = repo.gitdir / "logs/refs/heads/main"
    oid = repo.commits[0]
    log.write_text(f"{oid} {oid} A <a@x> 1700000000 +0000\tm\n" * 20_000)
    for reverse in (False, True):
        entries: Iterator[refspan.LogEntry] = repo.store().reflog("refs/heads/main", reverse=reverse)
        assert next(entries).message == "m"
        content = log.read_bytes()
        log.write_bytes(b"")
        assert len(list(entries)) < 20_000
        log.write_bytes(content)


def test_ctrl_c_ends_the_reading_of_a_log_of_nothing(repo: Repository) -> None:
    lines = 10_000_000
    (repo.gitdir / "logs/refs/heads/main").write_bytes(b"\n" * lines)
    log = repo.store().reflog("refs/heads/main")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        with pytest.raises(KeyboardInterrupt):
            next(log)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert log.skipped < lines
    assert list(log) == []
    assert log.skipped == lines


def test_a_symbolic_ref_that_is_not_read_whole_is_broken(repo: Repository) -> None:
    repo.loose("refs/heads/l", "ref: refs/heads/" + "a" * 70_000 + "\n")
    repo.loose("refs/heads/padded", repo.commits[0] + " " * 70_000 + "\n")
    store = repo.store()
    assert (store["refs/heads/l"].broken, store["refs/heads/l"].target) == ("bad content", None)
    assert (store["refs/heads/padded"].broken, store["refs/heads/padded"].oid) == (None, repo.commits[0])


def test_a_list_of_tables_beyond_all_measure_is_an_error(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo", "reftable")
    store = repo.store()
    os.truncate(repo.gitdir / "reftable/tables.list", 1 << 40)
    with pytest.raises(OSError, match=r"tables\.list"):
        list(store)


@pytest.mark.parametrize("refs", FORMATS)
def test_a_worktree_without_tables_of_its_own_sees_the_refs_of_all(tmp_path: Path, refs: Format) -> None:
    main = build(tmp_path / "main", refs)
    main.create("refs/heads/main")
    side = main.worktree("side")
    if refs == "reftable":
        for file in (side.gitdir / "reftable").iterdir():
            file.unlink()
        (side.gitdir / "reftable").rmdir()
    assert [ref.name for ref in side.store()] == ["refs/heads/main", "refs/heads/side"]


def test_no_settings_in_the_environment_may_be_spelled_as_nothing(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "")
    assert [ref.name for ref in repo.store()] == ["refs/heads/main"]
