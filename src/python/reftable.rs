//! `Reftable` and `ReftableStack`: one table as it is, and a stack of them merged.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::args::{self, Name};
use super::bulk::bulk;
use super::error::to_py;
use super::log_entry::LogIterator;
use super::reader::{Reads, RefReader, Stacked};
use super::table_layout::TableLayout;
use super::tables::TableSources;
use crate::model::HashKind;
use crate::store::{Stack, TableFile, Tables};

/// One table of a reftable stack, as it is: its tombstones are refs too, of kind "deletion".
///
/// Names are prefix-compressed on disk, so each block's names are decoded once, and `RefView.name` is a view of those;
/// object ids and targets are views into the file, which is mapped if it is over 32 KiB. Git never changes a table.
///
/// Only the footer has a checksum. Everything else is checked as it is read, and raises `CorruptError` with the offset
/// of the damaged block and no line.
///
/// Open the table at `path`; reads its header and footer. O(1).
///
/// `hash` says which object ids it must hold. `mmap=False` copies the file into memory instead of mapping it.
///
/// Raises `OSError` as `PackedRefs` does; `CorruptError` for a damaged header or footer, or another hash.
#[pyclass(frozen, extends = RefReader, module = "refspan")]
pub(crate) struct Reftable {
    file: Arc<TableFile>,
    tables: Arc<TableSources>,
}

impl Reftable {
    /// A reader of that table.
    fn make(py: Python<'_>, file: Arc<TableFile>) -> PyResult<PyClassInitializer<Self>> {
        let tables = TableSources::new(py, Arc::new(Tables::single(file.clone())))?;
        let reads = Reads::Table(file.clone(), tables.clone());
        Ok(RefReader::new(reads).add_subclass(Self { file, tables }))
    }
}

#[pymethods]
impl Reftable {
    #[new]
    #[pyo3(signature = (path, *, hash=None, mmap=true))]
    fn new(py: Python<'_>, path: PathBuf, hash: Option<&str>, mmap: bool) -> PyResult<PyClassInitializer<Self>> {
        let path = args::path(path)?;
        let hash = args::hash(hash)?;
        let file = bulk(py, |interrupt| TableFile::open(path, hash, mmap, interrupt))?;
        Self::make(py, Arc::new(file))
    }

    /// The version of the format: 1, or 2, which names its hash.
    #[getter]
    fn version(&self) -> u8 {
        self.file.table().header().version
    }

    /// The size in bytes that blocks are padded to; 0 means that they are not.
    #[getter]
    fn block_size(&self) -> u32 {
        self.file.table().header().block_size
    }

    /// The smallest update index of its refs: the number of the first transaction in it.
    #[getter]
    fn min_update_index(&self) -> u64 {
        self.file.table().header().min_update_index
    }

    /// The greatest update index in it: the number of the last transaction.
    #[getter]
    fn max_update_index(&self) -> u64 {
        self.file.table().header().max_update_index
    }

    /// Every block in file order. Reads and checks them all: O(size); Ctrl-C works.
    fn blocks(&self, py: Python<'_>) -> PyResult<Py<TableLayout>> {
        let blocks = bulk(py, |interrupt| self.file.blocks(interrupt))?;
        TableLayout::new(py, self.block_size(), blocks)
    }

    /// The reflog entries of the refs whose names start with `prefix`, newest first within a ref.
    ///
    /// As they are: tombstones have kind "deletion", and a log that merely exists has an entry of zero object ids.
    #[pyo3(signature = (prefix=None))]
    fn logs(&self, py: Python<'_>, prefix: Option<Name<'_>>) -> PyResult<Py<LogIterator>> {
        LogIterator::new(py, self.tables.clone(), prefix.as_ref().map_or(&b""[..], Name::as_bytes), self.file.path())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let header = self.file.table().header();
        let path = self.file.path().as_os_str().into_pyobject(py)?.repr()?;
        let held = if self.file.table().is_mapped() { "mapped" } else { "in memory" };
        Ok(format!(
            "<Reftable {path} version {}, {}, update indices {}-{}, {} bytes {held}>",
            header.version,
            header.hash.name(),
            header.min_update_index,
            header.max_update_index,
            self.file.table().data().len(),
        ))
    }
}

