"""refspan's compiled core. Import from `refspan`, not from here."""

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Any, ClassVar, Literal, TypeVar, final

from typing_extensions import Buffer

__all__ = ["PackedRefs", "RefView", "show_ref"]

_T = TypeVar("_T")

def show_ref(packed: PackedRefs, write: Callable[[bytes], object], report: Callable[[RefView, str], object]) -> None:
    """Give `write` the refs of `packed` as the text of `git show-ref -d`, piece by piece, and `report` each broken one.

    Duplicates are in the text too, as in git's; badly named refs and zero object ids are only reported. Raises
    `CorruptError` behind everything that could be read. O(n); Ctrl-C works between pieces.
    """

@final
class PackedRefs:
    """A git `packed-refs` file as it was when it was opened: an immutable snapshot, safe to share between threads.

    Iterating yields a `RefView` for each ref, in byte order of the names. The truth of a reader is whether it holds
    any; its length is counted at the first `len()`, which reads the file, and kept.

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
    def path(self) -> str:
        """The path as it was given."""

    @property
    def hash(self) -> Literal["sha1", "sha256"] | None:
        """The hash of the object ids; None if no ref shows it and the caller did not say."""

    @property
    def traits(self) -> frozenset[str]:
        """What the header claims: any of `peeled`, `fully-peeled` and `sorted`. Unknown traits promise nothing."""

    def __len__(self) -> int:
        """The number of refs, duplicates and broken ones included. The first call reads and checks them all: O(n)."""

    def __bool__(self) -> bool:
        """Whether there is any ref. O(1)."""

    def __iter__(self) -> Iterator[RefView]:
        """All refs in byte order of their names, each checked as it is read. Same as `refs()`.

        The iterator may be shared between threads: each ref goes to one of them. It allocates nothing per ref in a
        loop that lets go of each ref before the next but one.
        """

    def __contains__(self, name: str | Buffer | RefView, /) -> bool:
        """Whether a ref has exactly that name. Raises as `[]` does, but for a missing name. O(log n)."""

    def __getitem__(self, name: str | Buffer | RefView, /) -> RefView:
        """The ref of exactly that name, ill-formed ones too.

        Raises `RefNotFoundError` (a `KeyError`) if there is none; `CorruptError` if it stands in more than one line,
        if a record on the way is damaged, or if the file is known to be out of order. O(log n), by bisection.
        """

    def get(self, name: str | Buffer | RefView, default: _T | None = None) -> RefView | _T | None:
        """The ref of exactly that name, or `default`. Raises as `[]` does, but for a missing name. O(log n)."""

    def refs(
        self,
        prefix: str | Buffer | RefView | None = None,
        *,
        start_after: str | Buffer | RefView | None = None,
        exclude: Sequence[str | Buffer | RefView] = (),
    ) -> Iterator[RefView]:
        """The refs whose names start with `prefix` (plain bytes, unrelated to slashes), in order.

        `start_after`: only names that sort after this one, whether it exists or not. `exclude`: leave out these refs
        and what lies below them (`refs/pull` leaves out `refs/pull` and `refs/pull/…`, not `refs/pullover`; with a
        trailing slash only what lies below; an empty one nothing). Names, not patterns:
        `*`, `?`, `[` and `\\` raise `RefNameError`.

        Each limit is a seek of O(log n); what it leaves out is not read, hence not checked. Raises `CorruptError` for
        damage on the way there or, from the iterator, in a ref that it reaches.
        """

    def names(self, prefix: str | Buffer | RefView | None = None) -> Iterator[memoryview]:
        """The names alone, as read-only views into the file; otherwise as `refs(prefix)`."""

    def records(self, prefix: str | Buffer | RefView | None = None) -> Iterator[memoryview]:
        """The whole records as they lie on disk, `^` line and LF included; otherwise as `refs(prefix)`."""

    def points_at(self, oid: str | Buffer) -> Iterator[RefView]:
        """The refs whose object id, or whose peeled object id, is `oid`, in order.

        `oid` is hex text or hex bytes (40 or 64 digits, of either case) or raw bytes (20 or 32); one of another hash
        matches nothing. Searches the bytes of the whole file for it, at about the speed of memory, and reads only the
        records that it hits: only damage in those raises `CorruptError`. Raises `InvalidValueError` if `oid` is none.
        """

    def is_stale(self) -> bool:
        """Whether `path` now leads to another file, to this one changed, or nowhere. One `stat`; nothing is reloaded.

        Compares device, inode, size, and both times to the nanosecond, so that it sees what git's own check misses.
        """

    def check(self) -> None:
        """Read everything once; raise `CorruptError` for the first damage or name out of order.

        Refs that are only broken pass: `RefView.broken` tells of each. O(n); Ctrl-C works.
        """

@final
class RefView:
    """One ref as it lies on disk. Readers make them; `name, oid, peeled = ref` unpacks into views.

    Fields are made when asked for. Those that are memoryviews are read-only, one-dimensional views of bytes into the
    file: no copy is made, they hash and compare like the equal `bytes`, and each keeps the file open while it is held
    (`bytes(view)` copies). `memoryview(ref)` is the whole record. Equal only to itself.
    """

    __match_args__: ClassVar[tuple[str, str, str]] = ("name", "oid", "peeled")

    @property
    def name(self) -> memoryview:
        """The full name, as it lies on disk; git requires no encoding."""

    @property
    def oid(self) -> memoryview:
        """The object id as stored: in packed-refs 40 or 64 hex digits, of whatever case the file has."""

    @property
    def peeled(self) -> memoryview | None:
        """What an annotated tag points at in the end, stored as `oid` is; None if the file does not say."""

    @property
    def target(self) -> memoryview | None:
        """The name a symbolic ref points at. Always None in packed-refs, which cannot hold any."""

    @property
    def refname(self) -> str:
        """The name as text: UTF-8, other bytes as lone surrogates (`surrogateescape`), whatever the locale."""

    @property
    def hex(self) -> str:
        """The object id as lower-case hex digits."""

    @property
    def peeled_hex(self) -> str | None:
        """The peeled object id as lower-case hex digits; None if the file does not say."""

    @property
    def kind(self) -> Literal["oid", "symref", "deletion"]:
        """What the record holds. Always "oid" in packed-refs."""

    @property
    def peel_known(self) -> bool:
        """Whether `peeled is None` means that the object is no annotated tag.

        True where a `^` line stands, under `fully-peeled`, and below `refs/tags/` under `peeled`.
        """

    @property
    def update_index(self) -> int | None:
        """The reftable transaction that wrote the record. Always None in packed-refs."""

    @property
    def broken(self) -> Literal["duplicate", "unsafe name", "bad name", "zero oid"] | None:
        """Why the ref cannot be used, the first that holds; None if it can.

        "duplicate": the name stands in more than one line. "unsafe name": `git check-ref-format --allow-onelevel`
        refuses it, and no path may be built from it. "bad name": refused too, but harmless as a path. "zero oid".
        """

    # `peeled` may be None, but no type says which of the three: Any lets each be used as what it is.
    def __iter__(self) -> Iterator[memoryview | Any]:
        """`name`, `oid` and `peeled`, for unpacking."""

    def __buffer__(self, flags: int, /) -> memoryview:
        """The whole record as it lies on disk."""
