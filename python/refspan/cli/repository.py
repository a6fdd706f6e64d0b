"""The repository that a command works on."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import refspan


def open_repository(args: argparse.Namespace) -> refspan.RefStore:
    """As in git: the one that the environment names, or the one that the directory of `-C` lies in."""
    if args.directory:
        os.chdir(Path(*args.directory))
    return refspan.open()
