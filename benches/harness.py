"""What the benchmarks share: repositories of many refs, lines of work timed in turns, and how the times are shown."""

import argparse
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
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from subprocess import PIPE
from typing import IO, Any, NamedTuple

# A user's or system's configuration, or a GIT_DIR, would measure another git or another repository.
ISOLATED = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | ISOLATED


class Line(NamedTuple):
    work: str
    against: str | None = None
    target: float | None = None
    setup: str = ""
    needs: str = "refspan"


MAXRSS_MB = 1e-6 if sys.platform == "darwin" else 1024e-6


class Sample(NamedTuple):
    seconds: float
    peak_mb: float
    faults: int


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options that all benchmarks have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--refs", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the repository is, or is to stay")
    parser.add_argument("--json", action="store_true", help="print everything measured, as JSON")
    parser.add_argument("--job", type=int, help=argparse.SUPPRESS)
    return parser


def versions() -> list[str]:
    distributions = [f"{name} {version(name)}" for name in ("refspan", "pygit2", "dulwich") if installed(name)]
    return [git("version").strip(), f"Python {platform.python_version()}", *distributions]


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


def measure(script: str, lines: Sequence[Line], repo: Path, runs: int) -> dict[str, list[Sample]]:
    """Run every line once per round; those in Python in a fresh interpreter, which gets `script --job NUMBER`."""
    samples: dict[str, list[Sample]] = {line.work: [] for line in lines if installed(line.needs)}
    for done in range(runs + 1):
        print(f"round {done} of {runs}", file=sys.stderr)
        for number, line in enumerate(lines):
            if line.work in samples:
                sample = run_process(line, repo) if line.work.startswith("$") else run_python(script, number, repo)
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


def run_python(script: str, number: int, repo: Path) -> Sample:
    command = (sys.executable, str(Path(script).resolve()), "--job", str(number))
    job = subprocess.run(command, cwd=repo, env=ENVIRONMENT, stdout=PIPE, check=True)
    return Sample(*json.loads(job.stdout))


def do_python(line: Line, words: dict[str, Any]) -> Sample:
    """Run a line in this interpreter; `words` are the names that it may use."""
    faults = []

    def clock() -> float:
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
        return time.perf_counter()

    # timeit turns the collector off; no program that lists refs does.
    seconds = timeit.timeit(line.work, f"import gc; gc.enable()\n{line.setup}", clock, 1, words)
    return Sample(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_MB, faults[1] - faults[0])


def report_on(script: str, lines: Sequence[Line], root: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Measure all lines, and say of what and with what."""
    samples = measure(script, lines, root, args.runs)
    return {
        "refs": args.refs + 1,
        "runs": args.runs,
        "versions": versions(),
        "load": os.getloadavg()[0],
        "lines": {line.work: summary(line, samples) for line in lines if line.work in samples},
    }


def print_report(title: str, lines: Sequence[Line], report: dict[str, Any], *, as_json: bool) -> None:
    """All of a report as JSON, or as a table under a title that may name its facts."""
    if as_json:
        print(json.dumps(report, indent=1))
        return
    print(f"{{refs:,}} refs, {title}{{runs}} runs in turns, load {{load:.1f}}".format(**report))
    print(", ".join(report["versions"]))
    print_lines(lines, report["lines"])


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


def print_lines(lines: Sequence[Line], report: dict[str, Any]) -> None:
    """The table of the times; each block starts with its yardstick."""
    for work, against, *_ in lines:
        if against is None:
            print(f"\n{'':66}  {'median ms (min-max)':>26}  {'ratio':>6}  {'target':11}  peak MB")
        print(f"{work:66}", row(report[work]) if work in report else f"{'not installed':>27}")


def row(line: dict[str, Any]) -> str:
    ms, ratio, target = line["ms"], line["ratio"], line["target"]
    times = f"{median(ms):.2f} ({min(ms):.2f}-{max(ms):.2f})"
    shown = "" if ratio is None else f"{ratio:.3f}"
    judged = "" if ratio is None or target is None else met(ratio, target)
    return f" {times:>26}  {shown:>6}  {judged:11}  {line['peak_mb']:7.1f}"


def met(value: float, target: float) -> str:
    return f"{target:g} {'met' if value <= target else 'missed'}"
