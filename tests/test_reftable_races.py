"""Reading a stack while git writes and compacts it: no error, no missing ref, no older value after a newer one."""

from __future__ import annotations

from pathlib import Path

import pytest
from race_support import chain_of_commits, read_beside
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
    empty_repository(tmp_path)
    commits = chain_of_commits(tmp_path, 2000 if full else 300)
    update_refs(tmp_path, *(f"create refs/fixed/{i} {commits[0]}" for i in range(20)))
    git("update-ref", "refs/heads/counter", commits[0], cwd=tmp_path)
    reads = 100_000 if full else 20_000
    stack = str(tmp_path / "reftable")
    results, written = read_beside(
        READER, stack, str(reads), ",".join(commits), write=lambda turn: write(tmp_path, commits, turn)
    )
    for out in results:
        done, seen = map(int, out.split())
        assert done == reads
        # They did run side by side.
        assert seen > 5
    assert written > 10


def write(repo: Path, commits: list[str], turn: int) -> None:
    """Take the counter a step further as long as there are steps, and do what else makes git write tables."""
    if turn < len(commits):
        git("update-ref", "refs/heads/counter", commits[turn], cwd=repo)
    if turn % 3 == 0:
        git("update-ref", *(["refs/heads/other", commits[0]] if turn % 2 else ["-d", "refs/heads/other"]), cwd=repo)
    if turn % 5 == 0:
        git("pack-refs", cwd=repo)
