"""Reflog files that others wrote: what git reads of them, whatever it passes over, and wherever their lines end."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from reftable_support import fixtures
from store_support import Repository, both_ways, build, decode, encode, git_log, line, null, shown
from support import run_python

NAME = "refs/heads/main"
WHO = "C <c@example.com> 1700000000 +0000"


@pytest.fixture
def log(tmp_path: Path) -> Repository:
    """A repository with a branch, for logs written by hand."""
    repo = build(tmp_path)
    repo.create(NAME)
    return repo


LINES = [
    "{a} {b} C <c@example.com> 1700000000 +0530\tzone",
    "{a} {b} C <c@example.com> 1700000000 +0000",
    "{a} {b} C <c@example.com> 1700000000 +0000\t",
    "{a} {b} C <c@example.com> 1700000000 +0000\tone\ttwo\t",
    "{a} {b} C <c@example.com> 1700000000 +0000\tmerge a -> b> 5 +0100",
    "{a} {b} C <c@example.com> 1700000000 +0000 not a TAB",
    "{a} {b} C <c@example.com> 1700000000 +0000\t two  spaces ",
    "{a} {b} C <c@example.com> 1700000000 +0000\tcarriage return\r",
    "{a} {b} C <c@example.com>  1700000000 +0000\tspaces before the time",
    "{a} {b} A  B <> 1700000000 -0000\tno address",
    "{a} {b} <c@example.com> 1700000000 +0000\tno name",
    "{a} {b} L\udce9 <l\udce9@example.com> 4102444800 -1200\tbytes \udcff",
    "{A} {b} C <c@example.com> 1700000000 +0000\tupper case",
]
MALFORMED = [
    "",
    "garbage",
    "{a} {b}",
    "{a}  {b} C <c@example.com> 1700000000 +0000\ttwo spaces",
    "{a} {b:.39} C <c@example.com> 1700000000 +0000\tshort",
    "{a} {b}0 C <c@example.com> 1700000000 +0000\tlong",
    "{a:.39}g {b} C <c@example.com> 1700000000 +0000\tno hex",
    "{a} {b} C <c@example.com>1700000000 +0000\tno space",
    "{a} {b} C <c@example.com 1700000000 +0000\tno bracket",
    "{a} {b} C <c@example.com> never +0000\tno time",
    "{a} {b} C <c@example.com> 1700000000\tno zone",
    "{a} {b} C <c@example.com> 1700000000 0000\tno sign",
    "{a} {b} C <c@example.com> 1700000000 +000\tshort zone",
    "{a} {b} C <c@example.com> 1700000000 +0x00\tno zone",
    " {a} {b} C <c@example.com> 1700000000 +0000\tspace in front",
]


def write_log(repo: Repository, *lines: str) -> None:
    """Write the log of the branch: these lines between two good ones."""
    a, b, c = repo.commits
    spelled = [text.format(a=a, b=b, A=a.upper()) for text in lines]
    text = "\n".join([f"{null()} {a} {WHO}\tfirst", *spelled, f"{b} {c} {WHO}\tlast"])
    repo.loose(f"logs/{NAME}", f"{text}\n")


@pytest.mark.parametrize("text", LINES, ids=ascii)
def test_lines_by_other_programs_are_read_as_by_git(log: Repository, text: str) -> None:
    write_log(log, text)
    entries = both_ways(log.store(), NAME)
    assert shown(entries)[::-1] == git_log(log, NAME)
    assert len(entries) == 3
    assert (entries[1].old, entries[1].new) == log.commits[:2]


@pytest.mark.parametrize("text", MALFORMED, ids=ascii)
def test_malformed_lines_are_passed_over_and_counted(log: Repository, text: str) -> None:
    write_log(log, text, LINES[0], text)
    entries = both_ways(log.store(), NAME)
    assert shown(entries)[::-1] == git_log(log, NAME)
    assert [entry.message for entry in entries] == ["first", "zone", "last"]
    for reverse in (False, True):
        reading = log.store().reflog(NAME, reverse=reverse)
        assert len(list(reading)) == 3
        assert reading.skipped == 2


def test_an_unterminated_last_line_is_passed_over(log: Repository) -> None:
    write_log(log, LINES[0])
    path = log.gitdir / "logs" / NAME
    path.write_bytes(path.read_bytes()[:-1])
    assert [entry.message for entry in both_ways(log.store(), NAME)] == ["first", "zone"]
    assert shown(both_ways(log.store(), NAME))[::-1] == git_log(log, NAME)
    for reverse in (False, True):
        reading = log.store().reflog(NAME, reverse=reverse)
        assert len(list(reading)) == 2
        assert reading.skipped == 1


@pytest.mark.parametrize("content", ["", "\n", "\n\n", "garbage"])
def test_a_log_of_nothing_has_no_entries(log: Repository, content: str) -> None:
    log.loose(f"logs/{NAME}", content)
    assert both_ways(log.store(), NAME) == []
    assert NAME in log.store().reflogs()


EDGES = [edge + near for edge in (1024, 4096, 8192, 65536) for near in (-2, -1, 0, 1, 2)]


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("count", [1, 5])
def test_a_line_may_end_where_a_chunk_does(log: Repository, edge: int, count: int) -> None:
    """The last lines, of about the same length, are as long together as a reader's chunk, or nearly so."""
    a, b, _ = log.commits
    lengths = [edge // count] * (count - 1)
    lengths.append(edge - sum(lengths))
    bare = f"{a} {b} {WHO}\t\n"
    lines = [f"{a} {b} {WHO}\tearlier {at}\n" for at in range(20)]
    lines += [bare[:-1] + "x" * (length - len(bare)) + "\n" for length in lengths]
    log.loose(f"logs/{NAME}", "".join(lines))
    assert sum(map(len, lines[-count:])) == edge
    assert [f"{line(entry)}\n" for entry in both_ways(log.store(), NAME)] == lines


@pytest.mark.parametrize("length", [128, 256])
def test_lines_may_end_wherever_chunks_do(log: Repository, length: int) -> None:
    a, b, _ = log.commits
    lines = [f"{a} {b} {WHO}\t{at}".ljust(length - 1, ".") + "\n" for at in range((3 << 16) // length)]
    log.loose(f"logs/{NAME}", "".join(lines))
    assert {*map(len, lines)} == {length}
    assert [f"{line(entry)}\n" for entry in both_ways(log.store(), NAME)] == lines


def test_the_end_of_a_long_log_is_read_alone(log: Repository) -> None:
    path = log.gitdir / "logs" / NAME
    end = path.read_bytes()
    with path.open("r+b") as file:
        # A hole that takes no room on the disk, but would in memory.
        file.truncate(1 << 30)
        file.seek(0, 2)
        file.write(b"\n" + end)
    script = """
import resource, sys, refspan
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
entry = next(iter(refspan.open(sys.argv[1]).reflog(sys.argv[2], reverse=True)))
print(entry.new, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    new, kilobytes = run_python(script, log.path, NAME).split()
    assert new == log.commits[0]
    assert int(kilobytes) < 50_000


@pytest.mark.parametrize("path", fixtures("GitPython/test/fixtures/reflog_*"))
def test_real_logs_are_read_but_for_their_malformed_lines(log: Repository, path: Path) -> None:
    content = decode(path.read_bytes())
    log.loose(f"logs/{NAME}", content)
    lines = content.splitlines()
    # Of two lines the second is malformed; where its TAB is a space, git does not mind.
    skipped = 1 if "invalid" in path.name and "sep" not in path.name else 0
    reading = log.store().reflog(NAME)
    entries = list(reading)
    assert (len(entries), reading.skipped) == (len(lines) - skipped, skipped)
    assert both_ways(log.store(), NAME) == entries
    for entry, text in itertools.zip_longest(entries, lines[: len(lines) - skipped]):
        assert line(entry).replace("\t", " ").split() == text.replace("\t", " ").split()
    assert encode(content).count(b"\n") == len(lines)
