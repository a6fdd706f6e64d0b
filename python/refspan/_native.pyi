"""refspan's compiled core. Import from `refspan`, not from here."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from os import PathLike
from typing import Any, ClassVar, Literal, Self, TypeAlias, TypeVar, final, overload

from typing_extensions import Buffer, disjoint_base

__all__ = [
    "ANY",
    "AnyValue",
    "BlockInfo",
    "Change",
    "ChangeIterator",
    "Columns",
    "Edit",
    "Frame",
    "LogEntry",
    "LogIterator",
    "LogNames",
    "PackedRefs",
    "Plan",
    "Ref",
    "RefReader",
    "RefStore",
    "RefView",
    "ReflogIterator",
    "Reftable",
    "ReftableStack",
    "RepositoryIterator",
    "Scan",
    "Snapshot",
    "StoreReader",
    "Symref",
    "TableLayout",
    "Transaction",
    "__version__",
    "abort_all",
    "diff",
    "is_below_a_file",
    "is_well_formed",
    "list_refs",
    "listed_peel",
    "open",
    "refs_dirs",
    "show_logs",
    "show_ref",
    "storage",
]

__version__: str

_T = TypeVar("_T")
# A refname, wherever one is taken.
_Name: TypeAlias = str | Buffer | RefView | Ref
# An object id: hex text, hex or raw bytes, or the direct ref that holds it.
_Oid: TypeAlias = str | Buffer | Ref
# What a ref must hold before an edit; None is nothing.
_Old: TypeAlias = AnyValue | _Oid | None
# What can be compared.
_Refs: TypeAlias = StoreReader | RefReader

def show_ref(reader: RefReader, write: Callable[[bytes], object], report: Callable[[str, str], object]) -> None:
    """Give `write` the refs of `reader` as the text of `git show-ref -d`, piece by piece, and `report` each broken
    one.

    A packed-refs file: all its refs; duplicates are in the text too, as in git's, badly named refs and zero object ids
    are only reported. A stack: what lies below `refs/`, symbolic refs by what they resolve to. A single table: every
    record, as it is. Raises `CorruptError` behind everything that could be read. O(n); Ctrl-C works between pieces.
    """

def is_below_a_file(store: StoreReader, name: _Name) -> bool:
    """Whether looking for a loose ref of that name ends at a file where a directory should be."""

def listed_peel(found: Ref) -> str | None:
    """What an annotated tag points at in the end as `git show-ref -d` has it, and a frame; as lower-case hex.

    Unlike `Ref.peeled` it believes what packed-refs claims, and asks the objects only where that claims nothing, and
    for loose refs.
    """

def storage(found: Ref) -> Literal["loose", "packed", "table"]:
    """Where a ref was read from."""

def refs_dirs(store: StoreReader) -> tuple[str, str]:
    """The directories where a worktree's own refs are, and where those of all are."""

def is_well_formed(name: _Name) -> bool:
    """Whether `git check-ref-format --allow-onelevel` accepts the name."""

def list_refs(
    store: StoreReader,
    write: Callable[[bytes], object],
    *,
    names: Iterable[_Name] | None = None,
    prefixes: Iterable[_Name] = ...,
    patterns: Iterable[_Name] = ...,
    head: bool = False,
    dereference: bool = False,
    hash_only: bool = False,
    abbrev: int | None = None,
    quiet: bool = False,
) -> tuple[int, str | None]:
    """Give `write` the lines of `git show-ref`, piece by piece. Returns how many refs were shown, and what git dies
    of.

    `names`: these refs, as `--verify` shows them. Else `head`: `HEAD` first; then the refs below each of `prefixes`
    that end in one of `patterns`. `abbrev`: so many digits of an object id at least, 0 for as many as git takes by
    itself.
    """

def show_logs(reader: RefReader, write: Callable[[bytes], object]) -> None:
    """Give `write` the reflog entries of `reader` as lines of a files reflog, each with its refname in front.

    A packed-refs file has none. Raises `CorruptError` behind everything that could be read. O(n).
    """

