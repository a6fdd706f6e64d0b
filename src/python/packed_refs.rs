//! `PackedRefs`: a packed-refs file, read as it lies on disk.

use std::ffi::OsStr;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyFrozenSet;

use super::args::{self, Name};
use super::bulk::bulk;
use super::error::{raise, to_py};
use super::iterators::{Found, Item, Walk};
use super::ref_view::{RefView, refname};
use super::source::Source;
use crate::model::HashKind;
use crate::packed::{Selection, Snapshot};
use crate::store::PackedFile;

/// A git `packed-refs` file as it was when it was opened: an immutable snapshot, safe to share between threads.
///
/// Iterating yields a `RefView` for each ref, in byte order of the names. The truth of a reader is whether it holds
/// any; its length is counted at the first `len()`, which reads the file, and kept.
///
/// Files over 32 KiB are mapped: opening one is O(1) if its header claims `sorted`, and every field of every ref is a
/// view into the map. A file without `sorted` is read whole when it is opened and, if its refs are out of order, seen
/// through a sorted copy. Views stay valid for as long as they are held, also after the reader is gone and the file
/// was replaced (git replaces its files by rename). A program that *truncates* the file in place can crash the process
/// that has it mapped (SIGBUS); pass `mmap=False` where such programs are about.
///
/// What cannot be trusted raises `CorruptError` as soon as it is read: a line that is no record, a last line without
/// LF, a header that is none, names out of order under a header that claims `sorted`. What is merely unusable is
/// listed as it lies, with `RefView.broken` set. Once a read has found a false `sorted`, look-ups raise too.
///
/// Open the packed-refs file at `path`.
///
/// `hash` says which object ids it holds; by default the width of the first one tells. `mmap=False` copies the
/// file into memory instead of mapping it.
///
/// Raises `FileNotFoundError`, `IsADirectoryError`, `PermissionError` or another `OSError` with `errno` and
/// `filename` if the file cannot be read or is not a regular one; `CorruptError` for damage in the first or last
/// line, or, without `sorted`, anywhere; `ValueError` for an unknown hash. An empty file is an empty reader.
/// O(1) for a sorted file, else O(n) (O(n log n) if its refs must be sorted); Ctrl-C works.
#[pyclass(frozen, weakref, module = "refspan")]
pub(crate) struct PackedRefs {
    source: Py<Source>,
}

impl PackedRefs {
    pub(super) fn source(&self) -> &Py<Source> {
        &self.source
    }

    fn file(&self) -> &PackedFile {
        self.source.get().file()
    }

    fn snapshot(&self) -> &Snapshot {
        self.source.get().snapshot()
    }

    fn count(&self, py: Python<'_>) -> PyResult<usize> {
        let file = self.file();
        bulk(py, |interrupt| file.count(interrupt))
    }

    fn walk(&self, py: Python<'_>, selection: Selection<'_>, item: Item) -> PyResult<Walk> {
        let cursor = self.file().select(selection).map_err(|error| to_py(py, error))?;
        Ok(Walk::new(self.source.clone_ref(py), cursor, item))
    }

    fn find(&self, py: Python<'_>, name: &Name<'_>) -> PyResult<Option<RefView>> {
        let found = self.file().find(name.as_bytes()).map_err(|error| to_py(py, error))?;
        Ok(found.map(|record| RefView::new(self.source.clone_ref(py), record)))
    }
}

#[pymethods]
impl PackedRefs {
    #[new]
    #[pyo3(signature = (path, *, hash=None, mmap=true))]
    fn new(py: Python<'_>, path: PathBuf, hash: Option<&str>, mmap: bool) -> PyResult<Self> {
        let path = args::path(path)?;
        let hash = args::hash(hash)?;
        let file = bulk(py, |interrupt| PackedFile::open(path, hash, mmap, interrupt))?;
        Ok(Self { source: Py::new(py, Source::new(file))? })
    }

    /// The path as it was given.
    #[getter]
    fn path(&self) -> &OsStr {
        self.file().path().as_os_str()
    }

