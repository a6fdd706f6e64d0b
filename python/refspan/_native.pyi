"""refspan's compiled core. Import from `refspan`, not from here."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from os import PathLike
from typing import Any, ClassVar, Literal, TypeVar, final

from typing_extensions import Buffer, disjoint_base

__all__ = [
    "BlockInfo",
    "LogEntry",
    "PackedRefs",
    "RefReader",
    "RefView",
    "Reftable",
    "ReftableStack",
    "__version__",
    "show_logs",
    "show_ref",
]

__version__: str

_T = TypeVar("_T")

def show_ref(reader: RefReader, write: Callable[[bytes], object], report: Callable[[str, str], object]) -> None:
    """Give `write` the refs of `reader` as the text of `git show-ref -d`, piece by piece, and `report` each broken one.

    A packed-refs file: all its refs; duplicates are in the text too, as in git's, badly named refs and zero object ids
    are only reported. A stack: what lies below `refs/`, symbolic refs by what they resolve to. A single table: every
    record, as it is. Raises `CorruptError` behind everything that could be read. O(n); Ctrl-C works between pieces.
    """

def show_logs(reader: RefReader, write: Callable[[bytes], object]) -> None:
    """Give `write` the reflog entries of `reader` as lines of a files reflog, each with its refname in front.

    A packed-refs file has none. Raises `CorruptError` behind everything that could be read. O(n).
    """

@disjoint_base
class RefReader:
    """What `PackedRefs`, `Reftable` and `ReftableStack` have in common; not to be made on its own.

    Iterating yields a `RefView` for each ref, in byte order of the names. The truth of a reader is whether it holds
    any; its length is counted at the first `len()`, which reads all refs, and kept. Readers are immutable (but for
    `ReftableStack.reload`) and may be shared between threads.
    """

    @property
    def path(self) -> str:
        """The path as it was given."""

    @property
    def hash(self) -> Literal["sha1", "sha256"] | None:
        """The hash of the object ids; None if nothing shows it and the caller did not say."""

    def __len__(self) -> int:
        """The number of refs, broken ones included. The first call reads and checks them all: O(n)."""

    def __bool__(self) -> bool:
        """Whether there is any ref. O(1), but for tombstones."""

    def __iter__(self) -> Iterator[RefView]:
        """All refs in byte order of their names, each checked as it is read. Same as `refs()`.

        The iterator may be shared between threads: each ref goes to one of them. It allocates nothing per ref in a
        loop that lets go of each ref before the next but one.
        """

    def __contains__(self, name: str | Buffer | RefView, /) -> bool:
        """Whether a ref has exactly that name. Raises as `[]` does, but for a missing name. O(log n)."""

    def __getitem__(self, name: str | Buffer | RefView, /) -> RefView:
        """The ref of exactly that name, ill-formed ones too.

        Raises `RefNotFoundError` (a `KeyError`) if there is none; `CorruptError` if what is read on the way is
        damaged, if the name stands in more than one line, or if the file is known to be out of order. O(log n).
        """

    def get(self, name: str | Buffer | RefView, default: _T | None = None) -> RefView | _T | None:
        """The ref of exactly that name, or `default`. Raises as `[]` does, but for a missing name. O(log n)."""

    def refs(
        self,
        prefix: str | Buffer | RefView | None = None,
        *,
        start_after: str | Buffer | RefView | None = None,
        exclude: Iterable[str | Buffer | RefView] = (),
    ) -> Iterator[RefView]:
        """The refs whose names start with `prefix` (plain bytes, unrelated to slashes), in order.

        `start_after`: only names that sort after this one, whether it exists or not. `exclude`: leave out these refs
        and what lies below them (`refs/pull` leaves out `refs/pull` and `refs/pull/…`, not `refs/pullover`; with a
        trailing slash only what lies below; an empty one nothing). Names, not patterns: `*`, `?`, `[` and `\\` raise
        `RefNameError`.

        Each limit is a seek of O(log n), or of the number of blocks in a table without index; what it leaves out is
        not read, hence not checked. Raises `CorruptError` for damage on the way there or, from the iterator, in
        a ref that it reaches.
        """

    def names(self, prefix: str | Buffer | RefView | None = None) -> Iterator[memoryview]:
        """The names alone, as read-only views; otherwise as `refs(prefix)`."""

    def records(self, prefix: str | Buffer | RefView | None = None) -> Iterator[memoryview]:
        """The whole records as they lie on disk; otherwise as `refs(prefix)`.

        In packed-refs with `^` line and LF; in a table with the name shortened by what it shares with the one before.
        """

    def points_at(self, oid: str | Buffer) -> Iterator[RefView]:
        """The refs whose object id, or whose peeled object id, is `oid`, in order.

        `oid` is hex text or hex bytes (40 or 64 digits, of either case) or raw bytes (20 or 32); one of another hash
        matches nothing. Raises `InvalidValueError` if it is none, and `CorruptError` only for damage in what is read.

        In packed-refs a search over the bytes of the file, at about the speed of memory. In tables by their object
        index, else by reading all refs; each hit is looked up again in the newer tables of a stack.
        """

    def is_stale(self) -> bool:
        """Whether `path` now leads to something else, to this changed, or nowhere. One `stat`; nothing is reloaded.

        Compares device, inode, size, and both times as finely as the file system keeps them, so that it sees what
        git's own check misses.
        """

    def check(self) -> None:
        """Read everything once, blocks of all kinds; raise `CorruptError` for the first damage or name out of order.

        Refs that are only broken pass: `RefView.broken` tells of each. O(n); Ctrl-C works.
        """

@final
class PackedRefs(RefReader):
    """A git `packed-refs` file as it was when it was opened: an immutable snapshot, safe to share between threads.

    Files over 32 KiB are mapped: opening one is O(1) if its header claims `sorted`, and every field of every ref is a
    view into the map. A file without `sorted` is read whole when it is opened and, if its refs are out of order, seen
    through a sorted copy. Views stay valid for as long as they are held, also after the reader is gone and the file
    was replaced (git replaces its files by rename). A program that *truncates* the file in place can crash the process
    that has it mapped (SIGBUS); pass `mmap=False` where such programs are about.

    What cannot be trusted raises `CorruptError` as soon as it is read: a line that is no record, a last line without
    LF, a header that is none, names out of order under a header that claims `sorted`. What is merely unusable is
    listed as it lies, with `RefView.broken` set. Once a read has found a false `sorted`, look-ups raise too.
    """

    def __new__(
        cls,
        path: str | PathLike[str],
        *,
        hash: Literal["sha1", "sha256"] | None = None,
        mmap: bool = True,
    ) -> PackedRefs:
        """Open the packed-refs file at `path`.

        `hash` says which object ids it holds; by default the width of the first one tells. `mmap=False` copies the
        file into memory instead of mapping it.

        Raises `FileNotFoundError`, `IsADirectoryError`, `PermissionError` or another `OSError` with `errno` and
        `filename` if the file cannot be read or is not a regular one; `CorruptError` for damage in the first or last
        line, or, without `sorted`, anywhere; `ValueError` for an unknown hash. An empty file is an empty reader.
        O(1) for a sorted file, else O(n) (O(n log n) if its refs must be sorted); Ctrl-C works.
        """

    @property
    def traits(self) -> frozenset[str]:
        """What the header claims: any of `peeled`, `fully-peeled` and `sorted`. Unknown traits promise nothing."""

@final
class Reftable(RefReader):
    """One table of a reftable stack, as it is: its tombstones are refs too, of kind "deletion".

    Names are prefix-compressed on disk, so each block's names are decoded once, and `RefView.name` is a view of those;
    object ids and targets are views into the file, which is mapped if it is over 32 KiB. Git never changes a table.

    Only the footer has a checksum. Everything else is checked as it is read, and raises `CorruptError` with the offset
    of the damaged block and no line.
    """

    def __new__(
        cls,
        path: str | PathLike[str],
        *,
        hash: Literal["sha1", "sha256"] | None = None,
        mmap: bool = True,
    ) -> Reftable:
        """Open the table at `path`; reads its header and footer. O(1).

        `hash` says which object ids it must hold. `mmap=False` copies the file into memory instead of mapping it.

        Raises `OSError` as `PackedRefs` does; `CorruptError` for a damaged header or footer, or another hash.
        """

    @property
    def version(self) -> int:
        """The version of the format: 1, or 2, which names its hash."""

    @property
    def block_size(self) -> int:
        """The size in bytes that blocks are padded to; 0 means that they are not."""

    @property
    def min_update_index(self) -> int:
        """The smallest update index of its refs: the number of the first transaction in it."""

    @property
    def max_update_index(self) -> int:
        """The greatest update index in it: the number of the last transaction."""

    def blocks(self) -> list[BlockInfo]:
        """Every block in file order. Reads and checks them all: O(size); Ctrl-C works."""

    def logs(self, prefix: str | Buffer | RefView | None = None) -> Iterator[LogEntry]:
        """The reflog entries of the refs whose names start with `prefix`, newest first within a ref.

        As they are: tombstones have kind "deletion", and a log that merely exists has an entry of zero object ids.
        """

@final
class ReftableStack(RefReader):
    """The tables of a `reftable` directory, merged: the newest one wins, and what was deleted is not there.

    A reader shows the stack as it stood when it was opened, whatever git writes and compacts meanwhile: the tables
    stay open. `is_stale()` tells of changes, `reload()` takes them over. A stack that is damaged raises
    `CorruptError`; it is never taken for an empty one.
    """

    def __new__(
        cls,
        path: str | PathLike[str],
        *,
        hash: Literal["sha1", "sha256"] | None = None,
        mmap: bool = True,
    ) -> ReftableStack:
        """Open the stack in the directory `path`, whose `tables.list` names the tables.

        A table that git compacts away meanwhile makes it read the list again, for up to three seconds. `hash` and
        `mmap` are as for `Reftable`. A directory without list and tables is an empty stack.

        Raises `OSError` as `PackedRefs` does; `CorruptError` for a damaged list (with the line) or table, or one that
        stays missing. O(number of tables); Ctrl-C works.
        """

    @property
    def tables(self) -> tuple[Reftable, ...]:
        """The tables, oldest first."""

    @property
    def min_update_index(self) -> int | None:
        """The smallest update index of any table; None without tables."""

    @property
    def max_update_index(self) -> int | None:
        """The greatest update index of any table; None without tables."""

    def logs(self, prefix: str | Buffer | RefView | None = None) -> Iterator[LogEntry]:
        """The reflog entries of the refs whose names start with `prefix`, newest first within a ref."""

    def reload(self) -> bool:
        """Take over the stack as it stands now, if it has changed; returns whether it had.

        Iterators and views go on with what they have. Raises as opening does, and then keeps the old state.
        """

@final
class LogEntry:
    """One entry of a reflog. Entries are equal if all their fields are."""

    @property
    def ref(self) -> str:
        """The name of the ref, as `RefView.refname`."""

    @property
    def kind(self) -> Literal["update", "deletion"]:
        """ "deletion" for the tombstone of an entry in an older table, whose other fields are then None."""

    @property
    def update_index(self) -> int:
        """The number of the transaction that wrote it."""

    @property
    def old(self) -> str | None:
        """The object id before, as lower-case hex; zeros if the ref was created."""

    @property
    def new(self) -> str | None:
        """The object id after, as lower-case hex; zeros if the ref was deleted."""

    @property
    def committer_name(self) -> str | None:
        """Who did it: UTF-8, other bytes as lone surrogates."""

    @property
    def committer_email(self) -> str | None:
        """Their address, without angle brackets."""

    @property
    def time(self) -> int | None:
        """When, in seconds since 1970."""

    @property
    def tz(self) -> str | None:
        """Their time zone as git writes it, such as "+0530"."""

    @property
    def when(self) -> datetime | None:
        """`time` in that zone. Raises `ValueError` or `OverflowError` where Python has no such date or zone."""

    @property
    def message(self) -> str | None:
        """What was done, without the final LF."""

@final
class BlockInfo:
    """Where a block of a table lies, and what it holds."""

    @property
    def kind(self) -> Literal["ref", "index", "obj", "log"]:
        """What its records are."""

    @property
    def offset(self) -> int:
        """Its first byte in the file. The first block starts at 0: it counts the file's header in."""

    @property
    def length(self) -> int:
        """Its bytes in the file without padding; of a log block, deflated."""

    @property
    def records(self) -> int:
        """How many records it holds."""

    @property
    def restarts(self) -> int:
        """How many of them are stored with their whole name."""