@disjoint_base
class Frame:
    """Rows that are Arrow columns too, for pyarrow, polars, pandas, duckdb and nanoarrow; not to be made on its own.

    All rows, whatever an iterator has yielded before. Read anew for each stream: of a `RefStore`, or a reflog of one,
    what is there then; of everything else what was there when it was opened.
    """

    def columns(
        self,
        fields: Iterable[str] | None = None,
        *,
        prefix: _Name | None = None,
        glob: _Name | None = None,
        oid: Literal["hex", "raw"] = "hex",
        batch_rows: int = 65536,
    ) -> Columns:
        """The rows as Arrow columns: what `__arrow_c_stream__` gives, chosen.

        `fields`: which columns, in that order; without it the usual ones. `prefix`: only refs whose names start with
        it, a seek. `glob`: only refs that `git for-each-ref <glob>` shows. `oid`: hex text or raw bytes. `batch_rows`:
        how many rows a batch has at the most.

        Refs: `name`, `oid`, `peeled`, `target`; on request `kind` ("oid", "symref", "deletion"), `update_index` (of
        tables), `namespace` ("refs/heads"; null for names of fewer than three parts), `broken` (why a ref cannot be
        used), `name_bytes`, `repository` (the path of the git directory or file). `peeled` is as `git show-ref -d` has
        it: what packed-refs claims to have peeled is believed; where it claims nothing, and for loose refs, a store
        asks its objects.

        Reflog entries: `ref`, `old`, `new`, `committer_name`, `committer_email`, `time` (timestamp in seconds, UTC),
        `tz` ("+0530"), `message`, `index` (how many entries of that ref are newer: n in `ref@{n}`); on request
        `update_index`, `namespace`, `ref_bytes`, `repository`.

        Changes: `name`, `kind` as `Change.kind`, `before`, `after` (an object id in hex, `ref:` and a target, or, of a
        reflog, its first entry that differs as a line of a files reflog); on request `namespace`, `name_bytes`.
        Blocks: `kind`, `offset`, `length`, `records`, `restarts`, as in `BlockInfo`.

        Text that is not UTF-8 is null, and counted in a `UserWarning` when the stream ends; `name_bytes` and
        `ref_bytes` (binary) have every name. Names and hex ids of packed-refs are views into the file, which stays
        mapped as long as a consumer holds them; no row costs an allocation. Large files are read by several threads.

        `ValueError` for an unknown field. Damage that a stream comes to is an error of the consumer, with the text of
        `CorruptError`.
        """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """All rows in the usual columns: a capsule `arrow_array_stream`. See `columns`, and `Columns` for
        `requested_schema`."""

