"""Time refs and reflogs as data frames against the parsing of git's text, on a million refs, and over a fleet.

    python benches/columns.py [--refs 1000000] [--runs 7] [--keep DIR] [--json]

Needs git >= 2.46, an installed refspan, polars and pyarrow and, at a million refs, 2 GB of memory and 1 GB of disk.
How to read it and what is timed, see readers.py and stores.py, whose repositories these are; polars and pyarrow are
imported before the clock starts. `logs.git` has a reflog of as many entries as there are refs. The fleet is 2,000
small repositories of both formats, each with twenty packed refs and three loose ones (files) or two tables, one of
them damaged. The last lines are memory: the peak over what importing took, less the file and the frame.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from subprocess import PIPE, run

import polars
import pyarrow
import refspan
from harness import ENVIRONMENT, Line, do_python, git, parser, print_report, report_on
from stores import build_all, files, tables

THREE = ["name", "oid", "peeled"]
TEXT = dict.fromkeys(THREE, polars.String)
FLEET = 2_000

# What a library imports when it first takes a stream, which is 30 to 200 ms, is there before the clock starts.
WARM = "polars.DataFrame(PackedRefs('none')); pyarrow.table(PackedRefs('none'))"
FIND = "$ git -C files.git show-ref refs/heads/main"
PIPED = "polars.DataFrame(parsed(output('git', '-C', 'files.git', 'show-ref', '-d')), TEXT, orient='row')"
PACKED = "polars.DataFrame(PackedRefs('files.git/packed-refs').columns(THREE))"
STACK = "polars.DataFrame(ReftableStack('tables.git/reftable').columns(THREE))"
REFLOG = "polars.DataFrame(entries(output(*GIT_REFLOG)), orient='row')"
EACH = "for path in fleet(): output('git', '-C', path, 'for-each-ref')"

LINES = tuple(
    line if line.work.startswith("$") else line._replace(setup=WARM)
    for line in (
        Line(FIND),
        Line(PACKED, FIND, 0.5),
        Line("pyarrow.table(PackedRefs('files.git/packed-refs').columns(THREE))", FIND),
        Line(STACK, FIND, 0.8),
        Line("pyarrow.table(ReftableStack('tables.git/reftable').columns(THREE, oid='raw'))", FIND),
        Line(PIPED),
        Line(PACKED + "  # as above", PIPED, 1 / 30),
        Line(PACKED + "  # again"),
        Line("polars.DataFrame(files().columns(THREE))", PACKED + "  # again", 1.1),
        Line(STACK + "  # again"),
        Line("polars.DataFrame(tables().columns(THREE))", STACK + "  # again", 1.1),
        Line(REFLOG),
        Line("polars.DataFrame(refspan.open('logs.git').reflogs())", REFLOG, 0.1),
        Line("polars.DataFrame(refspan.open('logs.git').reflog('refs/heads/main'))", REFLOG, 0.1),
        Line(EACH),
        Line("polars.DataFrame(refspan.scan(fleet(), on_error='record'))", EACH, 1 / 15),
        Line("polars.DataFrame(refspan.scan(fleet(), what='repositories', on_error='record'))", EACH),
    )
)

# The words that the lines use. They run in the folder that holds the repositories.
WORDS = {name: getattr(refspan, name) for name in ("PackedRefs", "ReftableStack")}
WORDS |= {"polars": polars, "pyarrow": pyarrow, "refspan": refspan}
GIT_REFLOG = (
    *("git", "-C", "logs.git", "reflog", "refs/heads/main", "--date=unix"),
    "--format=%H%x00%gd%x00%gn%x00%ge%x00%gs",
)


def output(*command: str) -> str:
    return run(command, stdout=PIPE, text=True, check=False, env=ENVIRONMENT).stdout


def parsed(text: str) -> list[list[str | None]]:
    """The refs of `git show-ref -d`: name, object id and peeled object id."""
    rows: list[list[str | None]] = []
    for line in text.splitlines():
        oid, _, name = line.partition(" ")
        if name.endswith("^{}"):
            rows[-1][2] = oid
        else:
            rows.append([name, oid, None])
    return rows


def entries(text: str) -> list[list[str]]:
    """The entries of a reflog, as `GIT_REFLOG` prints them."""
    return [line.split("\0") for line in text.splitlines()]


def fleet() -> list[str]:
    return sorted(str(path) for path in Path("fleet").iterdir())


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--check", action="store_true", help="only compare the frames with git's text")
    args = options.parse_args()
    if args.job is not None:
        print(json.dumps(do_python(LINES[args.job], globals() | WORDS)))
        return
    if args.check:
        check(args.keep / f"stores-{args.refs}")
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(args.keep or temporary).resolve()
        root = folder / f"stores-{args.refs}"
        if not root.exists():
            build_all(folder / f"refs-{args.refs}.git", root, args.refs)
        build_logs(root / "logs.git", args.refs)
        build_fleet(root / "fleet")
        (root / "none").touch()
        # In a process of its own, whose memory is not this one's.
        run((sys.executable, __file__, "--refs", str(args.refs), "--keep", str(folder), "--check"), check=True)
        report = report_on(__file__, LINES, root, args)
        report["memory"] = [memory(root, source) for source in (PACKED, STACK)]
    print_report("", LINES, report, as_json=args.json)
    if not args.json:
        for line in report["memory"]:
            print(line)


def build_logs(repo: Path, count: int) -> None:
    """A repository with a reflog of that many entries."""
    if repo.exists():
        return
    commit = build_one(repo, "files")
    log = repo / "logs/refs/heads/main"
    log.parent.mkdir(parents=True)
    with log.open("w", newline="\n") as out:
        for i in range(count):
            who = f"Committer {i % 50} <c{i % 50}@example.com>"
            out.write(f"{commit} {commit} {who} {1_600_000_000 + i * 30} {i % 3 * 100:+05}\tpush: change number {i}\n")


def build_fleet(root: Path) -> None:
    """Small repositories of both formats, one of them damaged."""
    if root.exists():
        return
    partial_root = root.with_suffix(".partial")
    shutil.rmtree(partial_root, ignore_errors=True)
    partial_root.mkdir()
    for ref_format in ("files", "reftable"):
        template = partial_root / f"{ref_format}.template"
        commit = build_one(template, ref_format)
        commits = [commit, *(new_commit(template, f"{i}") for i in range(20))]
        update = partial(update_refs, template)
        update(f"create refs/heads/topic-{i} {commits[i]}" for i in range(20))
        git("pack-refs", "--all", cwd=template)
        update(f"create refs/heads/new-{i} {commits[i]}" for i in range(3))
        for i in range(ref_format == "files", FLEET, 2):
            shutil.copytree(template, partial_root / f"{i:04}.git")
        shutil.rmtree(template)
    with (partial_root / "0777.git/packed-refs").open("a") as packed:
        packed.write("garbage\n")
    partial_root.rename(root)


def build_one(repo: Path, ref_format: str) -> str:
    """An empty bare repository but for one commit, whose id that is, on its branch."""
    git("init", "-q", "--bare", "-b", "main", f"--ref-format={ref_format}", str(repo))
    commit = new_commit(repo, "first")
    git("update-ref", "refs/heads/main", commit, cwd=repo)
    return commit


def new_commit(repo: Path, message: str) -> str:
    tree = git("hash-object", "-t", "tree", "-w", os.devnull, cwd=repo).strip()
    who = ("-c", "user.name=C", "-c", "user.email=c@example.com")
    return git(*who, "commit-tree", tree, "-m", message, cwd=repo).strip()


def update_refs(repo: Path, commands: Iterable[str]) -> None:
    text = "".join(f"{command}\n" for command in commands)
    run(("git", "update-ref", "--stdin"), cwd=repo, env=ENVIRONMENT, input=text, text=True, check=True)


def check(root: Path) -> None:
    """The frames are what git prints."""
    os.chdir(root)
    told = polars.DataFrame(parsed(output("git", "-C", "files.git", "show-ref", "-d")), TEXT, orient="row")
    for name, frame in (("files", files().columns(THREE)), ("tables", tables().columns(THREE))):
        if not polars.DataFrame(frame).equals(told):
            raise SystemExit(f"the frame of {name}.git is not what git prints")


def memory(root: Path, source: str) -> str:
    """How much more than the file and the frame a line takes at its peak."""
    script = (
        "import polars, pyarrow\nfrom pathlib import Path\nfrom refspan import PackedRefs, ReftableStack\n"
        f"THREE = {THREE!r}\n"
        "peak = lambda: int(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]) / 1024\n"
        f"{WARM}\n"
        f"before = peak(); frame = {source}; print(peak() - before, frame.estimated_size('mb'))"
    )
    taken, frame = map(float, run((sys.executable, "-c", script), cwd=root, stdout=PIPE, check=True).stdout.split())
    listed = [root / "files.git/packed-refs"] if source == PACKED else [*(root / "tables.git/reftable").glob("*.ref")]
    size = sum(path.stat().st_size for path in listed) / 2**20
    return f"{source}: peak {taken:.0f} MiB, file {size:.0f} MiB, frame {frame:.0f} MiB"


if __name__ == "__main__":
    main()
