//! What `discover` runs over: the repositories below a folder.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use super::args;
use super::bulk::bulk;
use crate::store::Finder;

/// The paths of the repositories at and below a folder, in order.
///
/// An `OSError` for a folder that cannot be listed is raised in its turn; the next step goes on behind it.
#[pyclass(frozen, module = "refspan._native")]
pub(crate) struct RepositoryIterator(Mutex<Finder>);

#[pymethods]
impl RepositoryIterator {
    #[new]
    fn new(py: Python<'_>, root: PathBuf) -> PyResult<Self> {
        let root = args::path(root)?;
        Ok(Self(Mutex::new(bulk(py, |_| Finder::new(&root))?)))
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<OsString>> {
        let next =
            bulk(py, |interrupt| self.0.lock().unwrap_or_else(PoisonError::into_inner).next_repository(interrupt))?;
        Ok(next.map(PathBuf::into_os_string))
    }
}
