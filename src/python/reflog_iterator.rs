//! What `for` runs over: the entries of one reflog, and the names of those that have one.

use pyo3::prelude::*;
use pyo3::types::PyString;
use spin::Mutex;

use super::error::to_py;
use super::frame::{Frame, Of};
use super::log_entry::LogEntry;
use super::ref_view::refname;
use crate::model::Error;
use crate::store::{Log, Lookup};

/// The entries of one reflog. May be shared between threads: each entry goes to one of them.
#[pyclass(frozen, extends = Frame, module = "refspan._native")]
pub(crate) struct ReflogIterator {
    refname: Vec<u8>,
    log: Mutex<Log>,
}

impl ReflogIterator {
    pub(super) fn new(
        py: Python<'_>,
        lookup: Lookup,
        refname: Vec<u8>,
        is_reverse: bool,
        log: Log,
    ) -> PyResult<Py<Self>> {
        let frame = Frame::fixed(Of::Log(lookup, refname.clone(), is_reverse));
        Py::new(py, PyClassInitializer::from(frame).add_subclass(Self { refname, log: Mutex::new(log) }))
    }
}

#[pymethods]
impl ReflogIterator {
    /// How many malformed lines have been passed over so far; git passes over them too.
    #[getter]
    fn skipped(&self) -> u64 {
        self.log.lock().skipped()
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
#[pyclass(frozen, extends = Frame, module = "refspan._native")]
pub(crate) struct LogNames(Mutex<std::vec::IntoIter<Vec<u8>>>);

impl LogNames {
    pub(super) fn new(py: Python<'_>, lookup: Lookup, names: Vec<Vec<u8>>) -> PyResult<Py<Self>> {
        let frame = Frame::fixed(Of::Logs(lookup));
        Py::new(py, PyClassInitializer::from(frame).add_subclass(Self(Mutex::new(names.into_iter()))))
    }
}

#[pymethods]
impl LogNames {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        let name = self.0.lock().next();
        name.map(|name| refname(py, &name)).transpose()
    }
}
