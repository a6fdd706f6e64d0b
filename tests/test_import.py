"""What `import refspan` costs."""

from __future__ import annotations

import subprocess
import sys

# Not needed to read refs: each takes longer to import than refspan itself.
OTHERS = {"argparse", "glob", "html", "json", "re", "typing"}
OTHERS |= {"duckdb", "nanoarrow", "numpy", "pandas", "polars", "pyarrow"}


def test_importing_refspan_imports_little_else() -> None:
    script = "import sys; before = set(sys.modules); import refspan; print(*sorted(set(sys.modules) - before))"
    # -I and -S: what this machine's site-packages import by themselves is not ours.
    path = f"import sys; sys.path[:] = {sys.path!r}; "
    done = subprocess.run([sys.executable, "-I", "-S", "-c", path + script], stdout=subprocess.PIPE, check=True)
    imported = set(done.stdout.decode().split())
    assert "refspan._native" in imported
    assert imported & OTHERS == set()
