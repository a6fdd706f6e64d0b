"""The repository, or other refs, that a command works on."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TypeAlias

import refspan
from refspan import PackedRefs, RefStore, Reftable, ReftableStack

Refs: TypeAlias = RefStore | PackedRefs | Reftable | ReftableStack


def open_repository(args: argparse.Namespace) -> RefStore:
    """As in git: the one that the environment names, or the one that the directory of `-C` lies in."""
    if args.directory:
        os.chdir(Path(*args.directory))
    return refspan.open()


def open_refs(path: Path) -> Refs:
    """What lies at the path: a table, a stack or packed-refs if it looks like one, else a repository."""
    if path.is_file() and path.name != ".git":
        with path.open("rb") as file:
            is_table = file.read(4) == b"REFT"
        return Reftable(path) if is_table else PackedRefs(path)
    return ReftableStack(path) if (path / "tables.list").is_file() else refspan.open(path)
