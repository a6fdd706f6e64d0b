"""Time refspan's packed-refs reader against git, pygit2 and dulwich, on a repository of a million refs.

    python benches/readers.py [--refs 1000000] [--runs 7] [--keep DIR] [--json]

Needs git, an installed refspan and, at a million refs, 1 GB of memory and 250 MB of disk. pygit2 and dulwich take part
if they are installed beside refspan. git builds the repository; `--keep` keeps it in DIR and finds it there next time.

How to read it. Every line runs once per round, line after line, so that what slows the machine down hits all alike;
one round before the first only warms the page cache. A ratio is the median, over the rounds, of the line's time over
that of its yardstick, the first line of its block, in the same round: below 1 is faster. A target is what the project
demands of the ratio. Trust ratios, not times, and neither where the range of the times is wide.

What is timed. A line with `$` is a whole process. Any other is Python, run once in a fresh interpreter that has made
its imports: `reader()` opens the packed-refs file, so opening it and faulting its pages in is part of the time, and so
is freeing the results. Only the look-ups find everything open. pygit2 and dulwich look for a loose ref before a packed
one; a reader of packed-refs need not. "Peak MB" is the most memory that the line's process itself held at a time, with
the interpreter (or this script, if it is larger) and the pages it touched of a mapped file.
"""

import argparse
import filecmp
import importlib.util
import json
import os
import platform
import random
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from subprocess import PIPE
from typing import IO, Any, NamedTuple

from refspan import PackedRefs

# A user's or system's configuration, or a GIT_DIR, would measure another git or another repository.
ISOLATED = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | ISOLATED


class Line(NamedTuple):
    work: str
    against: str | None = None
    target: float | None = None
    setup: str = ""
    needs: str = "refspan"


FIND = "$ git show-ref refs/heads/main"
OPEN, FIRST = "reader()", "reader()['refs/heads/main'].oid"
ITERATE = "for ref in reader(): pass"
# Fixed columns, while git is still writing, is the fastest way to read its text.
LIST = "[(line[41:-1], line[:40]) for line in os.popen('git show-ref -d')]"
# git's default format opens the object of every ref for its type.
TAGS = "$ git for-each-ref --format='%(objectname) %(refname)' refs/tags/"
POINTS_AT = "$ git for-each-ref --points-at=refs/heads/main"
DUMP = "$ git show-ref -d > dump.git"
LOOK_UP = "for name in sample: pygit2_refs.get(name).target"
FRESH_LOOK_UP = "for name in sample: pygit2.Repository('.').references.get(name).target"
BARE, IMPORT = "$ python -c pass", "$ python -c 'import refspan'"

WITH_PYGIT2 = "import pygit2; pygit2_refs = pygit2.Repository('.').references\n"
WITH_DULWICH = "import dulwich.repo; dulwich_refs = dulwich.repo.Repo('.').refs\n"
# dulwich parses the whole file at the first look-up, for seconds: untimed, as everyone's opening is in that block.
WARM_DULWICH = WITH_DULWICH + "sample = [name.encode() for name in names()]; dulwich_refs.get_packed_refs()"

LINES = (
    Line(FIND),
    Line(OPEN, FIND),
    Line(FIRST, FIND),
    Line("len(reader())", FIND, 0.2),
    Line(ITERATE, FIND, 0.5),
    Line("for name in reader().names(): pass", FIND, 0.9),
    Line("for ref in reader(): ref.name; ref.oid", FIND, 2.0),
    Line("for name, oid, peeled in reader(): pass", FIND, 2.6),
    Line(LIST),
    Line("for ref in reader(): ref.refname", LIST),
    Line("[(r.refname, r.hex, r.peeled_hex) for r in reader()]", LIST),
    Line("[(r.name, str(r.target)) for r in pygit2_refs.iterator()]", LIST, None, WITH_PYGIT2, "pygit2"),
    Line("dulwich_refs.get_packed_refs()", LIST, None, WITH_DULWICH, "dulwich"),
    Line(TAGS),
    Line("for ref in reader().refs('refs/tags/'): ref.name; ref.oid", TAGS),
    Line(POINTS_AT),
    Line("for ref in reader().points_at(oid): ref.name", POINTS_AT, 0.05, "oid = reader()['refs/heads/main'].hex"),
    Line(DUMP),
    Line("$ python -m refspan dump packed-refs > dump.refspan", DUMP),
    Line(LOOK_UP, None, None, WITH_PYGIT2 + "sample = names(); pygit2_refs.get(sample[0])", "pygit2"),
    Line("for name in sample: packed[name].oid", LOOK_UP, None, "sample = names(); packed = reader()"),
    Line("for name in sample: dulwich_refs[name]", LOOK_UP, None, WARM_DULWICH, "dulwich"),
    Line(FRESH_LOOK_UP, None, None, WITH_PYGIT2 + "sample = names()", "pygit2"),
    Line("for name in sample: packed.get(name).oid", FRESH_LOOK_UP, 0.05, "sample = names(); packed = reader()"),
    Line(BARE),
    Line(IMPORT, BARE),
)

