"""The repository that a command works on."""

from __future__ import annotations

import argparse
from pathlib import Path

import refspan


def open_repository(args: argparse.Namespace) -> refspan.RefStore:
    """The repository in the directory that `-C` names, or, as in git, the one that the environment does."""
    directory = Path(*args.directory) if args.directory else None
    return refspan.open(directory)
