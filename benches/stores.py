"""Time a repository's refs, opened by refspan, against git, on a million refs in either format.

    python benches/stores.py [--refs 1000000] [--runs 7] [--keep DIR] [--json]

Needs git >= 2.46, an installed refspan and, at a million refs, 1 GB of memory and 500 MB of disk; `--keep` keeps the
repositories in DIR and finds them there next time. How to read it and what is timed, see readers.py: a line with `$` is
a whole process, any other Python in a fresh interpreter, opening included; a ratio is taken to the first line of its
block.

`files.git` has all refs in packed-refs, `tables.git` in a single table. `other` is the former's packed-refs with one
other object id. Where the target is a time, not a ratio, the line says so.
"""

import json
import os
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from subprocess import PIPE, run

import refspan
from harness import Line, build, do_python, git, parser, print_report, report_on
from refspan import PackedRefs

FIND = "$ git -C files.git show-ref refs/heads/main"
# Fixed columns, while git is still writing, is the fastest way to read its text; the other is how one would write it.
FAST_LIST = "[(line[41:-1], line[:40]) for line in popen('git -C files.git show-ref')]"
LIST = "[tuple(line.split()) for line in output('git', '-C', 'files.git', 'show-ref').splitlines()]"
SHOW_REF = "$ git -C files.git show-ref > show-ref.git"
SHOW_REF_D = "$ git -C files.git show-ref -d > show-ref-d.git"
POINTS_AT = "$ git -C files.git for-each-ref --points-at=refs/heads/main"
REFS = "for r in files().refs(): r.name; r.oid"
OPEN = "files()['refs/heads/main'].oid"
COMMIT = (
    "before = tables().snapshot()\n"
    "now = before['refs/heads/main'].oid\n"
    "move = next(oid for oid in git('rev-list', '-n2', '--all', cwd='tables.git').split() if oid != now)\n"
    "git('update-ref', 'refs/heads/main', move, cwd='tables.git')\n"
    "after = tables().snapshot()"
)
SAME_PACKED = (
    "store = files(); before = store.snapshot()\n"
    "git('update-ref', 'refs/heads/moved', before['refs/heads/main'].oid, cwd='files.git')\n"
    "after = store.snapshot()\n"
    "git('update-ref', '-d', 'refs/heads/moved', cwd='files.git')"
)

LINES = (
    Line(FIND),
    Line("for r in files().refs(): pass", FIND),
    Line("for name in files().names(): pass", FIND),
    Line(REFS, FIND, 1.5),
    Line("for r in tables().refs(): r.name; r.oid", FIND),
    Line("len(files())", FIND),
    Line("files().digest()", FIND, 1.5),
    Line("tables().digest()", FIND, 1.5),
    Line("for change in refspan.diff(files(), tables()): pass", FIND, 2.0),
    Line("for change in refspan.diff(PackedRefs('files.git/packed-refs'), PackedRefs('other')): pass", FIND, 0.4),
    Line(FAST_LIST),
    Line(REFS + "  # as above", FAST_LIST, 0.15),
    Line(LIST),
    Line(REFS + "  # likewise", LIST, 0.15),
    Line("[(r.name, r.oid) for r in files().refs()]", LIST),
    Line(SHOW_REF),
    Line("$ python -m refspan -C files.git show-ref > show-ref.refspan", SHOW_REF, 0.8),
    Line(SHOW_REF_D),
    Line("$ python -m refspan -C files.git show-ref -d > show-ref-d.refspan", SHOW_REF_D, 0.8),
    Line(POINTS_AT),
    Line("for r in files().points_at(oid): pass", POINTS_AT, None, "oid = files()['refs/heads/main'].oid"),
    Line("for r in tables().points_at(oid): pass", POINTS_AT, None, "oid = tables()['refs/heads/main'].oid"),
    Line(OPEN + "  # 1 ms"),
    Line("tables()['refs/heads/main'].oid  # 1 ms"),
    Line("for change in refspan.diff(before, after): pass  # tables, one commit later: 1 ms", None, None, COMMIT),
    Line("for change in refspan.diff(before, after): pass  # files, one loose ref later", None, None, SAME_PACKED),
)

# The words that the lines use. They run in the folder that holds the repositories.
popen = os.popen
files, tables = (partial(refspan.open, f"{name}.git") for name in ("files", "tables"))


def output(*command: str) -> str:
    return run(command, stdout=PIPE, text=True, check=True).stdout


def main() -> None:
    args = parser(__doc__).parse_args()
    if args.job is not None:
        print(json.dumps(do_python(LINES[args.job], globals())))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(args.keep or temporary).resolve()
        root = folder / f"stores-{args.refs}"
        if not root.exists():
            build_all(folder / f"refs-{args.refs}.git", root, args.refs)
        report = report_on(__file__, LINES, root, args)
        for ours, gits in (("show-ref.refspan", "show-ref.git"), ("show-ref-d.refspan", "show-ref-d.git")):
            if (root / ours).read_bytes() != (root / gits).read_bytes():
                raise SystemExit(f"{ours} is not {gits}")
    print_report("", LINES, report, as_json=args.json)


def build_all(source: Path, root: Path, refs: int) -> None:
    """Let git make the repositories; `source` is the one that readers.py uses too."""
    if not source.exists():
        build(source, refs)
    print(f"building {root}", file=sys.stderr)
    # An interrupted build must not be taken for a finished one.
    partial_root = root.with_suffix(".partial")
    shutil.rmtree(partial_root, ignore_errors=True)
    partial_root.mkdir()
    shutil.copytree(source, partial_root / "files.git", ignore=shutil.ignore_patterns("dump.*"))
    git("clone", "-q", "--mirror", "--ref-format=reftable", str(source), str(partial_root / "tables.git"))
    git("pack-refs", cwd=partial_root / "tables.git")
    data = (source / "packed-refs").read_bytes()
    middle = PackedRefs(source / "packed-refs")
    name = next(ref.refname for ref in middle.refs(start_after="refs/heads/zzz"))
    record = bytes(next(middle.records(name)))
    other = b"%040x" % 1 + record[40:]
    (partial_root / "other").write_bytes(data.replace(record, other, 1))
    partial_root.rename(root)


if __name__ == "__main__":
    main()
