//! Core errors as Python exceptions. The classes are Python's own (`refspan/errors.py`): they inherit from two bases.

use std::io;
use std::path::Path;

use pyo3::exceptions::{PyMemoryError, PyOSError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyString, PyType};

use super::ref_view::refname;
use crate::model::Error;

/// The exception for a core error.
pub(super) fn to_py(py: Python<'_>, error: Error) -> PyErr {
    match error {
        Error::Corrupt { path, offset, line, reason } => {
            raise(py, "CorruptError", (path.as_os_str(), offset, line, reason))
        }
        Error::Io { path, source } => os_error(py, &path, &source),
        Error::RefName { name, reason } => raise(py, "RefNameError", (PyBytes::new(py, &name), reason)),
        Error::NoRepository(path) => raise(py, "RepositoryNotFoundError", (path.as_os_str(),)),
        Error::Unsupported { .. } => raise(py, "UnsupportedError", (error.to_string(),)),
        Error::NoRef(name) => raise(py, "RefNotFoundError", (Text(name),)),
        Error::Locked { path, age } => raise(py, "LockedError", (path.as_os_str(), age.as_secs_f64())),
        Error::Conflict { name, other } => raise(py, "ConflictError", (Text(name), Text(other))),
        Error::CaseConflict { name, other } => raise(py, "CaseConflictError", (Text(name), Text(other))),
        Error::RefExists(name) => raise(py, "RefExistsError", (Text(name),)),
        Error::Stale { name, expected, actual } => {
            raise(py, "StaleError", (Text(name), expected.to_hex(), actual.to_hex()))
        }
        Error::InvalidValue { name, value, reason } => {
            raise(py, "InvalidValueError", (Text(name), value.to_hex(), reason))
        }
        Error::State(reason) => raise(py, "TransactionStateError", (reason,)),
        // Only an interrupt of `bulk` says so, and that has the exception at hand.
        Error::Interrupted => pyo3::exceptions::PyKeyboardInterrupt::new_err(()),
    }
}

/// A refname as Python spells it.
struct Text(Vec<u8>);

impl<'py> IntoPyObject<'py> for Text {
    type Target = PyString;
    type Output = Bound<'py, PyString>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        refname(py, &self.0)
    }
}

/// An exception of `refspan.errors`, made with these arguments.
pub(super) fn raise<'py>(py: Python<'py>, class: &str, args: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    let build = || errors(py)?.getattr(class)?.cast_into::<PyType>()?.call1(args);
    match build() {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// `refspan.errors`. Asked for when the package is imported: while the interpreter shuts down it could not be.
pub(super) fn errors(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    Ok(ERRORS.get_or_try_init(py, || py.import("refspan.errors").map(Bound::unbind))?.bind(py))
}

/// `OSError` with `errno`, `strerror` and `filename`, from which Python picks the subclass.
fn os_error(py: Python<'_>, path: &Path, source: &io::Error) -> PyErr {
    const EINVAL: i32 = 22;
    if source.kind() == io::ErrorKind::OutOfMemory {
        return PyMemoryError::new_err(source.to_string());
    }
    let filename = path.as_os_str().to_owned();
    match source.raw_os_error() {
        Some(errno) => match py.import("os").and_then(|os| os.call_method1("strerror", (errno,))) {
            Ok(message) => PyOSError::new_err((errno, message.unbind(), filename)),
            Err(error) => error,
        },
        None => PyOSError::new_err((EINVAL, source.to_string(), filename)),
    }
}
