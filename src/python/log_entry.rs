//! `LogEntry`: one entry of a reflog, and the walk that yields them.

use std::path::Path;
use std::sync::Arc;

use pyo3::exceptions::{PyOSError, PyOverflowError};
use pyo3::prelude::*;
use pyo3::types::{PyDelta, PyTzInfo};
use spin::Mutex;

use super::error::to_py;
use super::frame::{Frame, Of, path_text};
use super::ref_view::refname;
use super::tables::TableSources;
use crate::model::{Oid, RefValue, Value};
use crate::reftable::LogRecord;
use crate::store::{LogItem, LogWalk};

/// One entry of a reflog. Entries are equal if all their fields are.
#[pyclass(frozen, eq, hash, module = "refspan")]
#[derive(PartialEq, Eq, Hash, Clone)]
pub(crate) struct LogEntry {
    refname: Vec<u8>,
    update_index: Option<u64>,
    update: Option<Update>,
}

#[derive(PartialEq, Eq, Hash, Clone)]
struct Update {
    old: Option<Oid>,
    new: Option<Oid>,
    name: Vec<u8>,
    email: Vec<u8>,
    time: u64,
    tz: i16,
    message: Vec<u8>,
}

impl From<LogRecord<'_>> for LogEntry {
    fn from(record: LogRecord<'_>) -> Self {
        let update = record.update.map(|update| Update::from(&LogItem::from(update)));
        Self { refname: record.refname.to_vec(), update_index: Some(record.update_index), update }
    }
}

impl LogEntry {
    /// An entry in the log of a repository's ref.
    pub(super) fn of(refname: &[u8], item: &LogItem<'_>) -> Self {
        Self { refname: refname.to_vec(), update_index: None, update: Some(item.into()) }
    }
}

impl From<&LogItem<'_>> for Update {
    fn from(item: &LogItem<'_>) -> Self {
        let oid = |value: Value<'_>| match value.to_owned() {
            Some(RefValue::Oid(oid)) => Some(oid),
            _ => None,
        };
        Self {
            old: oid(item.old),
            new: oid(item.new),
            name: item.name.to_vec(),
            email: item.email.to_vec(),
            time: item.time,
            tz: item.tz,
            message: item.message.to_vec(),
        }
    }
}

#[pymethods]
impl LogEntry {
    /// The name of the ref, as `RefView.refname`.
    #[getter]
    #[pyo3(name = "ref")]
    fn refname<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyString>> {
        refname(py, &self.refname)
    }

    /// The number of the transaction that wrote it; None in an entry of a `RefStore` or `Snapshot`.
    #[getter]
    fn update_index(&self) -> Option<u64> {
        self.update_index
    }

    /// "deletion" for the tombstone of an entry in an older table, whose other fields are then None.
    #[getter]
    fn kind(&self) -> &'static str {
        if self.update.is_some() { "update" } else { "deletion" }
    }

    /// The object id before, as lower-case hex; zeros if the ref was created.
    #[getter]
    #[pyo3(name = "old")]
    fn old_hex(&self) -> Option<String> {
        self.update.as_ref()?.old.map(|oid| oid.to_hex())
    }

    /// The object id after, as lower-case hex; zeros if the ref was deleted.
    #[getter]
    #[pyo3(name = "new")]
    fn new_hex(&self) -> Option<String> {
        self.update.as_ref()?.new.map(|oid| oid.to_hex())
    }

    /// Who did it: UTF-8, other bytes as lone surrogates.
    #[getter]
    fn committer_name<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, pyo3::types::PyString>>> {
        self.update.as_ref().map(|update| refname(py, &update.name)).transpose()
    }

    /// Their address, without angle brackets.
    #[getter]
    fn committer_email<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, pyo3::types::PyString>>> {
        self.update.as_ref().map(|update| refname(py, &update.email)).transpose()
    }

    /// When, in seconds since 1970.
    #[getter]
    fn time(&self) -> Option<u64> {
        self.update.as_ref().map(|update| update.time)
    }

    /// Their time zone as git writes it, such as "+0530".
    #[getter]
    fn tz(&self) -> Option<String> {
        self.update.as_ref().map(|update| format!("{:+05}", update.tz))
    }

    /// `time` in that zone. Raises `ValueError` or `OverflowError` where Python has no such date or zone.
    #[getter]
    fn when<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(update) = &self.update else { return Ok(None) };
        // HHMM as a decimal number, the sign for both halves.
        let minutes = i32::from(update.tz) / 100 * 60 + i32::from(update.tz) % 100;
        let zone = PyTzInfo::fixed_offset(py, PyDelta::new(py, 0, minutes * 60, 0, true)?)?;
        let datetime = py.import("datetime")?.getattr("datetime")?;
        match datetime.call_method1("fromtimestamp", (update.time, zone)) {
            Err(error) if error.is_instance_of::<PyOSError>(py) => {
                Err(PyOverflowError::new_err("no date is that far away"))
            }
            when => when.map(Some),
        }
    }

    /// What was done, without the final LF.
    #[getter]
    fn message<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, pyo3::types::PyString>>> {
        self.update.as_ref().map(|update| refname(py, &update.message)).transpose()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = refname(py, &self.refname)?.repr()?;
        let index = self.update_index.map(|index| format!(" {index}")).unwrap_or_default();
        let Some(update) = &self.update else { return Ok(format!("<LogEntry {name}{index} deleted>")) };
        let message = refname(py, &update.message)?.repr()?;
        let (old, new) = (self.old_hex().unwrap_or_default(), self.new_hex().unwrap_or_default());
        Ok(format!("<LogEntry {name}{index} {old} -> {new} {message}>"))
    }
}

/// A walk over the logs of some tables. May be shared between threads.
#[pyclass(frozen, extends = Frame, module = "refspan._native")]
pub(crate) struct LogIterator {
    tables: Arc<TableSources>,
    walk: Mutex<LogWalk>,
}

impl LogIterator {
    /// The entries of refs whose names start with `prefix`, in tables that are at `path`.
    pub(super) fn new(py: Python<'_>, tables: Arc<TableSources>, prefix: &[u8], path: &Path) -> PyResult<Py<Self>> {
        let walk = Mutex::new(tables.tables().logs(prefix));
        let frame = Frame::fixed(Of::TableLogs(tables.tables().clone(), prefix.to_vec(), path_text(path)));
        Py::new(py, PyClassInitializer::from(frame).add_subclass(Self { tables, walk }))
    }
}

#[pymethods]
impl LogIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<LogEntry>> {
        let next = {
            let mut walk = self.walk.lock();
            let next = self.tables.tables().next_log(&mut walk);
            next.map(|number| walk.cursor(number?)?.record().map(LogEntry::from))
        };
        next.map_err(|error| to_py(py, error))
    }
}
