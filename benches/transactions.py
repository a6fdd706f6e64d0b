"""Time transactions against git, on 100,001 and on a million packed refs.

    python benches/transactions.py [--refs 1000000] [--runs 7] [--keep DIR] [--patched-git PATH] [--json]

Needs git, an installed refspan and, at a million refs, 1 GB of memory and 500 MB of disk. Each line is run once a
round, in turns. refspan's are calls in this process, on a store that is open, from `store.transaction()` to the end of
the commit; git's are whole processes. Both take and release every lock, and wait for the disk as little as git does by
default. Before each the disk is left to come to rest. Edits are of names picked at random, others each time.

"bare copy" reads and writes the bytes of packed-refs and renames the copy, and does nothing else. A ratio is how many
times as long git takes, in the same round; `--patched-git` names another git to compare the first block with, one that
passes untouched records through, say.

The repository is copied to TMPDIR, and it matters which file system that is. For a minute after many files were removed
ext4 takes up to a millisecond to make a new one, which hits whoever comes next; a file system in memory does not.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

import refspan
from harness import ENVIRONMENT, build, met, parser, versions
from refspan import ANY, PackedRefs

PIECE = 256 << 10
BATCH = 10_000
NEW = 100_000


class Line(NamedTuple):
    """What is timed, against which line of its block, and how many times as long git is to take."""

    work: str
    run: Callable[[], None]
    against: str | None = None
    target: float | None = None


class Bench:
    """A repository whose refs are all packed, and what is done to it."""

    def __init__(self, repo: Path, patched_git: str | None) -> None:
        self.repo, self.patched_git = repo, patched_git
        self.packed = repo / "packed-refs"
        self.pristine = self.packed.read_bytes()
        self.store = refspan.open(repo)
        self.oid = self.store["refs/heads/main"].oid
        names = [ref.refname for ref in PackedRefs(self.packed) if ref.refname != "refs/heads/main"]
        random.Random(len(names)).shuffle(names)
        self.names = iter(names)
        self.all, self.batches = names, 0

    def some(self, count: int) -> list[str]:
        """Names that are still there."""
        return [next(self.names) for _ in range(count)]

    def restore(self) -> None:
        """Put what is packed back as it was. What is loose stays: to remove it would slow down who comes next."""
        self.packed.write_bytes(self.pristine)
        self.names = iter(self.all)
        len(self.store)

    def git(self, *args: str, git: str = "git", edits: Iterator[str] | None = None) -> None:
        text = "".join(f"{edit}\n" for edit in edits or ()).encode()
        subprocess.run([git, *args], cwd=self.repo, env=ENVIRONMENT, input=text, check=True)

    def delete(self, count: int) -> None:
        edits = [("delete", name, None, ANY) for name in self.some(count)]
        with self.store.transaction() as tx:
            tx.apply(edits)

    def git_delete(self, count: int, git: str = "git") -> None:
        names = self.some(count)
        if count == 1:
            self.git("update-ref", "-d", names[0], git=git)
        else:
            self.git("update-ref", "--stdin", git=git, edits=(f"delete {name}" for name in names))

    def new_names(self) -> Iterator[str]:
        """Names that never were."""
        self.batches += 1
        return (f"refs/new-{self.batches}/{i % 100:02}/{i}" for i in range(NEW))

    def create(self, into: str) -> None:
        with refspan.Transaction(self.store, into="packed" if into == "packed" else "auto") as tx:
            tx.apply(("create", name, self.oid, None) for name in self.new_names())

    def git_create(self) -> None:
        self.git("update-ref", "--stdin", edits=(f"create {name} {self.oid}" for name in self.new_names()))

    def copy(self) -> None:
        new = self.packed.with_suffix(".copy")
        buffer = bytearray(PIECE)
        with self.packed.open("rb", buffering=0) as old, new.open("wb", buffering=0) as copy:
            while count := old.readinto(buffer):
                copy.write(memoryview(buffer)[:count])
        new.rename(self.packed)

    def blocks(self) -> list[list[Line]]:
        """The lines, those of git first."""
        one, many, create = "git update-ref -d", f"git update-ref --stdin, {BATCH:,} deletes", f"git: {NEW:,} creates"
        first = [
            Line(one, partial(self.git_delete, 1)),
            Line("delete one", partial(self.delete, 1), one, 5),
            Line("bare copy", self.copy, one),
        ]
        if self.patched_git:
            patched = f"{self.patched_git} update-ref -d"
            first.append(Line(patched, partial(self.git_delete, 1, self.patched_git)))
            first.append(Line("delete one, against that", partial(self.delete, 1), patched, 4))
        return [
            first,
            [
                Line(many, partial(self.git_delete, BATCH)),
                Line(f"delete {BATCH:,}", partial(self.delete, BATCH), many, 5),
            ],
            [
                Line(create, self.git_create),
                Line(f'create {NEW:,}, into="packed"', partial(self.create, "packed"), create, 2.5),
                Line(f"create {NEW:,}", partial(self.create, "auto"), create, 1),
            ],
        ]


def timed(run: Callable[[], None]) -> float:
    """Seconds that it takes, on a disk at rest."""
    os.sync()
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(bench: Bench, runs: int) -> list[tuple[Line, list[float]]]:
    """Every line's seconds, a round of each block after the other; the first round is not counted."""
    found: list[tuple[Line, list[float]]] = []
    for block in bench.blocks():
        seconds: dict[str, list[float]] = {line.work: [] for line in block}
        for done in range(runs + 1):
            for line in block:
                if "create" in line.work or "," in line.work:
                    bench.restore()
                spent = timed(line.run)
                seconds[line.work] += [spent] if done else []
        bench.restore()
        found += [(line, seconds[line.work]) for line in block]
    return found


