"""`export`: refs, reflog entries or changes as a file that other programs read."""

from __future__ import annotations

import argparse


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    export = commands.add_parser(
        "export",
        help="write refs, reflog entries or changes as Parquet, Arrow, csv or ndjson",
        description="""
            Write the refs of REPO, the entries of its reflogs, newest first, or what makes its refs those of OTHER, in
            the columns that a frame of them has. FILE appears whole or not at all. In csv, lines end in LF, null is
            empty, and empty text is "". Text that is not UTF-8 is null in Parquet and Arrow, its bytes
            unchanged in csv, and with escapes of lone surrogates in ndjson.
            Times are ISO 8601 in csv and ndjson; there and in Parquet those
            beyond the year 9999 are null. Parquet and Arrow need `pip install 'refspan[analytics]'`, and a progress bar
            `refspan[cli]`.""",
    )
    export.add_argument(
        "repo", metavar="REPO", help="a repository, a packed-refs file, a table or a reftable directory"
    )
    export.add_argument("other", metavar="OTHER", nargs="?", help="the same, for --what diff")
    export.add_argument("--what", choices=["refs", "reflogs", "diff"], default="refs", help="by default refs")
    export.add_argument("--format", choices=["parquet", "arrow", "csv", "ndjson"], required=True)
    export.add_argument("-o", dest="file", metavar="FILE", default="-", help="by default -, which is stdout")
    export.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    export.set_defaults(run=_export, refuse=export.error)


def _export(args: argparse.Namespace) -> int:
    from refspan.cli.exporting import run

    return run(args)
