"""A writer that is killed: each ref has its old or its new value, and git reads the repository."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from store_support import Repository, build
from support import git

# One transaction after the other, each told before and after. Refs a, b and c step through three commits; c is packed,
# d comes and goes loose, e packed, f both.
WRITER = """
import sys
import refspan
path, into, turn = sys.argv[1], sys.argv[2], int(sys.argv[3])
last = int(sys.argv[4]) if len(sys.argv) > 4 else 1 << 60
commits = sys.stdin.readline().split()
store = refspan.open(path)
while turn < last:
    print("begin", turn, flush=True)
    with store.transaction(into=into) as tx:
        for name in "abc":
            tx.update(f"refs/x/{name}/deep", commits[turn % 3])
        for name in "def":
            if turn % 2:
                tx.delete(f"refs/x/{name}/deep")
            else:
                tx.create(f"refs/x/{name}/deep", commits[turn % 3])
        tx.verify("refs/x/kept", commits[0])
    print("end", turn, flush=True)
    turn += 1
"""

NAMES = [f"refs/x/{name}/deep" for name in "abcdef"]


def state(repo: Repository, turn: int) -> dict[str, str | None]:
    """What each ref holds behind that turn."""
    value = repo.commits[turn % 3]
    return {name: value if name < "refs/x/d" or turn % 2 == 0 else None for name in NAMES}


def new_repository(path: Path) -> Repository:
    """As it is behind turn 0: some of it loose, some packed, some both."""
    repo = build(path, bare=True)
    repo.create(*NAMES, "refs/x/kept", *(f"refs/many/{i}" for i in range(50)), at=0)
    repo.git("pack-refs", "--all")
    repo.git("pack-refs", "--all", "--no-prune")
    for name in ("a", "f"):
        repo.loose(f"refs/x/{name}/deep", f"{repo.commits[0]}\n")
    return repo


def clear_up(repo: Repository) -> None:
    """What somebody does who knows that the writer is dead."""
    for left in [*repo.path.rglob("*.lock"), repo.path / "packed-refs.new"]:
        left.unlink(missing_ok=True)


def check(repo: Repository, turns: tuple[int, ...]) -> None:
    """Each ref is as it was behind one of those turns, for git and refspan alike."""
    listed = dict(line.split() for line in repo.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines())
    assert listed == {ref.name: ref.oid for ref in repo.store()}
    for name in NAMES:
        assert listed.get(name) in {state(repo, turn)[name] for turn in turns}, name
    assert listed["refs/x/kept"] == repo.commits[0]
    assert sum(name.startswith("refs/many/") for name in listed) == 50
    header, *_ = (repo.path / "packed-refs").read_text().splitlines()
    assert header == "# pack-refs with: peeled fully-peeled sorted "


@pytest.mark.slow
@pytest.mark.parametrize("into", ["auto", "packed"])
def test_a_writer_may_be_killed_at_any_time(tmp_path: Path, into: str, full: bool) -> None:
    repo = new_repository(tmp_path / "repo.git")
    rng, turn, killed_within = random.Random(5), 0, 0
    for _ in range(200 if full else 12):
        command = [sys.executable, "-c", WRITER, str(repo.path), into, str(turn + 1)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdin is not None
            assert writer.stdout is not None
            writer.stdin.write(" ".join(repo.commits) + "\n")
            writer.stdin.flush()
            # It has started when it says so.
            lines = [writer.stdout.readline()]
            time.sleep(rng.random() * 0.05)
            writer.kill()
            lines += writer.stdout.readlines()
        word, number = lines[-1].split() if lines[-1].endswith("\n") else lines[-2].split()
        turn = int(number)
        killed_within += word == "begin"
        clear_up(repo)
        check(repo, (turn - 1, turn) if word == "begin" else (turn,))
        # What was stopped halfway is finished by hand, so that the next turn finds what it expects.
        with repo.store().transaction() as tx:
            for name, value in state(repo, turn).items():
                tx.delete(name) if value is None else tx.update(name, value)
    assert killed_within > 0
    git("fsck", "--strict", "--no-dangling", cwd=repo.path)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.slow
@pytest.mark.parametrize("into", ["auto", "packed"])
def test_a_writer_may_be_killed_at_each_system_call(tmp_path: Path, into: str, full: bool) -> None:
    """The process ends as it enters the n-th of the calls that change the file system, for every n there is."""
    calls = (
        "link,linkat,open,openat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,write,utimensat,fsync"
    )
    pristine = new_repository(tmp_path / "pristine.git")
    text = (" ".join(pristine.commits) + "\n").encode()
    turns = ("1", "3")
    # Until the writer says that it begins, it is but an interpreter that starts.
    trace = tmp_path / "trace"
    writer = [sys.executable, "-c", WRITER]
    counting = ["strace", "-f", "-o", str(trace), "-e", f"trace={calls}", *writer, str(pristine.path), into, *turns]
    scratch = shutil.copytree(pristine.path, tmp_path / "counted.git")
    counting[counting.index(str(pristine.path))] = str(scratch)
    if subprocess.run(counting, input=text, stdout=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("strace may not trace here")
    lines = re.findall(r"^\d+ +(\w+)\((.*)", trace.read_text(), re.MULTILINE)
    # Each call is counted by itself.
    counts: Counter[str] = Counter()
    numbered = []
    for call, rest in lines:
        counts[call] += 1
        numbered.append((call, counts[call], rest))
    first = next(i for i, (_, _, rest) in enumerate(numbered) if '"begin' in rest)
    killed = 0
    for n, (call, count, _) in enumerate(numbered[first :: 1 if full else 5]):
        path = Path(shutil.copytree(pristine.path, tmp_path / f"{n}.git"))
        repo = Repository(path, path, pristine.commits)
        inject = ["-e", f"inject={call}:signal=KILL:when={count}"]
        command = ["strace", "-f", "-o", os.devnull, "-e", f"trace={calls}", *inject, *writer, str(path), into, *turns]
        done = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        killed += done.returncode != 0
        clear_up(repo)
        check(repo, (0, 1, 2))
        shutil.rmtree(path)
    # An interpreter does not make quite the same calls each time.
    assert killed > 0.8 * n
