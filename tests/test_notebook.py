"""examples/analytics.ipynb runs from its first cell to its last, draws its plots, and tells what git tells."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from reftable_support import needs_reftables
from support import git

MISSING = [name for name in ("ipykernel", "matplotlib", "nbclient", "nbformat", "polars") if not find_spec(name)]
pytestmark = [
    needs_reftables,
    pytest.mark.skipif(bool(MISSING), reason=f"pip install 'refspan[notebook]': there is no {', '.join(MISSING)}"),
]

EXAMPLES = Path(__file__).parents[1] / "examples"
PLOTS = ("namespaces", "tags", "stale", "pushes", "layout", "stack")
TODAY = datetime(2026, 1, 12, tzinfo=UTC).timestamp()

# In a process of its own, so that what its packages leave behind does not meet the strictness of the tests. The last
# cell keeps what the notebook made.
EXECUTE = """
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read("analytics.ipynb", as_version=4)
last = "import shutil, sys; shutil.copytree(folder.name, 'made'); print(sys.executable)"
notebook.cells.append(nbformat.v4.new_code_cell(last, id="last"))
NotebookClient(notebook, kernel_name="refspan-tests", timeout=120, allow_errors=True).execute()
nbformat.write(notebook, "executed.ipynb")
"""


class Run(NamedTuple):
    """What each cell put out, and the repositories that the notebook made."""

    outputs: dict[str, list[dict[str, Any]]]
    team: Path
    twin: Path

    def text(self, cell: str) -> str:
        """What a cell put out as text."""
        parts = (part.get("text") or part.get("data", {}).get("text/plain", "") for part in self.outputs[cell])
        return "\n".join("".join(part) for part in parts)

    def told(self, cell: str, pattern: str) -> list[int]:
        """The numbers in a text that a cell put out."""
        found = re.search(pattern, self.text(cell))
        assert found is not None, f"no {pattern!r} in {self.text(cell)!r}"
        return [int(number.replace(",", "")) for number in found.groups()]


class Entry(NamedTuple):
    """Who made a reflog entry, when, and in which time zone."""

    who: str
    time: int
    tz: str


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("notebook")
    for name in ("analytics.ipynb", "analytics_repository.py"):
        shutil.copy(EXAMPLES / name, folder)
    # A kernel of this interpreter, whatever is installed under the usual name, without the user's own settings.
    kernel = folder / "kernels/refspan-tests"
    kernel.mkdir(parents=True)
    start = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": start, "display_name": "tests", "language": "python"}))
    settings = {name: str(folder / name) for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    environment |= settings | {"JUPYTER_PATH": str(folder)}
    subprocess.run([sys.executable, "-c", EXECUTE], cwd=folder, env=environment, check=True)
    cells = json.loads((folder / "executed.ipynb").read_text())["cells"]
    outputs = {cell["id"]: cell["outputs"] for cell in cells if cell["cell_type"] == "code"}
    return Run(outputs, folder / "made/team.git", folder / "made/twin.git")


def lines(repo: Path, *args: str) -> list[str]:
    return git(*args, cwd=repo).decode().splitlines()


def names(repo: Path, *patterns: str) -> list[str]:
    return lines(repo, "for-each-ref", "--format=%(refname)", *patterns)


def logged(repo: Path) -> list[str]:
    """The refs that have a reflog."""
    return lines(repo, "reflog", "list")


def entries(repo: Path, ref: str) -> list[Entry]:
    """The entries of a log that git wrote to a file, oldest first. (`git log -g` shows none of annotated tags.)"""
    text = (repo / "logs" / ref).read_text()
    found = re.findall(r"^\w+ \w+ (.*) <.*> (\d+) ([+-]\d{4})\t", text, re.MULTILINE)
    return [Entry(who, int(time), tz) for who, time, tz in found]


def test_the_notebook_is_stored_without_outputs() -> None:
    notebook = json.loads((EXAMPLES / "analytics.ipynb").read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert cells
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


def test_no_cell_fails_or_warns(run: Run) -> None:
    parts = [part for outputs in run.outputs.values() for part in outputs]
    assert [part["traceback"] for part in parts if part["output_type"] == "error"] == []
    said = "".join("".join(part["text"]) for part in parts if part.get("name") == "stderr")
    assert not re.search("warning", said, re.IGNORECASE), said


def test_the_interpreter_is_the_one_that_is_tested(run: Run) -> None:
    assert run.text("last").strip() == sys.executable


def test_each_plot_is_one_picture_of_a_size_to_be_read(run: Run) -> None:
    pictures = {
        cell: [part["data"]["image/png"] for part in outputs if "image/png" in part.get("data", {})]
        for cell, outputs in run.outputs.items()
    }
    assert {cell: len(found) for cell, found in pictures.items() if found} == {f"{plot}-plot": 1 for plot in PLOTS}
    for (picture,) in filter(None, pictures.values()):
        png = base64.b64decode(picture)
        assert png.startswith(b"\x89PNG")
        width, height = struct.unpack(">II", png[16:24])
        assert 600 <= width <= 1600
        assert 300 <= height <= 1200


def test_refs_and_reflogs_are_as_many_as_git_lists(run: Run) -> None:
    told = run.told("open", r"([\d,]+) refs and ([\d,]+) reflogs in files format")
    assert told == [len(names(run.team)), len(logged(run.team))]


def test_namespaces_hold_as_many_refs_as_git_lists_in_them(run: Run) -> None:
    rows = dict(re.findall(r"│ (refs/\S+)\s+┆ (\d+)\s+│", run.text("namespaces-frame")))
    counted = Counter("/".join(name.split("/")[:2]) for name in names(run.team))
    assert rows == {namespace: str(count) for namespace, count in counted.items()}


def test_tags_are_as_many_and_as_often_annotated_as_git_says(run: Run) -> None:
    kinds = lines(run.team, "for-each-ref", "--format=%(objecttype)", "refs/tags")
    assert run.told("tags-frame", r"(\d+) tags, (\d+) of them annotated") == [len(kinds), kinds.count("tag")]


def test_tags_fall_into_the_quarters_in_which_git_logged_them(run: Run) -> None:
    annotated = set(lines(run.team, "for-each-ref", "--format=%(if:equals=tag)%(objecttype)%(then)%(refname)%(end)"))
    counted: dict[str, list[int]] = {}
    for name in names(run.team, "refs/tags"):
        made = datetime.fromtimestamp(entries(run.team, name)[0].time, tz=UTC)
        quarter = f"{made.year}-{(made.month - 1) // 3 * 3 + 1:02}-01"
        counted.setdefault(quarter, [0, 0])[name not in annotated] += 1
    rows = re.findall(r"│ (\S+) 00:00:00 UTC ┆ (\d+)\s+┆ (\d+)\s+│", run.text("tags-frame"))
    assert [(day, [int(a), int(b)]) for day, a, b in rows] == sorted(counted.items())[-5:]


def test_stale_branches_are_those_whose_last_entry_in_gits_reflog_is_old(run: Run) -> None:
    branches, has_log = names(run.team, "refs/heads"), set(logged(run.team))
    moved = {name: entries(run.team, name)[-1].time for name in branches if name in has_log}
    stale = sorted((time, name) for name, time in moved.items() if TODAY - time >= 180 * 86400)
    assert run.told("stale-frame", r"(\d+) of (\d+) branches") == [len(stale), len(branches)]
    assert run.told("stale-frame", r"(\d+) have no reflog") == [len(branches) - len(moved)]
    assert re.findall(r"│ (refs/heads/\S+)", run.text("stale-frame")) == [name for _, name in stale[:10]]


def test_pushes_are_those_in_gits_reflogs_at_the_hours_of_each_authors_day(run: Run) -> None:
    pattern = r"│ (\S.*?)\s+┆ ([+-]\d{4}) ┆ (\d+)\s+┆ (\d+)\s+┆ (\d+)\s+│"
    told = {(who, tz): tuple(map(int, rest)) for who, tz, *rest in re.findall(pattern, run.text("pushes-frame"))}
    hours: dict[tuple[str, str], list[int]] = {}
    for name in set(logged(run.team)) - {"HEAD"}:
        for who, time, tz in entries(run.team, name):
            zone = datetime.strptime(tz, "%z").tzinfo
            hours.setdefault((who, tz), []).append(datetime.fromtimestamp(time, tz=zone).hour)
    assert told == {author: (len(all_), min(all_), max(all_)) for author, all_ in hours.items()}


def test_a_table_holds_as_many_records_as_git_lists_refs_and_reflogs(run: Run) -> None:
    # HEAD is a record, too. The commits that follow set refs that were there, each with one entry.
    assert run.told("layout-frame", r"([\d,]+) ref records") == [len(["HEAD", *names(run.twin)])]
    assert run.told("layout-frame", r"([\d,]+) log records") == [len(logged(run.twin))]


def test_a_stack_has_as_many_tables_as_git_keeps(run: Run) -> None:
    tables = (run.twin / "reftable/tables.list").read_text().splitlines()
    assert run.told("stack-frame", r"(\d+) tables after (\d+) commits") == [len(tables), 60]
