"""What an attack found: worktrees that go away, cycles, clocks, giant files, deep directories, dying interpreters."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import refspan
from refspan import RefExistsError, RefNameError
from store_support import Repository, build
from support import header, run_python


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return build(tmp_path / "repo.git", bare=True)


def locks(repo: Repository) -> list[Path]:
    return list(repo.path.rglob("*.lock"))


@pytest.mark.parametrize("verb", ["create", "update", "verify"])
def test_a_worktree_that_is_gone_since_is_no_place_for_a_ref(repo: Repository, verb: str) -> None:
    repo.create("refs/heads/main")
    repo.worktree("w")
    tx = repo.store().transaction()
    new = None if verb == "verify" else repo.commits[0]
    tx.apply([(verb, "worktrees/w/refs/bisect/x", new, None), ("create", "refs/x/a", repo.commits[0], None)])
    repo.git("worktree", "remove", "--force", "w")
    with pytest.raises(RefNameError, match="no such worktree"):
        tx.commit()
    assert [ref.name for ref in repo.store().refs("refs/x/")] == []
    assert not (repo.path / "worktrees").exists()


def test_what_is_left_of_a_worktree_is_none(repo: Repository) -> None:
    (repo.path / "worktrees/ghost/refs").mkdir(parents=True)
    with pytest.raises(RefNameError):
        repo.store().transaction().create("worktrees/ghost/refs/bisect/x", repo.commits[0])


def test_a_rejection_that_was_raised_does_not_keep_the_locks(repo: Repository) -> None:
    """Then the exception holds the frame, that the transaction, and that the exception."""
    repo.create("refs/x/there")

    def work() -> None:
        tx = repo.store().transaction(atomic=False)
        tx.create("refs/x/there", repo.commits[0])
        tx.create("refs/x/new", repo.commits[0])
        tx.prepare()
        for _, error in tx.rejected:
            raise error

    with pytest.raises(RefExistsError):
        work()
    # pytest keeps the traceback as long as it is asked for.
    sys.last_value = None
    gc.collect()
    assert locks(repo) == []


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="there is no file system that holds such times")
def test_no_time_is_too_late(tmp_path: Path) -> None:
    repo = build(Path(f"/dev/shm/refspan-{os.getpid()}-{tmp_path.name}.git"), bare=True)
    try:
        for time in (2**63 - 1, 2**40, 0, -1):
            repo.create("refs/x/a", "refs/x/b")
            repo.git("pack-refs", "--all")
            os.utime(repo.path / "packed-refs", (0, time))
            with repo.store().transaction() as tx:
                tx.delete("refs/x/a")
            assert [ref.name for ref in repo.store()] == ["refs/x/b"]
    finally:
        subprocess.run(["rm", "-r", repo.path], check=True)


GIANT = """
import os, resource, sys, refspan
path = sys.argv[1]
with open(path + "/packed-refs", "r+b") as file:
    file.truncate(2 << 30)
    if sys.argv[3] == "LF":
        file.seek(-1, 2)
        file.write(b"\\n")
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
try:
    with refspan.Transaction(path) as tx:
        tx.update("refs/x/a", sys.argv[2])
except (refspan.CorruptError, MemoryError) as error:
    print(type(error).__name__, getattr(error, "line", None))