/// The tables of a `reftable` directory, merged: the newest one wins, and what was deleted is not there.
///
/// A reader shows the stack as it stood when it was opened, whatever git writes and compacts meanwhile: the tables
/// stay open. `is_stale()` tells of changes, `reload()` takes them over. A stack that is damaged raises
/// `CorruptError`; it is never taken for an empty one.
///
/// Open the stack in the directory `path`, whose `tables.list` names the tables.
///
/// A table that git compacts away meanwhile makes it read the list again, for up to three seconds. `hash` and
/// `mmap` are as for `Reftable`. A directory without list and tables is an empty stack.
///
/// Raises `OSError` as `PackedRefs` does; `CorruptError` for a damaged list (with the line) or table, or one that
/// stays missing. O(number of tables); Ctrl-C works.
#[pyclass(frozen, extends = RefReader, module = "refspan")]
pub(crate) struct ReftableStack {
    hash: Option<HashKind>,
    may_map: bool,
    /// Shared with the base.
    now: Arc<Mutex<Stacked>>,
}

impl ReftableStack {
    fn now(&self) -> MutexGuard<'_, Stacked> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stack(&self) -> Arc<Stack> {
        self.now().stack.clone()
    }
}

#[pymethods]
impl ReftableStack {
    #[new]
    #[pyo3(signature = (path, *, hash=None, mmap=true))]
    fn new(py: Python<'_>, path: PathBuf, hash: Option<&str>, mmap: bool) -> PyResult<PyClassInitializer<Self>> {
        let path = args::path(path)?;
        let hash = args::hash(hash)?;
        let stack = bulk(py, |interrupt| Stack::open(path, hash, mmap, interrupt))?;
        let now = Arc::new(Mutex::new(stacked(py, stack, hash)?));
        let reads = Reads::Stack(now.clone());
        Ok(RefReader::new(reads).add_subclass(Self { hash, may_map: mmap, now }))
    }

    /// The tables, oldest first.
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let stack = self.stack();
        let tables = stack.tables().iter().map(|file| Bound::new(py, Reftable::make(py, file.clone())?));
        PyTuple::new(py, tables.collect::<PyResult<Vec<_>>>()?)
    }

    /// The smallest update index of any table; None without tables.
    #[getter]
    fn min_update_index(&self) -> Option<u64> {
        self.stack().tables().iter().map(|file| file.table().header().min_update_index).min()
    }

    /// The greatest update index of any table; None without tables.
    #[getter]
    fn max_update_index(&self) -> Option<u64> {
        self.stack().tables().iter().map(|file| file.table().header().max_update_index).max()
    }

    /// The reflog entries of the refs whose names start with `prefix`, newest first within a ref.
    #[pyo3(signature = (prefix=None))]
    fn logs(&self, py: Python<'_>, prefix: Option<Name<'_>>) -> PyResult<Py<LogIterator>> {
        let dir = self.stack();
        let prefix = prefix.as_ref().map_or(&b""[..], Name::as_bytes);
        LogIterator::new(py, self.now().tables.clone(), prefix, dir.dir())
    }

    /// Take over the stack as it stands now, if it has changed; returns whether it had.
    ///
    /// Iterators and views go on with what they have. Raises as opening does, and then keeps the old state.
    fn reload(&self, py: Python<'_>) -> PyResult<bool> {
        let mut has_changed = false;
        loop {
            let stack = self.stack();
            if !stack.is_stale().map_err(|error| to_py(py, error))? {
                return Ok(has_changed);
            }
            let new = bulk(py, |interrupt| stack.reloaded(self.hash, self.may_map, interrupt))?;
            let new = stacked(py, new, self.hash)?;
            has_changed = true;
            let mut now = self.now();
            // Should another thread have been faster, what it took over may be newer.
            if Arc::ptr_eq(&now.stack, &stack) {
                let old = std::mem::replace(&mut *now, new);
                drop(now);
                drop(old);
            }
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let stack = self.stack();
        let path = stack.dir().as_os_str().into_pyobject(py)?.repr()?;
        let hash = stack.tables().first().map_or("no tables", |file| file.table().header().hash.name());
        let bytes: usize = stack.tables().iter().map(|file| file.table().data().len()).sum();
        Ok(format!("<ReftableStack {path} {hash}, {} tables, {bytes} bytes>", stack.tables().len()))
    }
}

fn stacked(py: Python<'_>, stack: Stack, hash: Option<HashKind>) -> PyResult<Stacked> {
    let tables = TableSources::new(py, Arc::new(Tables::stacked(stack.tables().to_vec(), hash)))?;
    Ok(Stacked { stack: Arc::new(stack), tables })
}