    /// The hash of the object ids; None if no ref shows it and the caller did not say.
    #[getter]
    fn hash(&self) -> Option<&'static str> {
        self.snapshot().hash().map(HashKind::name)
    }

    /// What the header claims: any of `peeled`, `fully-peeled` and `sorted`. Unknown traits promise nothing.
    #[getter]
    fn traits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        PyFrozenSet::new(py, self.snapshot().header().traits())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.count(py)
    }

    fn __bool__(&self) -> bool {
        !self.snapshot().is_empty()
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Walk> {
        self.walk(py, Selection::default(), Item::Ref)
    }

    /// The refs whose names start with `prefix` (plain bytes, unrelated to slashes), in order.
    ///
    /// `start_after`: only names that sort after this one, whether it exists or not. `exclude`: leave out these refs
    /// and what lies below them (`refs/pull` leaves out `refs/pull` and `refs/pull/…`, not `refs/pullover`; with a
    /// trailing slash only what lies below; an empty one nothing). Names, not patterns:
    /// `*`, `?`, `[` and `\` raise `RefNameError`.
    ///
    /// Each limit is a seek of O(log n); what it leaves out is not read, hence not checked. Raises `CorruptError` for
    /// damage on the way there or, from the iterator, in a ref that it reaches.
    #[pyo3(signature = (prefix=None, *, start_after=None, exclude=Vec::new()), text_signature = "($self, prefix=None, *, start_after=None, exclude=())")]
    fn refs(
        &self,
        py: Python<'_>,
        prefix: Option<Name<'_>>,
        start_after: Option<Name<'_>>,
        exclude: Vec<Name<'_>>,
    ) -> PyResult<Walk> {
        args::not_patterns(py, &exclude)?;
        let exclude: Vec<&[u8]> = exclude.iter().map(Name::as_bytes).collect();
        let prefix = prefix.as_ref().map_or(&b""[..], Name::as_bytes);
        let start_after = start_after.as_ref().map(Name::as_bytes);
        self.walk(py, Selection { prefix, start_after, exclude: &exclude }, Item::Ref)
    }

    /// The names alone, as read-only views into the file; otherwise as `refs(prefix)`.
    #[pyo3(signature = (prefix=None))]
    fn names(&self, py: Python<'_>, prefix: Option<Name<'_>>) -> PyResult<Walk> {
        let prefix = prefix.as_ref().map_or(&b""[..], Name::as_bytes);
        self.walk(py, Selection { prefix, ..Selection::default() }, Item::Name)
    }

    /// The whole records as they lie on disk, `^` line and LF included; otherwise as `refs(prefix)`.
    #[pyo3(signature = (prefix=None))]
    fn records(&self, py: Python<'_>, prefix: Option<Name<'_>>) -> PyResult<Walk> {
        let prefix = prefix.as_ref().map_or(&b""[..], Name::as_bytes);
        self.walk(py, Selection { prefix, ..Selection::default() }, Item::Record)
    }

    fn __getitem__(&self, py: Python<'_>, name: Name<'_>) -> PyResult<RefView> {
        match self.find(py, &name)? {
            Some(view) => Ok(view),
            None => Err(raise(py, "RefNotFoundError", (refname(py, name.as_bytes())?,))),
        }
    }

    /// The ref of exactly that name, or `default`. Raises as `[]` does, but for a missing name. O(log n).
    #[pyo3(signature = (name, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: Name<'_>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.find(py, &name)? {
            Some(view) => Ok(Some(Bound::new(py, view)?.into_any())),
            None => Ok(default),
        }
    }

    fn __contains__(&self, py: Python<'_>, name: Name<'_>) -> PyResult<bool> {
        Ok(self.find(py, &name)?.is_some())
    }

    /// The refs whose object id, or whose peeled object id, is `oid`, in order.
    ///
    /// `oid` is hex text or hex bytes (40 or 64 digits, of either case) or raw bytes (20 or 32); one of another hash
    /// matches nothing. Searches the bytes of the whole file for it, at about the speed of memory, and reads only the
    /// records that it hits: only damage in those raises `CorruptError`. Raises `InvalidValueError` if `oid` is none.
    fn points_at(&self, oid: &Bound<'_, PyAny>) -> PyResult<Found> {
        let (py, file, oid) = (oid.py(), self.file(), args::oid(oid)?);
        let records = bulk(py, |interrupt| file.points_at(&oid, interrupt))?;
        Ok(Found::new(self.source.clone_ref(py), records))
    }

    /// Whether `path` now leads to another file, to this one changed, or nowhere. One `stat`; nothing is reloaded.
    ///
    /// Compares device, inode, size, and both times to the nanosecond, so that it sees what git's own check misses.
    fn is_stale(&self, py: Python<'_>) -> PyResult<bool> {
        self.file().is_stale().map_err(|error| to_py(py, error))
    }

    /// Read everything once; raise `CorruptError` for the first damage or name out of order.
    ///
    /// Refs that are only broken pass: `RefView.broken` tells of each. O(n); Ctrl-C works.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.count(py).map(|_| ())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let snapshot = self.snapshot();
        let path = self.path().into_pyobject(py)?.repr()?;
        let traits: Vec<_> = snapshot.header().traits().collect();
        let traits = if traits.is_empty() { "no traits".to_owned() } else { traits.join(" ") };
        let hash = self.hash().unwrap_or("no refs");
        let held = if snapshot.is_mapped() { "mapped" } else { "in memory" };
        Ok(format!("<PackedRefs {path} {hash}, {traits}, {} bytes {held}>", snapshot.file_len()))
    }
}