MAXRSS_MB = 1e-6 if sys.platform == "darwin" else 1024e-6

# The words that the lines use. They run with the repository as working directory.
reader = partial(PackedRefs, "packed-refs")


def names() -> list[str]:
    with Path("packed-refs").open(encoding="ascii") as lines:
        every = [line[41:-1] for line in lines if not line.startswith(("#", "^"))]
    return random.Random(1).sample(every, min(10_000, len(every)))


class Sample(NamedTuple):
    seconds: float
    peak_mb: float
    faults: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--refs", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the repository is, or is to stay")
    parser.add_argument("--json", action="store_true", help="print everything measured, as JSON")
    parser.add_argument("--job", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.job is not None:
        print(json.dumps(do_python(LINES[args.job])))
        return
    with tempfile.TemporaryDirectory() as temporary:
        repo = Path(args.keep or temporary).resolve() / f"refs-{args.refs}.git"
        if not repo.exists():
            build(repo, args.refs)
        samples = measure(repo, args.runs)
        distributions = [f"{name} {version(name)}" for name in ("refspan", "pygit2", "dulwich") if installed(name)]
        report = {
            "refs": args.refs + 1,
            "file_mb": round((repo / "packed-refs").stat().st_size / 1e6, 1),
            "runs": args.runs,
            "versions": [git("version").strip(), f"Python {platform.python_version()}", *distributions],
            "load": os.getloadavg()[0],
            "dump_equals_git": filecmp.cmp(repo / "dump.git", repo / "dump.refspan", shallow=False),
            "lines": {line.work: summary(line, samples) for line in LINES if line.work in samples},
        }
    if args.json:
        print(json.dumps(report, indent=1))
    else:
        print_table(report)


def build(repo: Path, refs: int) -> None:
    """Let git make a bare repository of that many refs and refs/heads/main, all packed."""
    print(f"building {repo}", file=sys.stderr)
    # An interrupted build must not be taken for a repository.
    partial_repo = repo.with_suffix(".partial")
    shutil.rmtree(partial_repo, ignore_errors=True)
    git("init", "-q", "--bare", "-b", "main", str(partial_repo))
    with tempfile.TemporaryFile("w+") as stream:
        stream.writelines(history(refs))
        stream.seek(0)
        git("fast-import", "--quiet", cwd=partial_repo, stdin=stream)
    commits = git("rev-list", "refs/heads/main", cwd=partial_repo).split()
    with (partial_repo / "packed-refs").open("w", newline="\n") as packed:
        # No header: git must sort this itself and find out what each object peels to.
        for i, (name, annotated) in enumerate(ref_names(refs)):
            if not annotated:
                packed.write(f"{commits[i // 20 * 7919 % len(commits)]} {name}\n")
    git("pack-refs", "--all", cwd=partial_repo)
    # The directory that held the loose tags stays large when it is empty, and git reads it each time.
    (partial_repo / "refs/tags").rmdir()
    (partial_repo / "refs/tags").mkdir()
    partial_repo.rename(repo)


def history(refs: int) -> Iterator[str]:
    """A stream for git fast-import: the annotated tags, and a thousandth as many commits as refs."""
    commits, who = max(1, refs // 1000), "C <c@example.com> 1700000000 +0000"
    for i in range(commits):
        yield f"commit refs/heads/main\nmark :{i + 1}\ncommitter {who}\ndata 2\nx\nM 644 inline f\ndata 6\n{i:06}\n"
    for i, (name, annotated) in enumerate(ref_names(refs)):
        if annotated:
            yield f"tag {name.removeprefix('refs/tags/')}\nfrom :{i // 20 % commits + 1}\ntagger {who}\ndata 2\nt\n"


def ref_names(refs: int) -> Iterator[tuple[str, bool]]:
    """Names in the mix that large hosts hold, and whether each is an annotated tag; always the same ones."""
    rng = random.Random(1)
    words = ("fix", "drop", "port", "cache", "retry", "login", "search", "token", "stream", "audit", "merge", "proxy")
    lanes = (
        *["refs/pull/{i}/head"] * 9,
        *["refs/pull/{i}/merge"] * 2,
        *["refs/changes/{low:02}/{i}/1"] * 3,
        *["refs/heads/{word}-team/{i}-{word}-{hex:.8}"] * 3,
        "refs/tags/nightly/20{low:02}-{i}",
        "refs/keep-around/{hex}",
        annotated := "refs/tags/v{low}.{i}.0",
    )
    for i in range(refs):
        lane = lanes[i % len(lanes)]
        name = lane.format(i=i, low=i // 20 % 100, word=rng.choice(words), hex=rng.randbytes(20).hex())
        yield name, lane is annotated


def git(*args: str, cwd: Path | None = None, stdin: IO[str] | None = None) -> str:
    run = partial(subprocess.run, cwd=cwd, env=ENVIRONMENT, stdin=stdin, stdout=PIPE, text=True, check=True)
    return str(run(("git", *args)).stdout)


def measure(repo: Path, runs: int) -> dict[str, list[Sample]]:
    samples: dict[str, list[Sample]] = {line.work: [] for line in LINES if installed(line.needs)}
    for done in range(runs + 1):
        print(f"round {done} of {runs}", file=sys.stderr)
        for number, line in enumerate(LINES):
            if line.work in samples:
                sample = run_process(line, repo) if line.work.startswith("$") else run_python(number, repo)
                samples[line.work] += [sample] if done else []
    return samples


def installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def run_process(line: Line, repo: Path) -> Sample:
    command, _, output = line.work.removeprefix("$ ").partition(" > ")
    words = [sys.executable if word == "python" else word for word in shlex.split(command)]
    with (repo / (output or os.devnull)).open("wb") as out:
        start = time.perf_counter()
        child = subprocess.Popen(words, cwd=repo, env=ENVIRONMENT, stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"failed: {line.work}")
    return Sample(seconds, usage.ru_maxrss * MAXRSS_MB, usage.ru_minflt)


def run_python(number: int, repo: Path) -> Sample:
    command = (sys.executable, str(Path(__file__).resolve()), "--job", str(number))
    job = subprocess.run(command, cwd=repo, env=ENVIRONMENT, stdout=PIPE, check=True)
    return Sample(*json.loads(job.stdout))


def do_python(line: Line) -> Sample:
    faults = []

    def clock() -> float:
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
        return time.perf_counter()

    # timeit turns the collector off; no program that lists refs does.
    seconds = timeit.timeit(line.work, f"import gc; gc.enable()\n{line.setup}", clock, 1, globals())
    return Sample(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_MB, faults[1] - faults[0])


def summary(line: Line, samples: dict[str, list[Sample]]) -> dict[str, Any]:
    own, yardstick = samples[line.work], samples.get(line.against or "", [])
    ratios = [a.seconds / b.seconds for a, b in zip(own, yardstick, strict=False)]
    return {
        "ms": [1000 * sample.seconds for sample in own],
        "ratio": median(ratios) if ratios else None,
        "target": line.target,
        "peak_mb": max(sample.peak_mb for sample in own),
        "minor_faults": median(sample.faults for sample in own),
    }


def print_table(report: dict[str, Any]) -> None:
    print("{refs:,} refs, packed-refs of {file_mb} MB, {runs} runs in turns, load {load:.1f}".format(**report))
    print(", ".join(report["versions"]))
    lines = report["lines"]
    for work, against, *_ in LINES:
        if against is None:
            print(f"\n{'':66}  {'median ms (min-max)':>26}  {'ratio':>6}  {'target':11}  peak MB")
        print(f"{work:66}", row(lines[work]) if work in lines else f"{'not installed':>27}")
    lag = median(full - bare for full, bare in zip(lines[IMPORT]["ms"], lines[BARE]["ms"], strict=True))
    print(f"\nimport refspan, over python alone: {lag:.1f} ms, {met(lag, target=15)}")
    opened, first, iterated = lines[OPEN], lines[FIRST], lines[ITERATE]
    print(f"minor page faults: {opened['minor_faults']:g} to open, {first['minor_faults']:g} with one look-up")
    print(f"peak memory: {opened['peak_mb']:.1f} MB open, {iterated['peak_mb']:.1f} MB iterated")
    print(f"refspan dump wrote what git wrote: {'yes' if report['dump_equals_git'] else 'NO'}")


def row(line: dict[str, Any]) -> str:
    ms, ratio, target = line["ms"], line["ratio"], line["target"]
    times = f"{median(ms):.2f} ({min(ms):.2f}-{max(ms):.2f})"
    shown = "" if ratio is None else f"{ratio:.3f}"
    judged = "" if ratio is None or target is None else met(ratio, target)
    return f" {times:>26}  {shown:>6}  {judged:11}  {line['peak_mb']:7.1f}"


def met(value: float, target: float) -> str:
    return f"{target:g} {'met' if value <= target else 'missed'}"


if __name__ == "__main__":
    main()
