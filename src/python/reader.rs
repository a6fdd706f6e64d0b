//! The surface that all readers share: one vocabulary for a packed-refs file, a table and a stack.

use std::ffi::OsStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use super::args::{self, Name};
use super::bulk::bulk;
use super::display::html;
use super::error::{raise, to_py};
use super::frame::{Frame, Of, path_text};
use super::iterators::{Finds, FoundIterator, Item, PackedIterator, TableIterator};
use super::ref_view::{RefView, refname};
use super::source::Source;
use super::tables::TableSources;
use crate::model::{HashKind, Selection};
use crate::store::{PackedFile, Stack, TableFile};

/// What a reader reads.
pub(super) enum Reads {
    /// A packed-refs file.
    Packed(Py<Source>, Arc<PackedFile>),
    /// One table.
    Table(Arc<TableFile>, Arc<TableSources>),
    /// A stack, which `reload` replaces.
    Stack(Arc<Mutex<Stacked>>),
}

/// A stack and its tables as they were last read.
pub(super) struct Stacked {
    pub(super) stack: Arc<Stack>,
    pub(super) tables: Arc<TableSources>,
}

/// What `PackedRefs`, `Reftable` and `ReftableStack` have in common; not to be made on its own.
///
/// Iterating yields a `RefView` for each ref, in byte order of the names. The truth of a reader is whether it holds
/// any; its length is counted at the first `len()`, which reads all refs, and kept. Readers are immutable (but for
/// `ReftableStack.reload`) and may be shared between threads.
#[pyclass(frozen, subclass, extends = Frame, module = "refspan._native")]
pub(crate) struct RefReader {
    reads: Reads,
}

/// Either kind, for one call.
pub(super) enum Now<'a> {
    Packed(&'a Py<Source>, &'a Arc<PackedFile>),
    Tables(Arc<TableSources>),
}

fn lock(stacked: &Mutex<Stacked>) -> MutexGuard<'_, Stacked> {
    stacked.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RefReader {
    pub(super) fn new(reads: Reads) -> PyClassInitializer<Self> {
        let frame = match &reads {
            Reads::Packed(_, file) => Frame::fixed(Of::Packed(file.clone())),
            Reads::Table(file, tables) => Frame::fixed(Of::Tables(tables.tables().clone(), path_text(file.path()))),
            Reads::Stack(stacked) => {
                let stacked = stacked.clone();
                Frame::new(move || {
                    let now = lock(&stacked);
                    Of::Tables(now.tables.tables().clone(), path_text(now.stack.dir()))
                })
            }
        };
        PyClassInitializer::from(frame).add_subclass(Self { reads })
    }

    pub(super) fn now(&self) -> Now<'_> {
        match &self.reads {
            Reads::Packed(source, file) => Now::Packed(source, file),
            Reads::Table(_, tables) => Now::Tables(tables.clone()),
            Reads::Stack(stacked) => Now::Tables(lock(stacked).tables.clone()),
        }
    }

    fn count(&self, py: Python<'_>) -> PyResult<usize> {
        match self.now() {
            Now::Packed(_, file) => bulk(py, |interrupt| file.count(interrupt)),
            Now::Tables(tables) => bulk(py, |interrupt| tables.tables().count(interrupt)),
        }
    }

    fn walk<'py>(&self, py: Python<'py>, selection: &Selection<'_>, item: Item) -> PyResult<Bound<'py, PyAny>> {
        match self.now() {
            Now::Packed(source, file) => {
                let cursor = file.select(*selection).map_err(|error| to_py(py, error))?;
                Ok(Bound::new(py, PackedIterator::new(source.clone_ref(py), file.clone(), cursor, item))?.into_any())
            }
            Now::Tables(tables) => {
                let walk = tables.tables().select(selection);
                Ok(Bound::new(py, TableIterator::new(tables, walk, item))?.into_any())
            }
        }
    }

    fn find(&self, py: Python<'_>, name: &[u8]) -> PyResult<Option<RefView>> {
        let failed = |error| to_py(py, error);
        match self.now() {
            Now::Packed(source, file) => {
                let found = file.find(name).map_err(failed)?;
                Ok(found.map(|record| RefView::new(source.clone_ref(py), record.into())))
            }
            Now::Tables(tables) => {
                let found = tables.tables().find(name).map_err(failed)?;
                found.map(|found| tables.view_of(py, found)).transpose()
            }
        }
    }

    fn all_is_read(&self, py: Python<'_>) -> PyResult<()> {
        match self.now() {
            Now::Packed(_, file) => bulk(py, |interrupt| file.count(interrupt).map(|_| ())),
            Now::Tables(tables) => bulk(py, |interrupt| tables.tables().check(interrupt)),
        }
    }
}

#[pymethods]
impl RefReader {
    /// The path as it was given.
    #[getter]
    fn path(&self) -> std::ffi::OsString {
        let path: &OsStr = match &self.reads {
            Reads::Packed(_, file) => file.path().as_os_str(),
            Reads::Table(file, _) => file.path().as_os_str(),
            Reads::Stack(stacked) => return lock(stacked).stack.dir().into(),
        };
        path.to_owned()
    }

