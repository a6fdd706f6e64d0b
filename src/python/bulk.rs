//! Long work: without the GIL, yet Ctrl-C ends it.

use pyo3::prelude::*;

use super::error::to_py;
use crate::model::{Interrupt, Result};

#[expect(clippy::redundant_closure_for_method_calls, reason = "the method alone is not general enough in its lifetime")]
/// Runs `work` detached from Python. Its interrupt runs pending signal handlers, and stops it if one raises.
pub(super) fn bulk<T: Send>(py: Python<'_>, work: impl FnOnce(Interrupt<'_>) -> Result<T> + Send) -> PyResult<T> {
    let mut raised = None;
    let result = py.detach(|| {
        work(&mut || {
            raised = Python::attach(|py| py.check_signals()).err();
            raised.is_none()
        })
    });
    match raised {
        Some(exception) => Err(exception),
        None => result.map_err(|error| to_py(py, error)),
    }
}
