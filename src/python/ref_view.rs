//! `RefView`: one record of a reader; its fields become memoryviews when asked for.

use std::os::raw::c_int;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyMemoryView, PyString, PyTuple};

use super::source::{Refusal, Source, fill, view};
use crate::model::Span;
use crate::packed::{Broken, Record};

/// One ref as it lies on disk. Readers make them; `name, oid, peeled = ref` unpacks into views.
///
/// Fields are made when asked for. Those that are memoryviews are read-only, one-dimensional views of bytes into the
/// file: no copy is made, they hash and compare like the equal `bytes`, and each keeps the file open while it is held
/// (`bytes(view)` copies). `memoryview(ref)` is the whole record. Equal only to itself.
#[pyclass(frozen, module = "refspan")]
pub(crate) struct RefView {
    source: Py<Source>,
    /// The record's parts. They change only in [`Self::point_at`].
    start: AtomicUsize,
    name_len: AtomicU32,
    has_peeled: AtomicBool,
}

impl RefView {
    #[inline]
    pub(super) fn new(source: Py<Source>, record: Record) -> Self {
        Self {
            source,
            start: AtomicUsize::new(record.start()),
            name_len: AtomicU32::new(record.name_len()),
            has_peeled: AtomicBool::new(record.has_peeled()),
        }
    }

    /// Makes it another ref of the same source. Only for an object that nobody else holds.
    #[inline]
    pub(super) fn point_at(&self, record: Record) {
        self.start.store(record.start(), Ordering::Relaxed);
        self.name_len.store(record.name_len(), Ordering::Relaxed);
        self.has_peeled.store(record.has_peeled(), Ordering::Relaxed);
    }

    #[inline]
    fn record(&self) -> Record {
        self.source.get().snapshot().record(
            self.start.load(Ordering::Relaxed),
            self.name_len.load(Ordering::Relaxed),
            self.has_peeled.load(Ordering::Relaxed),
        )
    }

    pub(super) fn name_bytes(&self) -> &[u8] {
        self.bytes(self.record().name())
    }

    fn bytes(&self, span: Span) -> &[u8] {
        self.source.get().snapshot().bytes(span)
    }

    fn hex_of(&self, span: Span) -> String {
        self.bytes(span).iter().map(|b| char::from(b.to_ascii_lowercase())).collect()
    }
}

#[pymethods]
impl RefView {
    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str, &'static str, &'static str) = ("name", "oid", "peeled");

    /// The full name, as it lies on disk; git requires no encoding.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMemoryView>> {
        view(py, &self.source, self.record().name())
    }

    /// The object id as stored: in packed-refs 40 or 64 hex digits, of whatever case the file has.
    #[getter]
    fn oid<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMemoryView>> {
        view(py, &self.source, self.record().oid())
    }

    /// What an annotated tag points at in the end, stored as `oid` is; None if the file does not say.
    #[getter]
    fn peeled<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyMemoryView>>> {
        self.record().peeled().map(|span| view(py, &self.source, span)).transpose()
    }

    /// The name a symbolic ref points at. Always None in packed-refs, which cannot hold any.
    #[getter]
    #[expect(clippy::unused_self, reason = "a getter; in packed-refs it is the same for every ref")]
    fn target(&self) -> Option<Py<PyMemoryView>> {
        None
    }

    /// The name as text: UTF-8, other bytes as lone surrogates (`surrogateescape`), whatever the locale.
    #[getter]
    fn refname<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        refname(py, self.name_bytes())
    }

    /// The object id as lower-case hex digits.
    #[getter]
    fn hex(&self) -> String {
        self.hex_of(self.record().oid())
    }

    /// The peeled object id as lower-case hex digits; None if the file does not say.
    #[getter]
    fn peeled_hex(&self) -> Option<String> {
        self.record().peeled().map(|span| self.hex_of(span))
    }

    /// What the record holds. Always "oid" in packed-refs.
    #[getter]
    #[expect(clippy::unused_self, reason = "a getter; in packed-refs it is the same for every ref")]
    fn kind(&self) -> &'static str {
        "oid"
    }

    /// Whether `peeled is None` means that the object is no annotated tag.
    ///
    /// True where a `^` line stands, under `fully-peeled`, and below `refs/tags/` under `peeled`.
    #[getter]
    fn peel_known(&self) -> bool {
        self.source.get().snapshot().peel_known(&self.record())
    }

    /// The reftable transaction that wrote the record. Always None in packed-refs.
    #[getter]
    #[expect(clippy::unused_self, reason = "a getter; in packed-refs it is the same for every ref")]
    fn update_index(&self) -> Option<u64> {
        None
    }

    /// Why the ref cannot be used, the first that holds; None if it can.
    ///
    /// "duplicate": the name stands in more than one line. "unsafe name": `git check-ref-format --allow-onelevel`
    /// refuses it, and no path may be built from it. "bad name": refused too, but harmless as a path. "zero oid".
    #[getter]
    fn broken(&self) -> Option<&'static str> {
        self.source.get().snapshot().broken(&self.record()).map(Broken::as_str)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let record = self.record();
        let field = |span| view(py, &self.source, span);
        let peeled = record.peeled().map(field).transpose()?;
        let fields: Bound<'py, PyTuple> = (field(record.name())?, field(record.oid())?, peeled).into_pyobject(py)?;
        fields.try_iter()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.refname(py)?.repr()?;
        let peeled = self.peeled_hex().map(|hex| format!(" ^{hex}")).unwrap_or_default();
        let broken = self.broken().map(|why| format!(" broken: {why}")).unwrap_or_default();
        Ok(format!("<RefView {name} {}{peeled}{broken}>", self.hex()))
    }

    #[expect(unsafe_code, reason = "the buffer protocol is a C struct; see docs/safety.md")]
    unsafe fn __getbuffer__(&self, py: Python<'_>, buffer: *mut ffi::Py_buffer, flags: c_int) -> Result<(), Refusal> {
        // SAFETY: CPython calls this with a buffer to fill in, and this function passes it on as it came.
        unsafe { fill(self.source.bind(py), self.record().span(), buffer, flags) }
    }
}

/// A refname as `str`: UTF-8, other bytes as lone surrogates (`surrogateescape`), whatever the locale.
pub(super) fn refname<'py>(py: Python<'py>, name: &[u8]) -> PyResult<Bound<'py, PyString>> {
    match std::str::from_utf8(name) {
        Ok(name) => Ok(PyString::new(py, name)),
        Err(_) => {
            PyBytes::new(py, name).call_method1("decode", ("utf-8", "surrogateescape"))?.cast_into().map_err(Into::into)
        }
    }
}