"""


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [("peeled fully-peeled sorted", "", "CorruptError 3"), ("peeled fully-peeled sorted", "LF", "MemoryError None")],
)
def test_a_line_without_end_is_not_read_for_ever(repo: Repository, start: str, end: str, said: str) -> None:
    text = header(start) + f"{repo.commits[0]} refs/x/b\n".encode()
    (repo.path / "packed-refs").write_bytes(text)
    assert run_python(GIANT, repo.path, repo.commits[0], end).strip() == said
    assert locks(repo) == []


def test_a_name_of_very_many_parts_is_only_too_long(repo: Repository) -> None:
    repo.git("config", "core.ignoreCase", "true")
    tx = repo.store().transaction()
    tx.create("refs/" + "a/" * 100_000 + "x", repo.commits[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(OSError, match="too long"):
        tx.commit()
    assert resource.getrlimit(resource.RLIMIT_AS) == (soft, hard)
    assert locks(repo) == []


@pytest.mark.parametrize("file", [None, "kept"])
def test_directories_may_lie_very_deep_in_the_place_of_a_ref(repo: Repository, file: str | None) -> None:
    # Deep enough for the stack of the thread, and not too deep for what clears up after the tests.
    deep = repo.path / "refs/x/a" / "/".join("d" * 400)
    deep.mkdir(parents=True)
    if file:
        (deep / file).touch()
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with repo.store().transaction() as tx:
                tx.create("refs/x/a", repo.commits[0])
        except refspan.ConflictError as error:
            failed.append(error)

    # A thread with little stack.
    size = threading.stack_size(128 << 10)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    threading.stack_size(size)
    assert [type(error).__name__ for error in failed] == (["ConflictError"] if file else [])
    assert locks(repo) == []


def test_a_link_that_leads_nowhere_is_deleted_too(repo: Repository) -> None:
    for into in ("auto", "packed"):
        repo.create("refs/x/a")
        repo.git("pack-refs", "--all")
        link = repo.path / "refs/x/a"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to("/nowhere/at/all")
        with repo.store().transaction(into="packed" if into == "packed" else "auto") as tx:
            tx.delete("refs/x/a", repo.commits[0])
        assert not link.is_symlink()
        assert list(repo.store()) == []


def test_a_component_that_is_too_long_leaves_no_directories(repo: Repository) -> None:
    tx = repo.store().transaction()
    tx.create("refs/x/d/e/" + "x" * 300 + "/z", repo.commits[0])
    with pytest.raises(OSError, match="too long"):
        tx.commit()
    assert not (repo.path / "refs/x/d").exists()


LAST_WORDS = """
import sys, refspan
class Last:
    def __init__(self):
        self.tx = refspan.Transaction(sys.argv[1])
        self.tx.create("refs/x/a", sys.argv[2])
    def __del__(self):
        self.tx.commit()
last = Last()
"""


def test_what_is_finalized_last_may_commit(repo: Repository) -> None:
    assert run_python(LAST_WORDS, repo.path, repo.commits[0]) == ""
    assert locks(repo) == []


SUBINTERPRETER = """
import sys, refspan
import _xxsubinterpreters as interpreters
tx = refspan.Transaction(sys.argv[1])
tx.create("refs/x/a", sys.argv[2])
tx.prepare()
other = interpreters.create()
try:
    interpreters.run_string(other, "import refspan")
except interpreters.RunFailedError:
    pass
interpreters.destroy(other)
assert tx.state == "prepared"
tx.commit()
"""


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the module has another name there")
def test_the_end_of_another_interpreter_is_not_that_of_this_one(repo: Repository) -> None:
    assert run_python(SUBINTERPRETER, repo.path, repo.commits[0]) == ""
    assert [ref.name for ref in repo.store()] == ["refs/x/a"]


FORKS = """
import os, signal, sys, time, refspan
store, parent, forks = refspan.open(sys.argv[1]), os.getpid(), []
def handler(*_):
    if os.getpid() == parent and len(forks) < 3:
        pid = os.fork()
        if pid:
            forks.append(pid)
signal.signal(signal.SIGALRM, handler)
for turn in range(400):
    tx = store.transaction()
    tx.delete(f"refs/many/{turn:07}")
    signal.setitimer(signal.ITIMER_REAL, 0.004, 0.004)
    try:
        tx.prepare()
    except refspan.LockedError:
        pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    if os.getpid() != parent:
        os._exit(0)
    tx.abort()
    if len(forks) == 3:
        break
for pid in forks:
    assert os.waitpid(pid, 0)[1] == 0
"""


def test_a_child_that_is_forked_by_a_signal_amid_a_rewrite_goes_on(repo: Repository) -> None:
    records = "".join(f"{repo.commits[0]} refs/many/{i:07}\n" for i in range(300_000))
    (repo.path / "packed-refs").write_bytes(header("peeled fully-peeled sorted") + records.encode())
    assert run_python(FORKS, repo.path, options=["-W", "ignore"]) == ""