def summary(found: list[tuple[Line, list[float]]]) -> list[dict[str, object]]:
    times = {line.work: seconds for line, seconds in found}
    lines: list[dict[str, object]] = []
    for line, seconds in found:
        ratio = None
        if line.against:
            ratio = median(yardstick / own for yardstick, own in zip(times[line.against], seconds, strict=True))
        lines.append({"work": line.work, "ms": [1000 * s for s in seconds], "ratio": ratio, "target": line.target})
    return lines


def print_lines(lines: list[dict[str, object]]) -> None:
    for line in lines:
        ms, ratio, target = line["ms"], line["ratio"], line["target"]
        assert isinstance(ms, list)
        times = f"{median(ms):.2f} ({min(ms):.2f}-{max(ms):.2f})"
        if not isinstance(ratio, float):
            print(f"\n{'':46}  {'median ms (min-max)':>30}  {'git takes':>10}  target")
        shown = f"{ratio:9.2f}x" if isinstance(ratio, float) else ""
        judged = met(-ratio, -float(str(target))).removeprefix("-") if isinstance(ratio, float) and target else ""
        print(f"{line['work']!s:46}  {times:>30}  {shown:>10}  {judged}")


def arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--patched-git", metavar="PATH", help="another git to compare single deletions with")
    return options.parse_args()


def main() -> None:
    args = arguments()
    with tempfile.TemporaryDirectory() as scratch:
        for refs in sorted({min(100_000, args.refs), args.refs}):
            built = (args.keep or Path(scratch)) / f"refs-{refs}.git"
            if not built.exists():
                build(built, refs)
            repo = Path(shutil.copytree(built, Path(scratch) / f"work-{refs}.git"))
            lines = summary(measure(Bench(repo, args.patched_git), args.runs))
            if args.json:
                print(
                    json.dumps({"refs": refs + 1, "runs": args.runs, "versions": versions(), "lines": lines}, indent=1)
                )
            else:
                print(f"\n{refs + 1:,} refs, {args.runs} runs in turns, load {os.getloadavg()[0]:.1f}")
                print(", ".join(versions()))
                print_lines(lines)
            shutil.rmtree(repo)


if __name__ == "__main__":
    main()
