//! What `for` runs over: the entries of one reflog, and the names of those that have one.

use pyo3::prelude::*;
#[cfg(feature = "arrow")]
use pyo3::types::PyCapsule;
use pyo3::types::PyString;
use spin::Mutex;

#[cfg(feature = "arrow")]
use super::args::Name;
#[cfg(feature = "arrow")]
use super::arrow::{BATCH_ROWS, Choice, Columns, Of};
use super::error::to_py;
use super::log_entry::LogEntry;
use super::ref_view::refname;
use crate::model::Error;
use crate::store::{Log, Lookup};

/// The entries of one reflog. May be shared between threads: each entry goes to one of them.
#[pyclass(frozen, module = "refspan._native")]
pub(crate) struct ReflogIterator {
    /// What it was read from, and how.
    #[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "columns are read anew"))]
    of: (Lookup, bool),
    refname: Vec<u8>,
    log: Mutex<Log>,
}

impl ReflogIterator {
    pub(super) fn new(lookup: Lookup, refname: Vec<u8>, is_reverse: bool, log: Log) -> Self {
        Self { of: (lookup, is_reverse), refname, log: Mutex::new(log) }
    }

    #[cfg(feature = "arrow")]
    fn rows(&self) -> Of {
        let (lookup, is_reverse) = &self.of;
        Of::Log(lookup.clone(), self.refname.clone(), *is_reverse)
    }
}

#[pymethods]
impl ReflogIterator {
    /// How many malformed lines have been passed over so far; git passes over them too.
    #[getter]
    fn skipped(&self) -> u64 {
        self.log.lock().skipped()
    }

    /// All entries of the log, whatever was yielded before, as Arrow columns, for pyarrow, polars, pandas, duckdb or nanoarrow: what `__arrow_c_stream__` gives, chosen.
    ///
    /// `fields`: which columns, in which order; without it ref, old, new, `committer_name`, `committer_email`, time, tz,
    /// message, index (how many entries of that ref are newer: as in `ref@{index}`). There are also `update_index`,
    /// namespace, `ref_bytes`, repository. `prefix`, `glob`: only refs of such names. `oid`, `batch_rows`: as in
    /// `RefStore.columns`.
    #[cfg(feature = "arrow")]
    #[pyo3(signature = (fields=None, *, prefix=None, glob=None, oid="hex", batch_rows=BATCH_ROWS))]
    #[pyo3(text_signature = "($self, fields=None, *, prefix=None, glob=None, oid='hex', batch_rows=65536)")]
    fn columns(
        &self,
        py: Python<'_>,
        fields: Option<Bound<'_, PyAny>>,
        prefix: Option<Name<'_>>,
        glob: Option<Name<'_>>,
        oid: &str,
        batch_rows: usize,
    ) -> PyResult<Columns> {
        self.rows().columns(py, Choice { fields: fields.as_ref(), prefix, glob, oid, batch_rows })
    }

    /// All rows in the usual columns, as the Arrow PyCapsule interface has it; see `columns`.
    #[cfg(feature = "arrow")]
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.rows().stream(py, requested_schema.as_ref())
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<LogEntry>> {
        loop {
            let entry = {
                let mut log = self.log.lock();
                // No Python code runs while the lock is held: an interrupt is heard between two slices.
                let next = log.next_entry(&mut || false);
                next.map(|item| item.map(|item| LogEntry::of(&self.refname, &item)))
            };
            match entry {
                Err(Error::Interrupted) => {
                    py.check_signals()?;
                    py.detach(|| ());
                }
                entry => return entry.map_err(|error| to_py(py, error)),
            }
        }
    }
}

/// Names of refs, in order.
#[pyclass(frozen, module = "refspan._native")]
pub(crate) struct LogNames {
    #[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "columns are read anew"))]
    lookup: Lookup,
    names: Mutex<std::vec::IntoIter<Vec<u8>>>,
}

impl LogNames {
    pub(super) fn new(lookup: Lookup, names: Vec<Vec<u8>>) -> Self {
        Self { lookup, names: Mutex::new(names.into_iter()) }
    }

    #[cfg(feature = "arrow")]
    fn rows(&self) -> Of {
        Of::Logs(self.lookup.clone())
    }
}

#[pymethods]
impl LogNames {
    /// The entries of all logs, names in order, newest entry first, as Arrow columns, for pyarrow, polars, pandas, duckdb or nanoarrow: what `__arrow_c_stream__` gives, chosen.
    ///
    /// `fields`: which columns, in which order; without it ref, old, new, `committer_name`, `committer_email`, time, tz,
    /// message, index (how many entries of that ref are newer: as in `ref@{index}`). There are also `update_index`,
    /// namespace, `ref_bytes`, repository. `prefix`, `glob`: only refs of such names. `oid`, `batch_rows`: as in
    /// `RefStore.columns`.
    #[cfg(feature = "arrow")]
    #[pyo3(signature = (fields=None, *, prefix=None, glob=None, oid="hex", batch_rows=BATCH_ROWS))]
    #[pyo3(text_signature = "($self, fields=None, *, prefix=None, glob=None, oid='hex', batch_rows=65536)")]
    fn columns(
        &self,
        py: Python<'_>,
        fields: Option<Bound<'_, PyAny>>,
        prefix: Option<Name<'_>>,
        glob: Option<Name<'_>>,
        oid: &str,
        batch_rows: usize,
    ) -> PyResult<Columns> {
        self.rows().columns(py, Choice { fields: fields.as_ref(), prefix, glob, oid, batch_rows })
    }

    /// All rows in the usual columns, as the Arrow PyCapsule interface has it; see `columns`.
    #[cfg(feature = "arrow")]
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.rows().stream(py, requested_schema.as_ref())
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        let name = self.names.lock().next();
        name.map(|name| refname(py, &name)).transpose()
    }
}