@disjoint_base
class RefReader(Frame):
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

    def __contains__(self, name: _Name, /) -> bool:
        """Whether a ref has exactly that name. Raises as `[]` does, but for a missing name. O(log n)."""

    def __getitem__(self, name: _Name, /) -> RefView:
        """The ref of exactly that name, ill-formed ones too.

        Raises `RefNotFoundError` (a `KeyError`) if there is none; `CorruptError` if what is read on the way is
        damaged, if the name stands in more than one line, or if the file is known to be out of order. O(log n).
        """

    def get(self, name: _Name, default: _T | None = None) -> RefView | _T | None:
        """The ref of exactly that name, or `default`. Raises as `[]` does, but for a missing name. O(log n)."""

    def refs(
        self,
        prefix: _Name | None = None,
        *,
        start_after: _Name | None = None,
        exclude: Iterable[_Name] = (),
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

    def names(self, prefix: _Name | None = None) -> Iterator[memoryview]:
        """The names alone, as read-only views; otherwise as `refs(prefix)`."""

    def records(self, prefix: _Name | None = None) -> Iterator[memoryview]:
        """The whole records as they lie on disk; otherwise as `refs(prefix)`.

        In packed-refs with `^` line and LF; in a table with the name shortened by what it shares with the one before.
        """

    def points_at(self, oid: str | Buffer | Ref) -> Iterator[RefView]:
        """The refs whose object id, or whose peeled object id, is `oid`, in order.

        `oid` is hex text or hex bytes (40 or 64 digits, of either case) or raw bytes (20 or 32); one of another hash
        matches nothing. Raises `InvalidValueError` if it is none, and `CorruptError` only for damage in what is read.

        In packed-refs a search over the bytes of the file, at about the speed of memory. In tables by their object
        index, else by reading all refs; each hit is looked up again in the newer tables of a stack.
        """

    def _repr_html_(self) -> str: ...
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

    def blocks(self) -> TableLayout:
        """Every block in file order. Reads and checks them all: O(size); Ctrl-C works."""

    def logs(self, prefix: _Name | None = None) -> LogIterator:
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

    def logs(self, prefix: _Name | None = None) -> LogIterator:
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
    def update_index(self) -> int | Any:
        """The number of the transaction that wrote it; None in an entry of a `RefStore` or `Snapshot`."""

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
    file (of a table's name into its block, decoded): no copy is made, they hash and compare like the equal `bytes`,
    and
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

@final
class Symref:
    """The value of a symbolic ref: the name of another ref. Equal to another one with the same target."""

    __match_args__: ClassVar[tuple[str]] = ("target",)
    def __new__(cls, target: _Name) -> Self:
        """The value of a symbolic ref to `target`. No name is refused."""

    @property
    def target(self) -> str:
        """The name it points at."""

@final
class Ref:
    """One ref of a repository, the same in both formats. Equal if name, value and `broken` are."""

    @property
    def name(self) -> str:
        """The full name: UTF-8, other bytes as lone surrogates (`surrogateescape`), whatever the locale."""

    @property
    def oid(self) -> str | None:
        """The object id as lower-case hex; None if the ref is symbolic or its content is no object id."""

    @property
    def target(self) -> str | None:
        """The name that a symbolic ref points at; None for others."""

    @property
    def peeled(self) -> str | None:
        """What an annotated tag points at in the end, as lower-case hex; None for what is no annotated tag.

        Where the storage says nothing, the object database is asked, whatever the header of packed-refs claims;
        None if
        the object cannot be read there. `CorruptError` if the database cannot be opened (alternates that lead round).
        """

    @property
    def broken(self) -> str | None:
        """Why the ref cannot be used, the first that holds; None if it can.

        "unsafe name", "bad name", "zero oid", "bad target" and "duplicate" as for `RefView.broken`; "bad content": the
        file is neither an object id nor a symbolic ref; "not a file": a socket, device or FIFO; "symlink loop".
        """

@disjoint_base
class StoreReader(Frame):
    """What `RefStore` and `Snapshot` have in common; not to be made on its own.

    Refs are those that `git for-each-ref` shows in that worktree, dangling symbolic refs and broken refs besides.
    Iterating yields those under `refs/` in byte order of their names; `[]`, `in` and `get` take any exact name: root
    refs (`HEAD`, `ORIG_HEAD`), `FETCH_HEAD` and `MERGE_HEAD` (their first object id), `worktrees/<id>/HEAD` and
    `main-worktree/HEAD` too; of a `Snapshot` the latter two are an `UnsupportedError`.
    """

    @property
    def git_dir(self) -> str:
        """The absolute path of the worktree's git directory."""

    @property
    def common_dir(self) -> str:
        """The absolute path of the git directory that all worktrees share."""

    @property
    def format(self) -> Literal["files", "reftable"]:
        """How the refs are stored: "files" or "reftable"."""

    @property
    def hash(self) -> Literal["sha1", "sha256"]:
        """The hash of the object ids."""

    def __len__(self) -> int:
        """The number of refs under `refs/`, broken ones included. O(n).

        `list(store)` asks for it first, `list(store.refs())` does not.
        """

    def __bool__(self) -> bool:
        """Whether there is any ref under `refs/`."""

    def __iter__(self) -> Iterator[Ref]:
        """The refs under `refs/`, in order: `refs()`."""

    def __contains__(self, name: _Name, /) -> bool:
        """Whether there is a ref of exactly that name."""

    def __getitem__(self, name: _Name, /) -> Ref:
        """The ref of exactly that name, symbolic refs as they are. Raises `RefNotFoundError` (a `KeyError`)."""

    def get(self, name: _Name, default: _T | None = None) -> Ref | _T | None:
        """The ref of exactly that name, or `default`."""

    def refs(
        self,
        prefix: _Name | None = None,
        *,
        glob: _Name | None = None,
        exclude: Iterable[_Name] = (),
        start_after: _Name | None = None,
        root_refs: bool = False,
    ) -> Iterator[Ref]:
        """The refs under `refs/` whose names start with `prefix` (plain bytes), in order.

        `glob`: only those that `git for-each-ref <pattern>` shows: the name itself, what lies below it, or a match of
        git's wildmatch, whose `*` stops at a slash and whose `**` does not. `exclude`: none of those that these
        patterns, of the same kind, match. `start_after`: only names that sort after this one. `root_refs`: `HEAD` and
        the other root refs too; they come first.

        Prefix, `start_after` and plain `exclude`s are seeks in packed and tabled refs; of loose refs only directories
        that can hold a match are read. Loose refs are read at the call, before packed ones are looked at, so no ref
        is missed while git packs them.
        """

    def names(self, prefix: _Name | None = None) -> Iterator[str]:
        """The names alone; otherwise as `refs(prefix)`."""

    def _repr_html_(self) -> str: ...
    def points_at(self, oid: str | Buffer | Ref) -> Iterator[Ref]:
        """The refs under `refs/` that lead to `oid`: as `git for-each-ref --points-at`.

        Directly, as a symbolic ref, or through annotated tags, nested ones at every level. What no file tells
        of a tag is looked up in the object database. `oid` is hex or raw, or a direct `Ref`, which stands for its
        object id; `InvalidValueError` for one of another hash. O(n); Ctrl-C works.
        """

    @property
    def head(self) -> Ref:
        """`HEAD` as it is: symbolic, also if its branch is unborn, or detached.

        Raises `RefNotFoundError` if there is none.
        """

    def resolve(self, name: _Name) -> Ref:
        """The ref at the end of the chain of symbolic refs that starts at `name`; the ref itself if it is direct.

        Raises `RefNotFoundError` with the name that is missing; `CorruptError` for a broken ref on the way, or for
        more
        than four symbolic refs in a row (git's limit), a loop among them.
        """

    def dwim(self, name: _Name) -> Ref:
        """The ref that git means by a short name, as it is: `name`, then below `refs/`, `refs/tags/`, `refs/heads/`,
        `refs/remotes/`, then `refs/remotes/<name>/HEAD`.

        Where several exist and lead to an object, the first counts, and a `UserWarning` names the others, unless
        `core.warnAmbiguousRefs` is false. Raises `RefNotFoundError`.
        """

    def reflog(self, name: _Name, *, reverse: bool = False) -> ReflogIterator:
        """The entries of a ref's log, oldest first; with `reverse` newest first. Empty if there is no log.

        Their `update_index` is None. Lines that git passes over are passed over and counted: see the iterator's
        `skipped`. In tables, oldest first costs O(entries) at the call.
        """

    def reflogs(self) -> LogNames:
        """The names of the refs that have a log, empty ones too, in order, as `git reflog list`."""

    def digest(self, *, reflogs: bool = False) -> str:
        """The SHA-256, in hex, of one line `<refname> SP (<oid> | ref:<target>) LF` for each ref, in order.

        Root refs are included; broken refs, pseudorefs and peeled values are not. With `reflogs` an empty line and the
        reflogs follow, names in order, oldest entry first, each entry a line as in a files reflog behind the refname
        and a space; entries of time 0 and logs without entries leave no trace. The same in both formats. O(n); Ctrl-C
        works.
        """

@final
class RefStore(StoreReader):
    """A repository's refs, live: each call sees what other programs have changed meanwhile. Made by `open`.

    Its refs are those that `git for-each-ref` shows in that worktree, dangling symbolic refs and broken refs besides.
    Iterating and `len()` take those under `refs/`, in byte order of their names; `[]`, `in` and `get` any exact name:
    root refs (`HEAD`), `FETCH_HEAD` and `MERGE_HEAD` (their first object id), `worktrees/<id>/HEAD` and
    `main-worktree/HEAD` too. They are `Ref`s. There is nothing to close.
    """

    def snapshot(self) -> Snapshot:
        """The refs as they stand now, immutable. O(loose refs and logs) for files, O(tables) for reftable.

        It holds the worktree's refs and logs; those of other worktrees (`worktrees/<id>/…`) are an `UnsupportedError`.
        The logs of a files repository are remembered by their size: should one have been rewritten (expired) or
        deleted when it is read, that is an `UnsupportedError` too.
        """

    def transaction(
        self,
        *,
        durability: Literal["git", "full", "none"] = "git",
        timeout: float | None = None,
        into: Literal["auto", "packed"] = "auto",
        atomic: bool = True,
        check: bool = True,
    ) -> Transaction:
        """A transaction on this repository: see `Transaction`, whose options these are."""

@final
class Snapshot(StoreReader):
    """A repository's refs as they stood at one moment: immutable, safe to share between threads.

    Made by `RefStore.snapshot()`.

    Its refs are those that `git for-each-ref` shows in that worktree, dangling symbolic refs and broken refs besides.
    Iterating and `len()` take those under `refs/`, in byte order of their names; `[]`, `in` and `get` any exact name:
    root refs (`HEAD`), `FETCH_HEAD` and `MERGE_HEAD` (their first object id); those of other worktrees are an
    `UnsupportedError`.
    """

@final
class ReflogIterator(Frame):
    """The entries of one reflog. May be shared between threads: each entry goes to one of them."""

    @property
    def skipped(self) -> int:
        """How many malformed lines have been passed over so far; git passes over them too."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> LogEntry: ...

@final
class LogNames(Frame):
    """The names of the refs that have a log, in order; as columns the entries of these logs."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> str: ...

@final
class LogIterator(Frame):
    """The reflog entries of a table or stack. May be shared between threads: each entry goes to one of them."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> LogEntry: ...

@final
class Change:
    """A difference between two sets of refs. Equal if all its fields are."""

    __match_args__: ClassVar[tuple[str, str, str, str]] = ("name", "kind", "before", "after")
    @property
    def name(self) -> str:
        """The name of the ref."""

    @property
    def kind(self) -> Literal["create", "update", "delete", "reflog"]:
        """What makes the first the second: "create", "update", "delete"; "reflog": the logs of that ref differ."""

    @property
    def before(self) -> str | Symref | LogEntry | None:
        """The value in the first: an object id as hex, a `Symref`, or None. Of logs the first entry that differs."""

    @property
    def after(self) -> str | Symref | LogEntry | None:
        """The same in the second."""

@final
class ChangeIterator(Frame):
    """Changes, in order of the names. May be shared between threads: each change goes to one of them."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Change: ...
    def _repr_html_(self) -> str: ...

@final
class Columns:
    """Rows as Arrow columns: `pyarrow.table`, `polars.DataFrame`, `pandas.DataFrame.from_arrow`, duckdb and
    nanoarrow take it.

    Made by `columns()`. Each stream reads anew: of a `RefStore` what is there then, of all else what was there when
    that was opened. A stream may be read by any thread, with the GIL or without, and dropped at any time.
    """

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the columns."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A stream of record batches: a capsule `arrow_array_stream`, as the Arrow PyCapsule interface has it.

        `requested_schema`, a capsule `arrow_schema`, asks for other types of the same columns: text as utf8,
        large_utf8 or
        string_view, or as the bytes that it is in binary, large_binary, binary_view; object ids as hex text, or raw
        in a
        binary type or fixed_size_binary. `ValueError` for others.
        """

@final
class TableLayout(Frame):
    """The blocks of a table, in file order: a sequence of `BlockInfo`, and a frame for Arrow.

    Equal to a list or tuple of the same blocks.
    """

    __hash__: ClassVar[None]  # type: ignore[assignment]
    @property
    def block_size(self) -> int:
        """The size in bytes that the table's blocks are padded to; 0 means that they are not."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int, /) -> BlockInfo: ...
    @overload
    def __getitem__(self, index: slice, /) -> tuple[BlockInfo, ...]: ...
    def __iter__(self) -> Iterator[BlockInfo]: ...
    def __eq__(self, value: object, /) -> bool: ...
    def _repr_html_(self) -> str: ...

def open(path: str | PathLike[str] | None = None, *, worktree: str | None = None) -> RefStore:
    """Open the refs of the repository that `path` lies in: a work tree or a folder in it, a `.git` directory or file,
    a bare repository, a linked worktree. `worktree` picks a linked worktree by its id (its folder in `worktrees/`).

    Format and hash come from the repository's configuration, or from `GIT_REFERENCE_BACKEND`. Without a path the
    environment has the first word (`GIT_DIR`, `GIT_COMMON_DIR`, `GIT_OBJECT_DIRECTORY`), then the current directory;
    with one it has none. `GIT_CEILING_DIRECTORIES` and git's other rules for the search hold. No process is started.

    Raises `RepositoryNotFoundError`; `UnsupportedError` for an unknown version, format, hash or extension;
    `CorruptError` for a configuration that cannot be understood, or an unfinished migration; `OSError`.
    """

def diff(a: _Refs, b: _Refs, *, reflogs: bool = False) -> ChangeIterator:
    """What makes the refs of `a` those of `b`, in order of the names: what the digest hashes is compared.

    Each may be a `RefStore` (as it stands now), a `Snapshot`, or a reader. Against a reader only what is under `refs/`
    is compared. With `reflogs` the logs that differ follow, each as one change of kind "reflog" with its first entries
    that differ; a packed-refs file has no logs, so that is an `UnsupportedError`.

    Costs what changed: tables and packed-refs files that both share are not read, equal runs of two packed-refs files
    are passed over as bytes. Otherwise one merge pass over both. Ctrl-C works.
    """

@final
class AnyValue:
    """The type of `ANY`, which stands for whatever a ref may hold, or nothing. There is one value of it."""

ANY: AnyValue

@final
class Edit:
    """A change of one ref, as `Transaction.apply` takes it, and the tuple `(verb, name, new, old)` too.

    `verb` is "create", "update", "delete" or "verify". `new` is the object id of the former two, else None. `old` is
    `ANY`, None (the ref must not exist) or an object id; by default `ANY` for "update" and "delete", None for the
    others.
    """

    __match_args__: ClassVar[tuple[str, str, str, str]] = ("verb", "name", "new", "old")
    def __new__(cls, verb: str, name: _Name, new: _Oid | None = None, old: _Old = ...) -> Self:
        """The edit. Raises `ValueError` for parts that do not go together, `InvalidValueError` for no object id."""

    @property
    def verb(self) -> Literal["create", "update", "delete", "verify"]:
        """One of "create", "update", "delete", "verify"."""

    @property
    def name(self) -> str:
        """The full name."""

    @property
    def new(self) -> str | None:
        """The object id that the ref is set to, as lower-case hex; None where it is not set."""

    @property
    def old(self) -> AnyValue | str | None:
        """What the ref must hold before: `ANY`, None for nothing, or an object id as lower-case hex."""

@final
class Plan:
    """What a commit would do: which spans of packed-refs are kept, what is put between them, which locks are taken."""

    @property
    def kept(self) -> list[tuple[int, int]]:
        """The spans of packed-refs that are kept whole, as (start, end) in bytes; empty if it is not rewritten.

        (Of a file whose records are not in order: spans of its records in order.)
        """

    @property
    def put(self) -> list[bytes]:
        """The texts that are put before, between and behind them, the header first; empty if there is no rewrite."""

    @property
    def traits(self) -> tuple[str, ...]:
        """What the new header claims: "peeled", "fully-peeled", "sorted"; empty if packed-refs is not rewritten."""

    @property
    def locks(self) -> list[str]:
        """The paths of the lock files."""

@final
class Transaction:
    """Edits of a repository's refs: all are made, or, if anything goes wrong before the first is, none.

    In a `with` block it commits on a clean exit and aborts on an exception. Edits are collected first; `prepare()`
    takes the locks that git takes, compares what each ref holds under its lock with `old`, and writes everything
    aside;
    `commit()` renames. So it is safe beside running git processes. Its object ids are hex or raw, or a direct `Ref`.

    Options: `durability`: "git" waits for the disk where `core.fsync` says so (by default it does not), "full" for
    every file and directory in the order that survives a loss of power, "none" never. `timeout`: seconds that each
    lock
    is waited for, by default what git's configuration says (0.1 for a ref, 1 for packed-refs). `into`: "auto" puts new
    values where git does, into loose refs; "packed" puts all of a batch into one rewrite of packed-refs, and one
    rename
    decides over it. **With "packed" no other program may create refs meanwhile**: git finds a new `a/b` in the way of
    `a` by the file system alone, and a name that is created in packed-refs only slips past that. `atomic=False`: edits
    that are refused for their own sake are put into `rejected`, a `verify` among them, and the others are made;
    what no
    edit can be blamed for, and what is not supported, stops all. `check=False`: new object ids need not exist, nor be
    commits under `refs/heads/`.

    Not yet, with an `UnsupportedError` before any lock is taken: refs in tables, symbolic refs, edits that git would
    log in a reflog, repositories with a `reference-transaction` hook, a quarantine.

    A commit that the system stops halfway (a full disk, say) can leave some of several loose refs changed, as in git:
    each has its old or its new value. Not for sharing between threads: a second one gets a `TransactionStateError`.
    """

    def __new__(
        cls,
        repository: RefStore | str | PathLike[str],
        *,
        durability: Literal["git", "full", "none"] = "git",
        timeout: float | None = None,
        into: Literal["auto", "packed"] = "auto",
        atomic: bool = True,
        check: bool = True,
    ) -> Self:
        """On an open store, or on the repository that a path lies in. Raises as `open`; `ValueError` for options."""

    def create(self, name: _Name, new: _Oid) -> None:
        """Create a ref: it must not exist."""

    def update(self, name: _Name, new: _Oid, old: _Old = ...) -> None:
        """Set a ref. `old`: what it must hold, None for nothing, by default `ANY`.

        The commit raises `StaleError` if it holds something else, `RefNotFoundError` if it is gone, and for None
        `RefExistsError` if it exists.
        """

    def delete(self, name: _Name, old: AnyValue | _Oid = ...) -> None:
        """Delete a ref, loose and packed. With `old` it must hold that; without, it need not exist.

        A badly named ref can be deleted too, if a path can be built from its name, or as a packed record.
        """

    def verify(self, name: _Name, old: _Oid | None) -> None:
        """Change nothing, but have the commit fail unless the ref holds `old`; None: unless it does not exist."""

    def apply(self, edits: Iterable[Edit | tuple[str, _Name, _Oid | None, _Old]]) -> None:
        """Add many edits: `Edit`s, or tuples `(verb, name, new, old)`. All of them, or, if one is wrong, none."""

    def plan(self) -> Plan:
        """What a commit would do: before it is prepared, as things are now and if no edit is refused."""

    def prepare(self) -> None:
        """Take the locks, compare, and write aside what is new.

        Raises the error of the first edit that is refused: `RefExistsError`, `RefNotFoundError`, `StaleError`,
        `ConflictError`, `InvalidValueError`, `LockedError`; for all of them `LockedError` if packed-refs is locked,
        `CorruptError`, `UnsupportedError`, `OSError`, `TransactionStateError` for a ref edited twice. Then nothing is
        changed and no lock is held. O(edits x log refs) comparisons; if packed-refs is rewritten, one pass over its
        bytes. Ctrl-C works.
        """

    def commit(self) -> None:
        """Make the edits; prepares first if that was not done. Ctrl-C waits until it is done."""

    def abort(self) -> None:
        """Release the locks and forget the edits. May be repeated; raises `TransactionStateError` after a commit."""

    @property
    def state(self) -> Literal["open", "prepared", "committed", "aborted"]:
        """One of "open", "prepared", "committed" or "aborted"."""

    @property
    def rejected(self) -> list[tuple[Edit, Exception]]:
        """With `atomic=False`: the edits that were refused, each with its exception, in the order they were given."""

    def __enter__(self) -> Self: ...
    def __exit__(self, exception: object, value: object, traceback: object, /) -> Literal[False]: ...

def abort_all() -> None:
    """Abort every transaction that is prepared; registered for the end of the interpreter."""

@final
class RepositoryIterator:
    """The paths of the repositories at and below a folder, in order: what `refspan.discover` runs over.

    An `OSError` for a folder that cannot be listed is raised in its turn; the next step goes on behind it.
    """

    def __new__(cls, root: str | PathLike[str]) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> str: ...

@final
class Scan:
    """The rows of many repositories as Arrow columns, as `Columns`. Made by `refspan.scan`. Each stream reads them
    anew."""

    def __new__(
        cls,
        paths: Sequence[str | PathLike[str]],
        *,
        what: str = "refs",
        fields: Iterable[str] | None = None,
        prefix: _Name | None = None,
        glob: _Name | None = None,
        oid: str = "hex",
        batch_rows: int = 65536,
        workers: int | None = None,
        on_error: str = "raise",
        progress: Callable[[int, int | None, str], object] | None = None,
    ) -> Self: ...
    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the columns."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A stream of record batches, as `Columns.__arrow_c_stream__`."""
