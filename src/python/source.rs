//! The buffer exporter: what a reader, its iterators and its `RefView`s share, and what their memoryviews pin.
//!
//! A memoryview is made by asking an object for a buffer, without saying which span. So a span is *lent* to the source
//! first, which then exports just that. Only one can be lent at a time; should making the view run other code that
//! wants a view too (a garbage collection may, another thread may), that one goes through an exporter of its own.
//! Each view has its own counter either way: on free-threaded Python a shared one is not safe.

use std::os::raw::c_int;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::model::Span;
use crate::packed::Snapshot;
use crate::store::PackedFile;

/// A file as it was opened. `memoryview.obj` of every view into it.
#[pyclass(frozen, module = "refspan._native")]
pub(super) struct Source {
    file: PackedFile,
    lent: AtomicBool,
    start: AtomicUsize,
    end: AtomicUsize,
}

impl Source {
    pub(super) fn new(file: PackedFile) -> Self {
        Self { file, lent: AtomicBool::new(false), start: AtomicUsize::new(0), end: AtomicUsize::new(0) }
    }

    #[inline]
    pub(super) fn file(&self) -> &PackedFile {
        &self.file
    }

    #[inline]
    pub(super) fn snapshot(&self) -> &Snapshot {
        self.file.snapshot()
    }
}

/// A read-only memoryview of a span of the source.
#[inline(always)]
pub(super) fn view<'py>(py: Python<'py>, source: &Py<Source>, span: Span) -> PyResult<Bound<'py, PyMemoryView>> {
    let this = source.get();
    let Some(_loan) = Loan::take(&this.lent) else {
        let exporter = Bound::new(py, Exporter { source: source.clone_ref(py), span })?;
        return PyMemoryView::from(exporter.as_any());
    };
    this.start.store(span.start, Ordering::Relaxed);
    this.end.store(span.end, Ordering::Relaxed);
    PyMemoryView::from(source.bind(py).as_any())
}

/// The right to lend a span, until it is dropped.
struct Loan<'a>(&'a AtomicBool);

impl<'a> Loan<'a> {
    /// `None` if a span is lent already.
    #[inline(always)]
    fn take(lent: &'a AtomicBool) -> Option<Self> {
        let was_lent = if cfg!(Py_GIL_DISABLED) {
            lent.swap(true, Ordering::Acquire)
        } else {
            // Under the GIL nobody comes in between, and this is cheaper.
            let was_lent = lent.load(Ordering::Relaxed);
            lent.store(true, Ordering::Relaxed);
            was_lent
        };
        (!was_lent).then(|| Self(lent))
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[pymethods]
impl Source {
    #[expect(unsafe_code, reason = "the buffer protocol is a C struct; see docs/safety.md")]
    unsafe fn __getbuffer__(slf: &Bound<'_, Self>, buffer: *mut ffi::Py_buffer, flags: c_int) -> Result<(), Refusal> {
        let this = slf.get();
        if !this.lent.load(Ordering::Relaxed) {
            return Err(Refusal("no span is lent: take a view from a reader or a RefView"));
        }
        let span = this.start.load(Ordering::Relaxed)..this.end.load(Ordering::Relaxed);
        // SAFETY: CPython calls this with a buffer to fill in, and this function passes it on as it came.
        unsafe { fill(slf, span, buffer, flags) }
    }

    fn __repr__(&self) -> String {
        format!("<the file {} as it was opened>", self.file.path().display())
    }
}

/// One span of a source that has another one lent.
#[pyclass(frozen, module = "refspan._native")]
struct Exporter {
    source: Py<Source>,
    span: Span,
}

#[pymethods]
impl Exporter {
    #[expect(unsafe_code, reason = "the buffer protocol is a C struct; see docs/safety.md")]
    unsafe fn __getbuffer__(&self, py: Python<'_>, buffer: *mut ffi::Py_buffer, flags: c_int) -> Result<(), Refusal> {
        // SAFETY: CPython calls this with a buffer to fill in, and this function passes it on as it came.
        unsafe { fill(self.source.bind(py), self.span.clone(), buffer, flags) }
    }
}

/// Fills in a buffer with a span of the source and makes the source its owner.
///
/// # Safety
/// `buffer` is null or points to a `Py_buffer` that may be written, as `bf_getbuffer` receives it.
#[inline(always)]
#[expect(unsafe_code, reason = "the buffer protocol is a C struct; see docs/safety.md")]
pub(super) unsafe fn fill(
    source: &Bound<'_, Source>,
    span: Span,
    buffer: *mut ffi::Py_buffer,
    flags: c_int,
) -> Result<(), Refusal> {
    let bytes = source.get().snapshot().bytes(span);
    let Ok(len) = ffi::Py_ssize_t::try_from(bytes.len()) else { return Err(Refusal("the span is too long")) };
    if buffer.is_null() {
        return Err(Refusal("there is no buffer to fill in"));
    }
    // SAFETY: `bytes` lies in the source's snapshot, which never changes or moves while the source lives, and
    // PyBuffer_FillInfo makes the buffer own a reference to the source. It is told that the bytes are read-only, so it
    // refuses writers; the cast to *mut is what its C signature asks for. On failure it leaves `obj` null.
    let done = unsafe { ffi::PyBuffer_FillInfo(buffer, source.as_ptr(), bytes.as_ptr() as *mut _, len, 1, flags) };
    if done == 0 { Ok(()) } else { Err(Refusal("the bytes are read-only")) }
}

/// Why no buffer was given. (A type of its own, as small as can be: it is made for every view.)
pub(super) struct Refusal(&'static str);

impl From<Refusal> for PyErr {
    #[cold]
    fn from(refusal: Refusal) -> Self {
        // PyBuffer_FillInfo has raised already; nothing else has.
        Python::attach(PyErr::take).unwrap_or_else(|| PyBufferError::new_err(refusal.0))
    }
}
