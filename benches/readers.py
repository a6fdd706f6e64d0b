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

import filecmp
import json
import os
import random
import tempfile
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from harness import Line, build, do_python, met, parser, print_report, report_on
from refspan import PackedRefs

FIND = "$ git show-ref refs/heads/main"
OPEN, FIRST = "reader()", "reader()['refs/heads/main'].oid"
ITERATE = "for ref in reader(): pass"
# Fixed columns, while git is still writing, is the fastest way to read its text.
LIST = "[(line[41:-1], line[:40]) for line in popen('git show-ref -d')]"
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

# The words that the lines use. They run with the repository as working directory.
popen = os.popen
reader = partial(PackedRefs, "packed-refs")


def names() -> list[str]:
    with Path("packed-refs").open(encoding="ascii") as lines:
        every = [line[41:-1] for line in lines if not line.startswith(("#", "^"))]
    return random.Random(1).sample(every, min(10_000, len(every)))


def main() -> None:
    args = parser(__doc__).parse_args()
    if args.job is not None:
        print(json.dumps(do_python(LINES[args.job], globals())))
        return
    with tempfile.TemporaryDirectory() as temporary:
        repo = Path(args.keep or temporary).resolve() / f"refs-{args.refs}.git"
        if not repo.exists():
            build(repo, args.refs)
        report = report_on(__file__, LINES, repo, args) | {
            "file_mb": round((repo / "packed-refs").stat().st_size / 1e6, 1),
            "dump_equals_git": filecmp.cmp(repo / "dump.git", repo / "dump.refspan", shallow=False),
        }
    print_report("packed-refs of {file_mb} MB, ", LINES, report, as_json=args.json)
    if not args.json:
        print_more(report)


def print_more(report: dict[str, Any]) -> None:
    lines = report["lines"]
    lag = median(full - bare for full, bare in zip(lines[IMPORT]["ms"], lines[BARE]["ms"], strict=True))
    print(f"\nimport refspan, over python alone: {lag:.1f} ms, {met(lag, target=15)}")
    opened, first, iterated = lines[OPEN], lines[FIRST], lines[ITERATE]
    print(f"minor page faults: {opened['minor_faults']:g} to open, {first['minor_faults']:g} with one look-up")
    print(f"peak memory: {opened['peak_mb']:.1f} MB open, {iterated['peak_mb']:.1f} MB iterated")
    print(f"refspan dump wrote what git wrote: {'yes' if report['dump_equals_git'] else 'NO'}")


if __name__ == "__main__":
    main()
