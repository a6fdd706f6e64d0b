"""Reading a stack while git writes and compacts it: no error, no missing ref, no older value after a newer one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from reftable_support import empty_repository, needs_reftables, update_refs
from support import git

pytestmark = needs_reftables

# Prints how many reads it made and how many different values it saw. `counter` steps through the commits whose ids are
# given, each of which stands for its place; the refs below refs/fixed/ are always there.
READER = """
import sys
from refspan import ReftableStack
path, reads, order = sys.argv[1], int(sys.argv[2]), {oid: i for i, oid in enumerate(sys.argv[3].split(","))}
latest, seen, kept = 0, set(), ReftableStack(path)
for i in range(reads):
    if i % 2:
        kept.reload()
        stack = kept
    else:
        stack = ReftableStack(path)
    value = order[stack["refs/heads/counter"].hex]
    if value < latest:
        sys.exit(f"{value} after {latest}")
    latest = value
    seen.add(value)
    if sum(1 for ref in stack.refs("refs/fixed/")) != 20:
        sys.exit("a ref is missing")
    if "refs/fixed/7" not in stack:
        sys.exit("a ref is not found")
    if not i % 16 and len(stack) not in (22, 23):
        sys.exit(f"{len(stack)} refs")
print(reads, len(seen))
"""


@pytest.mark.slow
def test_readers_never_go_wrong_while_git_commits_and_compacts(tmp_path: Path, full: bool) -> None:
    commits = chain_of_commits(tmp_path, 2000 if full else 300)
    update_refs(tmp_path, *(f"create refs/fixed/{i} {commits[0]}" for i in range(20)))
    git("update-ref", "refs/heads/counter", commits[0], cwd=tmp_path)
    reads = 100_000 if full else 20_000
    command = [sys.executable, "-c", READER, str(tmp_path / "reftable"), str(reads), ",".join(commits)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    written = 0
    try:
        while any(reader.poll() is None for reader in readers):
            write(tmp_path, commits, written)
            written += 1
    finally:
        results = [(*reader.communicate(timeout=60), reader.returncode) for reader in readers]
    for out, errors, code in results:
        assert (code, errors) == (0, "")
        done, seen = map(int, out.split())
        assert done == reads
        # They did run side by side.
        assert seen > 5
    assert written > 10


def chain_of_commits(repo: Path, count: int) -> list[str]:
    """The ids of as many commits, in a new repository."""
    empty_repository(repo)
    stream = "".join(f"commit refs/heads/x\nmark :{i}\ncommitter C <c@e> {i} +0000\ndata 0\n" for i in range(1, count))
    git("fast-import", "--quiet", "--export-marks=marks", cwd=repo, stdin=stream.encode())
    git("update-ref", "-d", "refs/heads/x", cwd=repo)
    return [line.split()[1] for line in (repo / "marks").read_text().splitlines()]


def write(repo: Path, commits: list[str], turn: int) -> None:
    """Take the counter a step further as long as there are steps, and do what else makes git write tables."""
    if turn < len(commits):
        git("update-ref", "refs/heads/counter", commits[turn], cwd=repo)
    if turn % 3 == 0:
        git("update-ref", *(["refs/heads/other", commits[0]] if turn % 2 else ["-d", "refs/heads/other"]), cwd=repo)
    if turn % 5 == 0:
        git("pack-refs", cwd=repo)
