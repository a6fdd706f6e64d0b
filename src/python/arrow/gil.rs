//! The GIL in a call from a consumer, who may hold it or not.
//!
//! PyO3 counts how often a thread has attached, and takes the GIL for held while that is not zero. A consumer releases it
//! in C, where nobody counts: in a Python function that refspan itself has called, the count is then wrong. So it is
//! taken by `CPython`'s own call first, which knows.

use pyo3::prelude::*;
use pyo3::{Python, ffi};

/// Runs `work` with the GIL, which is as it was afterwards; `None` if the interpreter is gone.
#[expect(unsafe_code, reason = "only CPython knows who holds the GIL; see docs/safety.md")]
pub(super) fn with_python<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    // SAFETY: it may be called at any time.
    if unsafe { ffi::Py_IsInitialized() } == 0 {
        return None;
    }
    // SAFETY: the interpreter is there; the state goes back, in this thread, when `held` is dropped.
    let held = Held(unsafe { ffi::PyGILState_Ensure() });
    let done = Python::try_attach(work);
    drop(held);
    done
}

/// The GIL, to be released to what it was.
struct Held(ffi::PyGILState_STATE);

impl Drop for Held {
    #[expect(unsafe_code, reason = "only CPython knows who holds the GIL; see docs/safety.md")]
    fn drop(&mut self) {
        // SAFETY: the state is that of the one `PyGILState_Ensure` in this thread that was not released yet; those in
        // between were released in their turn.
        unsafe { ffi::PyGILState_Release(self.0) }
    }
}

/// A Python object of a stream, which may be dropped where nobody holds the GIL.
pub(super) struct Kept(Option<Py<PyAny>>);

impl Kept {
    pub(super) fn new(object: Py<PyAny>) -> Self {
        Self(Some(object))
    }

    pub(super) fn get(&self) -> Option<&Py<PyAny>> {
        self.0.as_ref()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(object) = self.0.take() {
            let mut object = Some(object);
            with_python(|_| drop(object.take()));
            // Without an interpreter there is nothing to give back.
            std::mem::forget(object);
        }
    }
}
