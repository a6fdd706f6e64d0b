"""The recipe for fleets beyond one machine, run on a cluster of two processes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from store_support import build

pytest.importorskip("distributed")
pa = pytest.importorskip("pyarrow")
dataset = pytest.importorskip("pyarrow.dataset")

RECIPE = Path(__file__).parents[1] / "examples" / "fleet_dask.py"


def test_the_data_set_has_the_refs_of_every_repository_and_a_row_for_the_damaged_one(tmp_path: Path) -> None:
    told = set()
    for number in range(7):
        repo = build(tmp_path / f"fleet/{number}.git", "reftable" if number % 2 else "files", "sha1", bare=True)
        repo.create(*(f"refs/heads/b{i}" for i in range(number)))
        lines = repo.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        told |= {(str(repo.path), *line.split()) for line in lines}
    damaged = build(tmp_path / "fleet/damaged.git", "files", "sha1", bare=True)
    (damaged.gitdir / "packed-refs").write_text("garbage\n")
    out = tmp_path / "dataset"
    command = [sys.executable, str(RECIPE), str(tmp_path / "fleet"), str(out), "--per-task", "3"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert re.search(r"^8/8 repositories, \d+ rows, 1 errors$", printed, re.MULTILINE)
    assert len(list(out.glob("*.parquet"))) == 3
    assert not list(out.glob("*.partial"))
    rows = dataset.dataset(out).to_table().to_pylist()
    assert {(row["repository"], row["name"], row["oid"]) for row in rows if row["error"] is None} == told
    (error,) = [row for row in rows if row["error"] is not None]
    assert error["repository"] == str(damaged.path)
    assert "packed-refs" in error["error"]
