"""What `import refspan` costs."""

from __future__ import annotations

import subprocess
import sys

# Not needed to read refs: each takes longer to import than refspan itself.
OTHERS = {"argparse", "glob", "html", "json", "re", "typing"}
OTHERS |= {"duckdb", "nanoarrow", "numpy", "pandas", "polars", "pyarrow"}


def imported(statement: str) -> set[str]:
    """The modules that it imports."""
    script = f"import sys; before = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - before))"
    # -I and -S: what this machine's site-packages import by themselves is not ours.
    path = f"import sys; sys.path[:] = {sys.path!r}; "
    done = subprocess.run([sys.executable, "-I", "-S", "-c", path + script], stdout=subprocess.PIPE, check=True)
    return set(done.stdout.decode().split())


def test_importing_refspan_imports_little_else() -> None:
    modules = imported("import refspan")
    assert "refspan._native" in modules
    assert modules & OTHERS == set()


def test_a_command_does_not_wait_for_what_only_others_need() -> None:
    modules = imported("import refspan.cli")
    assert "refspan.cli.export" in modules
    assert modules & {"dataclasses", "html", "inspect", "secrets", "refspan.cli.exporting", "refspan.stats"} == set()
