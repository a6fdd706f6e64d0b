//! Long work: without the GIL, yet Ctrl-C ends it.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PySystemExit;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use super::error::to_py;
use crate::model::{Error, Interrupt, Result};

/// Runs `work` detached from Python. Its interrupt runs pending signal handlers, and stops it if one raises.
///
/// Python runs them in its main thread only. Other threads do not ask: they would wait for the GIL in vain, and in a
/// daemon thread the interpreter may be gone by then. When it is about to end, that stops them.
pub(super) fn bulk<T: Send>(py: Python<'_>, work: impl FnOnce(Interrupt<'_>) -> Result<T> + Send) -> PyResult<T> {
    let hears_signals = is_main_thread(py)?;
    let mut raised = None;
    let result = py.detach(|| {
        work(&mut || {
            if !hears_signals {
                return !IS_ENDING.load(Ordering::Relaxed);
            }
            // There is none to attach to at the very end of the interpreter.
            raised = Python::try_attach(|py| py.check_signals().err()).flatten();
            raised.is_none()
        })
    });
    match raised {
        Some(exception) => Err(exception),
        None if IS_ENDING.load(Ordering::Relaxed) && matches!(result, Err(Error::Interrupted)) => {
            // A thread ends by this without a word.
            Err(PySystemExit::new_err(()))
        }
        None => result.map_err(|error| to_py(py, error)),
    }
}

static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Stops long work in other threads than the main one: the interpreter is about to end.
pub(super) fn stop_threads() {
    IS_ENDING.store(true, Ordering::Relaxed);
}

/// Whether this thread is the one that sees to signals.
pub(super) fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    static IDENTS: PyOnceLock<(Py<PyAny>, u64)> = PyOnceLock::new();
    let (get_ident, main) = IDENTS.get_or_try_init(py, || -> PyResult<_> {
        let threading = py.import("threading")?;
        let main = threading.call_method0("main_thread")?.getattr("ident")?.extract()?;
        Ok((threading.getattr("get_ident")?.unbind(), main))
    })?;
    Ok(get_ident.bind(py).call0()?.extract::<u64>()? == *main)
}
