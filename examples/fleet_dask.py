"""Read the refs of a fleet with Dask, on this machine or on a cluster, into a Parquet data set.

    pip install 'refspan[fleet]'
    python examples/fleet_dask.py ROOT DATASET [--what refs] [--scheduler tcp://host:8786] [--per-task 500]

One machine needs no Dask: `refspan.scan` uses all its processors. Beyond one, each task scans some repositories with
`refspan.scan` where it runs, and writes one Parquet file of the data set; only counts travel. All workers must see the
repositories and the data set under the same paths. A repository that cannot be read is a row with `error`.

The data set is for polars, duckdb, pyarrow.dataset or `dask.dataframe.read_parquet`:

    duckdb.sql("select repository, count(*) from 'DATASET/*.parquet' group by 1 order by 2 desc")
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import refspan
from distributed import Client, as_completed

What = Literal["refs", "reflogs", "repositories"]


class Done(NamedTuple):
    """What a task has written."""

    repositories: int
    rows: int
    errors: int


def scan_part(paths: Sequence[str], file: str, what: What) -> Done:
    """Scan some repositories into one Parquet file. It appears whole: a task that is run again replaces it."""
    target = Path(file)
    partial = target.with_suffix(".partial")
    reader = pa.RecordBatchReader.from_stream(refspan.scan(paths, what=what, workers=1, on_error="record"))
    rows = errors = 0
    with pq.ParquetWriter(partial, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
            rows += batch.num_rows
            errors += batch.num_rows - batch.column("error").null_count
    partial.replace(target)
    return Done(len(paths), rows, errors)


def scan_fleet(client: Client, paths: Sequence[str], dataset: Path, what: What, per_task: int) -> Iterator[Done]:
    """Scan a fleet, `per_task` repositories a task, and tell of each task as it ends."""
    dataset.mkdir(parents=True)
    parts = [paths[start : start + per_task] for start in range(0, len(paths), per_task)]
    files = [str(dataset / f"part-{number:05}.parquet") for number in range(len(parts))]
    # A part is the same whenever it is read: a task whose worker was lost is simply run again.
    tasks = client.map(scan_part, parts, files, [what] * len(parts), pure=False)
    for _, done in as_completed(tasks, with_results=True):
        yield done


def main() -> None:
    """Scan all repositories below a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", help="where the repositories are")
    parser.add_argument("dataset", type=Path, help="the folder to make")
    parser.add_argument("--what", choices=["refs", "reflogs", "repositories"], default="refs")
    parser.add_argument("--scheduler", help="the address of a Dask scheduler; without it a cluster on this machine")
    parser.add_argument("--per-task", type=int, default=500, metavar="N", help="repositories a task")
    args = parser.parse_args()
    paths = list(refspan.discover(args.root))
    repositories = rows = errors = 0
    with Client(args.scheduler) as client:
        for done in scan_fleet(client, paths, args.dataset, args.what, args.per_task):
            repositories, rows, errors = repositories + done.repositories, rows + done.rows, errors + done.errors
            print(f"{repositories}/{len(paths)} repositories, {rows} rows, {errors} errors", flush=True)


if __name__ == "__main__":
    main()
