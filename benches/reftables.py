"""Time refspan's reftable reader against git, on a stack of a million refs and on one of a million reflog entries.

    python benches/reftables.py [--refs 1000000] [--runs 7] [--keep DIR] [--json]

Needs git >= 2.46, an installed refspan and, at a million refs, 1 GB of memory, 500 MB of disk and some minutes to build
the repositories; `--keep` keeps them in DIR and finds them there next time. How to read it and what is timed, see
readers.py: a line with `$` is a whole process, any other Python in a fresh interpreter, opening included; a ratio is
taken to the first line of its block.

`one.git` has all refs in a single table, `ten.git` every tenth of them in each of ten, and `logs.git` as many reflog
entries, of a hundred refs, in a single table: `git reflog --all` goes through all refs for each entry.
"""

import json
import random
import shutil
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from harness import Line, build, do_python, git, parser, print_report, report_on
from refspan import ReftableStack

FIND = "$ git -C one.git show-ref refs/heads/main"
NAME_AND_OID = "for ref in one(): ref.name; ref.oid"
BUSY = "$ git -C one.git for-each-ref --points-at=refs/heads/main"
# The annotated tag itself, not what it points at.
LONELY = "$ git -C one.git for-each-ref --points-at=refs/tags/v0.19.0"
ITERATE, LENGTH = "for ref in one(): pass", "len(one())"
LOGS = "$ git -C logs.git reflog --all"

LINES = (
    Line(FIND),
    Line("one()", FIND),
    Line("one()['refs/heads/main'].oid", FIND),
    Line(LENGTH, FIND, 0.3),
    Line(ITERATE, FIND, 0.75),
    Line("for name in one().names(): pass", FIND, 1.1),
    Line(NAME_AND_OID, FIND),
    Line("for name, oid, peeled in one(): pass", FIND),
    Line("[(r.refname, r.hex, r.peeled_hex) for r in one()]", FIND),
    Line("one().check()", FIND),
    Line(BUSY),
    Line("for ref in one().points_at(busy): ref.name", BUSY, 0.03, "busy = one()['refs/heads/main'].hex"),
    Line(LONELY),
    Line("for ref in one().points_at(lonely): ref.name", LONELY, 0.005, "lonely = one()['refs/tags/v0.19.0'].hex"),
    Line("for name in sample: one_stack[name].oid", None, None, "sample, one_stack = names(), one()"),
    Line(
        "for name in sample: ten_stack[name].oid",
        "for name in sample: one_stack[name].oid",
        None,
        "sample, ten_stack = names(), ten()",
    ),
    Line(ITERATE + "  # one table"),
    Line("for ref in ten(): pass", ITERATE + "  # one table", 2.0),
    Line(LENGTH + "  # one table"),
    Line("len(ten())", LENGTH + "  # one table", 2.0),
    Line(LOGS),
    # The first reads them into Rust, the second makes an object of each.
    Line("logs().check()", LOGS, 0.2),
    Line("for entry in logs().logs(): pass", LOGS),
    Line("for entry in logs().logs(): entry.new; entry.message", LOGS),
)

# The words that the lines use. They run in the folder that holds the repositories.
one, ten, logs = (partial(ReftableStack, f"{name}.git/reftable") for name in ("one", "ten", "logs"))


def names() -> list[str]:
    every = [ref.refname for ref in one()]
    return random.Random(1).sample(every, min(10_000, len(every)))


def main() -> None:
    args = parser(__doc__).parse_args()
    if args.job is not None:
        print(json.dumps(do_python(LINES[args.job], globals())))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(args.keep or temporary).resolve()
        root = folder / f"reftables-{args.refs}"
        if not root.exists():
            build_all(folder / f"refs-{args.refs}.git", root, args.refs)
        (table,) = (root / "one.git/reftable").glob("*.ref")
        report = report_on(__file__, LINES, root, args) | {"file_mb": round(table.stat().st_size / 1e6, 1)}
    print_report("a table of {file_mb} MB, ", LINES, report, as_json=args.json)


def build_all(source: Path, root: Path, refs: int) -> None:
    """Let git make the three repositories; `source` is the same in packed-refs, which readers.py uses too."""
    if not source.exists():
        build(source, refs)
    print(f"building {root}", file=sys.stderr)
    # An interrupted build must not be taken for a finished one.
    partial_root = root.with_suffix(".partial")
    shutil.rmtree(partial_root, ignore_errors=True)
    partial_root.mkdir()
    git("clone", "-q", "--mirror", "--ref-format=reftable", str(source), str(partial_root / "one.git"))
    git("pack-refs", cwd=partial_root / "one.git")
    build_ten(source, partial_root / "ten.git")
    build_logs(source, partial_root / "logs.git", refs)
    partial_root.rename(root)


def build_ten(source: Path, repo: Path) -> None:
    """Deal the refs out to ten repositories, and take the table of each."""
    parts = [repo.with_name(f"part{i}.git") for i in range(10)]
    for part in parts:
        shutil.copytree(source, part, ignore=shutil.ignore_patterns("packed-refs", "dump.*"))
    with ExitStack() as stack:
        files = [stack.enter_context((part / "packed-refs").open("w", newline="\n")) for part in parts]
        for file in files:
            file.write("# pack-refs with: peeled fully-peeled sorted \n")
        dealt = -1
        for line in stack.enter_context((source / "packed-refs").open(newline="\n")):
            # A peeled value goes where its ref went.
            dealt += line[0] not in "#^"
            if line[0] != "#":
                files[dealt % 10].write(line)
    (repo / "reftable").mkdir(parents=True)
    for i, part in enumerate(parts):
        git("refs", "migrate", "--ref-format=reftable", cwd=part)
        (table,) = (part / "reftable").glob("*.ref")
        table.rename(repo / f"reftable/{i}.ref")
        shutil.rmtree(part)
    (repo / "reftable/tables.list").write_text("".join(f"{i}.ref\n" for i in range(10)), newline="\n")


def build_logs(source: Path, repo: Path, entries: int) -> None:
    """Move a hundred refs to and fro, all of them in each transaction."""
    commits = git("rev-list", "-n2", "refs/heads/main", cwd=source).split()
    git("clone", "-q", "--bare", "--ref-format=reftable", "--single-branch", "--no-tags", str(source), str(repo))
    git("config", "core.logAllRefUpdates", "always", cwd=repo)
    with tempfile.TemporaryFile("w+") as stream:
        for turn in range(entries // 100):
            moves = (f"update refs/heads/{i} {commits[turn % len(commits)]}\n" for i in range(100))
            stream.writelines(("start\n", *moves, "commit\n"))
        stream.seek(0)
        git("update-ref", "-m", "moved to and fro", "--stdin", cwd=repo, stdin=stream)
    git("pack-refs", cwd=repo)


if __name__ == "__main__":
    main()
