//! The buffer exporter: what readers, iterators and `RefView`s share, and what their memoryviews pin.
//!
//! A source holds bytes that never change: a packed-refs file, a table, or the decoded names of a part of a block. A
//! memoryview is made by asking an object for a buffer, without saying which span. So a span is *lent* to the source
//! first, which then exports just that. Only one can be lent at a time; should making the view run other code that
//! wants a view too (a garbage collection may, another thread may), that one goes through an exporter of its own.
//! Each view has its own counter either way: on free-threaded Python a shared one is not safe.

use std::os::raw::c_int;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::model::Span;
use crate::reftable::RefBatch;
use crate::store::{LooseRefs, PackedFile, TableFile};

/// Bytes that never change, and what they are of.
pub(super) enum Held {
    /// A packed-refs file.
    Packed(Arc<PackedFile>),
    /// A table.
    Table(Arc<TableFile>),
    /// Loose refs, copied into memory.
    Loose(Arc<LooseRefs>),
    /// The names of some of a table's records. The values lie in the table.
    Batch {
        /// The records.
        batch: Arc<RefBatch>,
        /// Their table.
        table: Py<Source>,
    },
}

/// What `memoryview.obj` of every view is.
#[pyclass(frozen, module = "refspan._native")]
pub(super) struct Source {
    held: Held,
    lent: AtomicBool,
    start: AtomicUsize,
    end: AtomicUsize,
}

impl Source {
    pub(super) fn new(py: Python<'_>, held: Held) -> PyResult<Py<Self>> {
        let (start, end) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Py::new(py, Self { held, lent: AtomicBool::new(false), start, end })
    }

    #[inline]
    pub(super) fn held(&self) -> &Held {
        &self.held
    }

    /// The bytes of a span.
    #[inline]
    pub(super) fn bytes(&self, span: Span) -> &[u8] {
        let data = match &self.held {
            Held::Packed(file) => file.snapshot().data(),
            Held::Table(file) => file.table().data(),
            Held::Loose(refs) => refs.bytes(),
            Held::Batch { batch, .. } => batch.names(),
        };
        data.get(span).unwrap_or_default()
    }

    fn path(&self) -> &Path {
        match &self.held {
            Held::Packed(file) => file.path(),
            Held::Table(file) => file.path(),
            Held::Loose(_) => Path::new("refs"),
            Held::Batch { table, .. } => table.get().path(),
        }
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
        // Not `then_some`: a loan that is made is ended when it is dropped.
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
        let span = this.start.load(Ordering::Relaxed)..this.end.load(Ordering::Relaxed);
        let span = Some(span).filter(|_| this.lent.load(Ordering::Relaxed));
        // SAFETY: CPython calls this with a buffer to fill in, and this function passes it on as it came.
        unsafe { fill(slf, span, buffer, flags) }
    }

    fn __repr__(&self) -> String {
        format!("<the file {} as it was opened>", self.path().display())
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
        unsafe { fill(self.source.bind(py), Some(self.span.clone()), buffer, flags) }
    }
}

/// Fills in a buffer with a span of the source, if one is lent, and makes the source its owner.
///
/// # Safety
/// `buffer` is null or points to a `Py_buffer` that may be written, as `bf_getbuffer` receives it.
#[inline(always)]
#[expect(unsafe_code, reason = "the buffer protocol is a C struct; see docs/safety.md")]
pub(super) unsafe fn fill(
    source: &Bound<'_, Source>,
    span: Option<Span>,
    buffer: *mut ffi::Py_buffer,
    flags: c_int,
) -> Result<(), Refusal> {
    if buffer.is_null() {
        return Err(Refusal("there is no buffer to fill in"));
    }
    // SAFETY: it is not null, hence may be written. The protocol wants no owner where there is no buffer in the end.
    unsafe { (*buffer).obj = std::ptr::null_mut() };
    let span = span.ok_or(Refusal("no span is lent: take a view from a reader or a RefView"))?;
    let bytes = source.get().bytes(span);
    let Ok(len) = ffi::Py_ssize_t::try_from(bytes.len()) else { return Err(Refusal("the span is too long")) };
    // SAFETY: `bytes` lies in what the source holds, which never changes or moves while the source lives, and
    // PyBuffer_FillInfo makes the buffer own a reference to the source. It is told that the bytes are read-only, so it
    // refuses writers; the cast to *mut is what its C signature asks for. On failure it leaves the buffer alone.
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