    /// The hash of the object ids; None if nothing shows it and the caller did not say.
    #[getter]
    fn hash(&self) -> Option<&'static str> {
        match self.now() {
            Now::Packed(_, file) => file.snapshot().hash(),
            Now::Tables(tables) => tables.tables().hash(),
        }
        .map(HashKind::name)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.count(py)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        match self.now() {
            Now::Packed(_, file) => Ok(!file.snapshot().is_empty()),
            Now::Tables(tables) => {
                let mut walk = tables.tables().select(&Selection::default());
                Ok(tables.tables().next(&mut walk).map_err(|error| to_py(py, error))?.is_some())
            }
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.walk(py, &Selection::default(), Item::Ref)
    }

    fn __contains__(&self, py: Python<'_>, name: Name<'_>) -> PyResult<bool> {
        Ok(self.find(py, name.as_bytes())?.is_some())
    }

    fn __getitem__(&self, py: Python<'_>, name: Name<'_>) -> PyResult<RefView> {
        match self.find(py, name.as_bytes())? {
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
        match self.find(py, name.as_bytes())? {
            Some(view) => Ok(Some(Bound::new(py, view)?.into_any())),
            None => Ok(default),
        }
    }

    /// The refs whose names start with `prefix` (plain bytes, unrelated to slashes), in order.
    ///
    /// `start_after`: only names that sort after this one, whether it exists or not. `exclude`: leave out these refs
    /// and what lies below them (`refs/pull` leaves out `refs/pull` and `refs/pull/…`, not `refs/pullover`; with a
    /// trailing slash only what lies below; an empty one nothing). Names, not patterns: `*`, `?`, `[` and `\` raise
    /// `RefNameError`.
    ///
    /// Each limit is a seek of O(log n), or of the number of blocks in a table without index; what it leaves out is
    /// not read, hence not checked. Raises `CorruptError` for damage on the way there or, from the iterator, in
    /// a ref that it reaches.
    #[pyo3(
        signature = (prefix=None, *, start_after=None, exclude=None),
        text_signature = "($self, prefix=None, *, start_after=None, exclude=())"
    )]
    fn refs<'py>(
        &self,
        py: Python<'py>,
        prefix: Option<Name<'_>>,
        start_after: Option<Name<'_>>,
        exclude: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let exclude = args::names(exclude.as_ref())?;
        args::not_patterns(py, &exclude)?;
        let exclude: Vec<&[u8]> = exclude.iter().map(Name::as_bytes).collect();
        let prefix = prefix.as_ref().map_or(&b""[..], Name::as_bytes);
        let start_after = start_after.as_ref().map(Name::as_bytes);
        self.walk(py, &Selection { prefix, start_after, exclude: &exclude }, Item::Ref)
    }

    /// The names alone, as read-only views; otherwise as `refs(prefix)`.
    #[pyo3(signature = (prefix=None))]
    fn names<'py>(&self, py: Python<'py>, prefix: Option<Name<'_>>) -> PyResult<Bound<'py, PyAny>> {
        let prefix = prefix.as_ref().map_or(&b""[..], Name::as_bytes);
        self.walk(py, &Selection { prefix, ..Selection::default() }, Item::Name)
    }

    /// The whole records as they lie on disk; otherwise as `refs(prefix)`.
    ///
    /// In packed-refs with `^` line and LF; in a table with the name shortened by what it shares with the one before.
    #[pyo3(signature = (prefix=None))]
    fn records<'py>(&self, py: Python<'py>, prefix: Option<Name<'_>>) -> PyResult<Bound<'py, PyAny>> {
        let prefix = prefix.as_ref().map_or(&b""[..], Name::as_bytes);
        self.walk(py, &Selection { prefix, ..Selection::default() }, Item::Record)
    }

    /// The refs whose object id, or whose peeled object id, is `oid`, in order.
    ///
    /// `oid` is hex text or hex bytes (40 or 64 digits, of either case) or raw bytes (20 or 32); one of another hash
    /// matches nothing. Raises `InvalidValueError` if it is none, and `CorruptError` only for damage in what is read.
    ///
    /// In packed-refs a search over the bytes of the file, at about the speed of memory. In tables by their object
    /// index, else by reading all refs; each hit is looked up again in the newer tables of a stack.
    fn points_at(&self, oid: &Bound<'_, PyAny>) -> PyResult<FoundIterator> {
        let (py, oid) = (oid.py(), args::oid(oid)?);
        match self.now() {
            Now::Packed(source, file) => {
                let records = bulk(py, |interrupt| file.points_at(&oid, interrupt))?;
                Ok(FoundIterator::new(Finds::Packed(source.clone_ref(py), records.into_iter())))
            }
            Now::Tables(tables) => {
                let found = bulk(py, |interrupt| tables.tables().points_at(&oid, interrupt))?;
                Ok(FoundIterator::new(Finds::Tables(tables, found.into_iter())))
            }
        }
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        html(slf.as_any())
    }

    /// Whether `path` now leads to something else, to this changed, or nowhere. One `stat`; nothing is reloaded.
    ///
    /// Compares device, inode, size, and both times as finely as the file system keeps them, so that it sees what
    /// git's own check misses.
    fn is_stale(&self, py: Python<'_>) -> PyResult<bool> {
        let is_stale = match &self.reads {
            Reads::Packed(_, file) => file.is_stale(),
            Reads::Table(file, _) => file.is_stale(),
            Reads::Stack(stacked) => {
                let stack = lock(stacked).stack.clone();
                stack.is_stale()
            }
        };
        is_stale.map_err(|error| to_py(py, error))
    }

    /// Read everything once, blocks of all kinds; raise `CorruptError` for the first damage or name out of order.
    ///
    /// Refs that are only broken pass: `RefView.broken` tells of each. O(n); Ctrl-C works.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.all_is_read(py)
    }
}
