"""What the races share: a git that writes on and on, and two processes that read meanwhile."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from support import git


def chain_of_commits(repo: Path, count: int) -> list[str]:
    """The ids of as many commits."""
    stream = "".join(f"commit refs/heads/x\nmark :{i}\ncommitter C <c@e> {i} +0000\ndata 0\n" for i in range(1, count))
    git("fast-import", "--quiet", "--export-marks=marks", cwd=repo, stdin=stream.encode())
    git("update-ref", "-d", "refs/heads/x", cwd=repo)
    return [line.split()[1] for line in (repo / "marks").read_text().splitlines()]


def read_beside(code: str, *args: str, write: Callable[[int], None]) -> tuple[list[str], int]:
    """What two processes that run `code` print, none of which may fail, and how many turns were written meanwhile."""
    command = [sys.executable, "-c", code, *args]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    written = 0
    try:
        while any(reader.poll() is None for reader in readers):
            write(written)
            written += 1
    finally:
        results = [(*reader.communicate(timeout=60), reader.returncode) for reader in readers]
    assert [(code, errors) for _, errors, code in results] == [(0, "")] * 2
    return [out for out, _, _ in results], written
