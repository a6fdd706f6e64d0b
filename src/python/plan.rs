//! `Plan`: what a commit would do.

use std::ffi::OsString;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::store::Planned;

/// What a commit would do: which spans of packed-refs are kept, what is put between them, which locks are taken.
#[pyclass(frozen, module = "refspan")]
pub(crate) struct Plan {
    planned: Planned,
}

impl From<Planned> for Plan {
    fn from(planned: Planned) -> Self {
        Self { planned }
    }
}

#[pymethods]
impl Plan {
    /// The spans of the packed-refs file that are kept whole, as (start, end) in bytes; empty if it is not rewritten.
    ///
    /// (Of a file whose records are not in order: spans of its records in order.)
    #[getter]
    fn kept(&self) -> Vec<(usize, usize)> {
        self.planned.kept.iter().map(|span| (span.start, span.end)).collect()
    }

    /// The texts that are put before, between and behind them, the header first; empty if packed-refs is not rewritten.
    #[getter]
    fn put<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.planned.put.iter().map(|text| PyBytes::new(py, text)).collect()
    }

    /// What the new header claims: "peeled", "fully-peeled", "sorted"; empty if packed-refs is not rewritten.
    #[getter]
    fn traits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.planned.traits)
    }

    /// The paths of the lock files.
    #[getter]
    fn locks(&self) -> Vec<OsString> {
        self.planned.locks.iter().map(|path| path.clone().into_os_string()).collect()
    }

    fn __repr__(&self) -> String {
        let Planned { kept, put, locks, .. } = &self.planned;
        let bytes: usize = kept.iter().map(ExactSizeIterator::len).sum();
        format!("<Plan: {} spans ({bytes} bytes) kept, {} put, {} locks>", kept.len(), put.len(), locks.len())
    }
}