@final
class RefView:
    """One ref as it lies on disk. Readers make them; `name, oid, peeled = ref` unpacks into views.

    Fields are made when asked for. Those that are memoryviews are read-only, one-dimensional views of bytes into the
    file (of a table's name into its block, decoded): no copy is made, they hash and compare like the equal `bytes`, and
    each keeps the file open while it is held (`bytes(view)` copies). `memoryview(ref)` is the whole record. Equal only
    to itself.
    """

    __match_args__: ClassVar[tuple[str, str, str]] = ("name", "oid", "peeled")

    @property
    def name(self) -> memoryview:
        """The full name, as it lies on disk; git requires no encoding."""

    # None where the docstring says so. Any instead, so that who knows that it is not need not tell the type checker.
    @property
    def oid(self) -> memoryview | Any:
        """The object id as stored: in packed-refs 40 or 64 hex digits, of whatever case the file has; in a table 20 or
        32 raw bytes. None if the ref is symbolic or a tombstone.
        """

    @property
    def peeled(self) -> memoryview | None:
        """What an annotated tag points at in the end, stored as `oid` is; None if the file does not say."""

    @property
    def target(self) -> memoryview | None:
        """The name that a symbolic ref points at; None for others, hence always in packed-refs."""

    @property
    def refname(self) -> str:
        """The name as text: UTF-8, other bytes as lone surrogates (`surrogateescape`), whatever the locale."""

    @property
    def hex(self) -> str | Any:
        """The object id as lower-case hex digits; None if there is none."""

    @property
    def peeled_hex(self) -> str | None:
        """The peeled object id as lower-case hex digits; None if the file does not say."""

    @property
    def kind(self) -> Literal["oid", "symref", "deletion"]:
        """What the record holds. Always "oid" in packed-refs; "deletion" only in a single table."""

    @property
    def peel_known(self) -> bool:
        """Whether `peeled is None` means that the object is no annotated tag.

        In packed-refs true where a `^` line stands, under `fully-peeled`, and below `refs/tags/` under `peeled`; in a
        table where there is a peeled value.
        """

    @property
    def update_index(self) -> int | None:
        """The number of the transaction that wrote the record; None in packed-refs."""

    @property
    def broken(self) -> Literal["duplicate", "unsafe name", "bad name", "zero oid", "bad target"] | None:
        """Why the ref cannot be used, the first that holds; None if it can.

        "duplicate": the name stands in more than one line. "unsafe name": `git check-ref-format --allow-onelevel`
        refuses it, and no path may be built from it. "bad name": refused too, but harmless as a path. "zero oid".
        "bad target": a symbolic ref to what cannot be a refname.
        """

    # `peeled` may be None, but no type says which of the three: Any lets each be used as what it is.
    def __iter__(self) -> Iterator[memoryview | Any]:
        """`name`, `oid` and `peeled`, for unpacking."""

    def __buffer__(self, flags: int, /) -> memoryview:
        """The whole record as it lies on disk."""
