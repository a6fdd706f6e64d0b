"""Many repositories: finding them, and reading them as one frame."""

from __future__ import annotations

import os

from refspan._native import RepositoryIterator, Scan

# Whoever imports refspan does not pay for what only these functions need.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike
    from typing import Literal

    from refspan.progress import Progress


def discover(root: str | PathLike[str]) -> Iterator[str]:
    """The paths of the repositories at and below `root`, in order of the names.

    A repository is a folder with `.git`, or one with `objects/`, `refs/`, and `HEAD` or `config`: damaged ones are
    found too, for `scan` to tell of. Work trees are searched for submodules and other repositories in them; git
    directories are not, and symbolic links to folders are not followed. A linked worktree is left out if its
    repository lies below `root`, too.

    A folder that cannot be listed is a `UserWarning`, and the search goes on. Raises `OSError` if `root` cannot.
    """
    found = RepositoryIterator(os.fspath(root))
    return _found(found)


def _found(found: RepositoryIterator) -> Iterator[str]:
    import warnings

    while True:
        try:
            yield next(found)
        except StopIteration:
            return
        except OSError as error:
            warnings.warn(f"not searched for repositories: {error}", UserWarning, stacklevel=2)


def scan(
    paths_or_glob: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    what: Literal["refs", "reflogs", "repositories"] = "refs",
    fields: Iterable[str] | None = None,
    prefix: str | bytes | None = None,
    glob: str | bytes | None = None,
    oid: Literal["hex", "raw"] = "hex",
    batch_rows: int = 65536,
    workers: int | None = None,
    on_error: Literal["raise", "record"] = "raise",
    progress: Progress | None = None,
) -> Scan:
    """One frame for many repositories, read by threads: what pyarrow, polars, pandas, duckdb and nanoarrow take.

    `paths_or_glob`: paths of repositories (of work trees, git directories or `.git` files; not of folders in them),
    such as `discover` finds; or one, in which `*`, `?`, `[...]` and `**` are wildcards if there is nothing of that
    name. Repositories come in that order, their rows together and in order.

    `what`:

    - "refs": `repository`, `name`, `oid`, `peeled`, `target`, `error`; `kind`, `update_index`, `namespace`, `broken`,
      `name_bytes` if `fields` names them. See `RefStore.columns`.
    - "reflogs": `repository`, `ref`, `old`, `new`, `committer_name`, `committer_email`, `time`, `tz`, `message`,
      `index`, `error`; `update_index`, `namespace`, `ref_bytes`. See `LogNames.columns`.
    - "repositories": one row each: `repository`, `format` ("files", "reftable"), `hash`, `head` (an object id, or
      `ref:` and a name), `refs` (how many), `error`.

    `fields`, `prefix`, `glob`, `oid`, `batch_rows`: as for `RefStore.columns`. `workers`: how many threads; as many as
    there are processors by default. `on_error`: "raise" ends the stream with the first repository that cannot be read;
    "record" makes it a row with `error`, behind the rows that could be read. `progress(done, total, "repositories")`
    is called about ten times a second at the most, and in the end, by the thread that reads the stream; what it raises
    ends the stream.

    Each stream reads the repositories anew. A batch holds no file open and maps none. Raises `ValueError` for an
    unknown word or field, and `FileNotFoundError` for a pattern that matches nothing.
    """
    return Scan(
        _paths(paths_or_glob),
        what=what,
        fields=fields,
        prefix=prefix,
        glob=glob,
        oid=oid,
        batch_rows=batch_rows,
        workers=workers,
        on_error=on_error,
        progress=progress,
    )


def _paths(paths_or_glob: str | PathLike[str] | Iterable[str | PathLike[str]]) -> list[str]:
    if not isinstance(paths_or_glob, (str, os.PathLike)):
        return [os.fspath(path) for path in paths_or_glob]
    import glob

    pattern = os.fspath(paths_or_glob)
    if os.path.lexists(pattern) or not glob.has_magic(pattern):
        return [pattern]
    paths = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - a pattern may be absolute
    if not paths:
        raise FileNotFoundError(f"no path matches {pattern!r}")
    return paths
