"""Four writers of refspan's and four of git's on the same refs, beside a git that packs, and readers."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from race_support import chain_of_commits
from store_support import build
from support import git

COUNTERS = 4

# Each counter steps through the commits, one compare-and-swap after the other, whoever takes the step. What a writer
# counts is what it was told succeeded. Now and then it creates a ref of its own and deletes it: then it must be gone.
WRITER = """
import subprocess, sys
import refspan
path, kind, me, tries = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
commits = sys.argv[5].split(",")
place = {oid: i for i, oid in enumerate(commits)}
store = refspan.open(path)

def git(*args):
    return subprocess.run(["git", *args], cwd=path, stdout=-1, stderr=-1, check=False)

def swap(name, old, new):
    if kind == "git":
        done = git("update-ref", name, new, old)
        if done.returncode and b"cannot lock ref" not in done.stderr and b"Unable to create" not in done.stderr:
            sys.exit(done.stderr.decode())
        return done.returncode == 0
    try:
        with store.transaction() as tx:
            tx.update(name, new, old)
    except (refspan.StaleError, refspan.LockedError):
        return False
    return True

def replace(name, old, new):
    '''Create or delete a ref that nobody else touches, as often as it takes to get the locks.'''
    for _ in range(200):
        if kind == "git":
            if git("update-ref", *(["-d", name, old] if new is None else [name, new])).returncode == 0:
                return
        else:
            try:
                with store.transaction(timeout=5) as tx:
                    tx.delete(name, old) if new is None else tx.create(name, new)
                return
            except refspan.LockedError:
                pass
    sys.exit(f"{name} was locked for ever")

mine = f"refs/mine/{me}/ref"
for i in range(tries):
    name = f"refs/counters/{i % 4}"
    now = store[name].oid
    if swap(name, now, commits[place[now] + 1]):
        print(name)
    if i % 5 == 0:
        replace(mine, None, commits[i % 50])
        if store[mine].oid != commits[i % 50]:
            sys.exit("a new ref is not there")
        replace(mine, commits[i % 50], None)
        for look in range(3):
            if mine in store or refspan.open(path).get(mine):
                sys.exit("a deleted ref came back")
        if git("rev-parse", "-q", "--verify", mine).returncode == 0:
            sys.exit("a deleted ref came back for git")
"""

READER = """
import sys
import refspan
store, place = refspan.open(sys.argv[1]), {oid: i for i, oid in enumerate(sys.argv[2].split(","))}
latest, seen = {}, set()
sys.stdout.write("ready\\n"); sys.stdout.flush()
import select
while not select.select([sys.stdin], [], [], 0)[0]:
    for ref in store.refs("refs/counters/"):
        value = place[ref.oid]
        if value < latest.get(ref.name, 0):
            sys.exit(f"{ref.name}: {value} after {latest[ref.name]}")
        latest[ref.name] = value
    if len(latest) != 4:
        sys.exit("a ref is missing")
    name = f"refs/counters/{len(seen) % 4}"
    value = place[store[name].oid]
    if value < latest[name]:
        sys.exit(f"{name}: {value} after {latest[name]}")
    seen.add(value)
print(len(seen))
"""


@pytest.mark.slow
def test_no_update_is_lost_and_no_deleted_ref_returns(tmp_path: Path, full: bool) -> None:
    steps = 20_000 if full else 640
    repo = build(tmp_path / "repo.git", bare=True)
    commits = chain_of_commits(repo.path, steps // COUNTERS + 100)
    repo.update(*(f"create refs/counters/{i} {commits[0]}" for i in range(COUNTERS)))
    chain = tmp_path / "chain"
    chain.write_text(",".join(commits))

    def start(code: str, *args: str) -> subprocess.Popen[str]:
        # The chain is too long for an argument.
        code = code.replace("sys.argv[5]", f"open({str(chain)!r}).read()")
        code = code.replace("sys.argv[2].split", f"open({str(chain)!r}).read().split")
        command = [sys.executable, "-c", code, str(repo.path), *args]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    reader = start(READER)
    writers = [start(WRITER, kind, f"{kind}{i}", str(steps // 8)) for i in range(4) for kind in ("git", "refspan")]
    packs = 0
    while any(writer.poll() is None for writer in writers):
        # No two files have one size: git, which compares that and whole seconds, could take one for the other, and then
        # swap what it should not. That it does is shown in test_transaction_placement.py.
        packs += 1
        repo.create("refs/pad/" + "/".join(f"{packs:0200}" for _ in range(3)))
        # It may fail to get a lock, as the writers may.
        subprocess.run(["git", "pack-refs", "--all"], cwd=repo.path, stderr=subprocess.DEVNULL, check=False)
    told = [(*writer.communicate(timeout=60), writer.returncode) for writer in writers]
    assert [(errors, code) for _, errors, code in told] == [("", 0)] * 8
    out, errors = reader.communicate("stop", timeout=60)
    assert (errors, reader.returncode) == ("", 0)
    assert int(out.split()[1]) > 10, "it did read meanwhile"

    # Of either kind some have.
    assert all(sum(len(out.split()) for out, _, _ in told[kind::2]) > steps // 20 for kind in (0, 1))
    succeeded = Counter(name for out, _, _ in told for name in out.split())
    place = {oid: i for i, oid in enumerate(commits)}
    store = repo.store()
    assert {f"refs/counters/{i}": place[store[f"refs/counters/{i}"].oid or ""] for i in range(COUNTERS)} == succeeded
    assert all(succeeded[f"refs/counters/{i}"] > steps // 100 for i in range(COUNTERS))
    assert [ref.name for ref in store.refs("refs/counters/")] == [f"refs/counters/{i}" for i in range(COUNTERS)]
    assert [ref.name for ref in store.refs("refs/mine/")] == []
    assert list(repo.path.rglob("*.lock")) == []
    git("fsck", "--strict", "--no-dangling", cwd=repo.path)
