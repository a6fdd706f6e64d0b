//! `RefView`: one record of a reader; its fields become memoryviews when asked for.

use std::os::raw::c_int;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyMemoryView, PyString, PyTuple};

use super::recent::Movable;
use super::source::{Held, Refusal, Source, fill, view};
use crate::model::{Broken, Span, Value as RefValue, spell};
use crate::packed::{Record, Snapshot};
use crate::reftable::{RefBatch, RefRecord, Value};
use crate::store::{Item, LooseRefs};

/// One ref as it lies on disk. Readers make them; `name, oid, peeled = ref` unpacks into views.
///
/// Fields are made when asked for. Those that are memoryviews are read-only, one-dimensional views of bytes into the
/// file (of a table's name into its block, decoded): no copy is made, they hash and compare like the equal `bytes`, and
/// each keeps the file open while it is held (`bytes(view)` copies). `memoryview(ref)` is the whole record. Equal only
/// to itself.
#[pyclass(frozen, module = "refspan")]
pub(crate) struct RefView {
    source: Py<Source>,
    /// The [`Parts`]. They change only in [`Self::point_at`].
    place: AtomicUsize,
    name_len: AtomicU32,
    has_peeled: AtomicBool,
    /// Hex digits in front of a packed-refs name; 0 in a table. The same for all refs of a source.
    hex_len: u8,
}

/// Which ref of its source it is: of a packed-refs file where its record starts and how it is divided; of a batch, which.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    place: usize,
    name_len: u32,
    has_peeled: bool,
    hex_len: u8,
}

impl From<Record> for Parts {
    #[inline]
    fn from(record: Record) -> Self {
        Self {
            place: record.start(),
            name_len: record.name_len(),
            has_peeled: record.has_peeled(),
            hex_len: record.hex_len(),
        }
    }
}

impl From<usize> for Parts {
    #[inline]
    fn from(index: usize) -> Self {
        Self { place: index, name_len: 0, has_peeled: false, hex_len: 0 }
    }
}

/// What the ref is, as its format has it.
enum Shape<'a> {
    Packed(&'a Snapshot, Record),
    Loose(&'a LooseRefs, usize),
    Table { batch: Option<&'a RefBatch>, index: usize, record: RefRecord, table: &'a Py<Source> },
}

impl RefView {
    #[inline]
    pub(super) fn new(source: Py<Source>, parts: Parts) -> Self {
        Self {
            source,
            place: AtomicUsize::new(parts.place),
            name_len: AtomicU32::new(parts.name_len),
            has_peeled: AtomicBool::new(parts.has_peeled),
            hex_len: parts.hex_len,
        }
    }

    #[inline(always)]
    fn shape(&self) -> Shape<'_> {
        let place = self.place.load(Ordering::Relaxed);
        match self.source.get().held() {
            Held::Packed(file) => {
                let name_len = self.name_len.load(Ordering::Relaxed);
                let has_peeled = self.has_peeled.load(Ordering::Relaxed);
                Shape::Packed(file.snapshot(), file.snapshot().record(place, name_len, has_peeled))
            }
            Held::Loose(refs) => Shape::Loose(refs, place),
            Held::Batch { batch, table } => {
                let record = batch.get(place).copied().unwrap_or_default();
                Shape::Table { batch: Some(batch), index: place, record, table }
            }
            // Without decoded names a table has no ref to show.
            Held::Table(_) => {
                Shape::Table { batch: None, index: place, record: RefRecord::default(), table: &self.source }
            }
        }
    }

    #[inline]
    fn name_span(&self) -> Span {
        match self.shape() {
            Shape::Packed(_, record) => record.name(),
            Shape::Loose(refs, i) => refs.name_span(i),
            Shape::Table { record, .. } => record.name(),
        }
    }

    /// Its name.
    #[inline]
    pub(super) fn quick_name(&self) -> &[u8] {
        let span = match usize::from(self.hex_len) {
            0 => self.name_span(),
            hex_len => {
                let start = self.place.load(Ordering::Relaxed).wrapping_add(hex_len).wrapping_add(1);
                start..start.wrapping_add(self.name_len.load(Ordering::Relaxed) as usize)
            }
        };
        self.source.get().bytes(span)
    }

    /// What it holds.
    #[inline]
    pub(super) fn quick_value(&self) -> RefValue<'_> {
        match usize::from(self.hex_len) {
            0 => self.item().value(),
            hex_len => {
                let start = self.place.load(Ordering::Relaxed);
                RefValue::Hex(self.source.get().bytes(start..start.wrapping_add(hex_len)))
            }
        }
    }

    /// The ref, as the core sees it.
    #[inline]
    pub(super) fn item(&self) -> Item<'_> {
        match self.shape() {
            Shape::Packed(snapshot, record) => Item::Packed(snapshot, record, false),
            Shape::Loose(refs, i) => Item::Loose(refs, i),
            Shape::Table { batch, index, table, .. } => match (batch, table.get().held()) {
                (Some(batch), Held::Table(file)) => Item::Table(batch, index, file.table().data()),
                _ => Item::Loose(LooseRefs::none(), 0),
            },
        }
    }

    /// Object id, peeled object id and target, and the source whose spans they are.
    fn values(&self) -> (&Py<Source>, [Option<Span>; 3]) {
        match self.shape() {
            Shape::Packed(snapshot, record) => (&self.source, [Some(record.oid()), snapshot.peeled(&record), None]),
            // Only a `Ref` is of a loose ref, and has no use for spans.
            Shape::Loose(..) => (&self.source, [None, None, None]),
            Shape::Table { record, table, .. } => (
                table,
                match record.value() {
                    Value::Deletion => [None, None, None],
                    Value::Oid(oid) => [Some(oid), None, None],
                    Value::Peeled(oid, peeled) => [Some(oid), Some(peeled), None],
                    Value::Symref(target) => [None, None, Some(target)],
                },
            ),
        }
    }

    pub(super) fn record_view<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMemoryView>> {
        let (source, span) = self.record_span();
        view(py, source, span)
    }

    fn record_span(&self) -> (&Py<Source>, Span) {
        match self.shape() {
            Shape::Packed(_, record) => (&self.source, record.span()),
            Shape::Loose(refs, i) => (&self.source, refs.name_span(i)),
            Shape::Table { record, table, .. } => (table, record.span()),
        }
    }

    pub(super) fn name_bytes(&self) -> &[u8] {
        self.source.get().bytes(self.name_span())
    }

    /// The `which`th of the values as lower-case hex.
    fn hex_of<'py>(&self, py: Python<'py>, which: usize) -> PyResult<Option<Bound<'py, PyString>>> {
        let (source, mut values) = self.values();
        let Some(span) = values[which].take() else { return Ok(None) };
        let bytes = source.get().bytes(span);
        hex_text(
            py,
            match self.source.get().held() {
                Held::Packed(_) => RefValue::Hex(bytes),
                Held::Table(_) | Held::Batch { .. } | Held::Loose(_) => RefValue::Raw(bytes),
            },
        )
    }

    fn value_view<'py>(&self, py: Python<'py>, which: usize) -> PyResult<Option<Bound<'py, PyMemoryView>>> {
        let (source, mut values) = self.values();
        values[which].take().map(|span| view(py, source, span)).transpose()
    }
}

impl Movable for RefView {
    #[inline]
    fn point_at(&self, parts: Parts) {
        self.place.store(parts.place, Ordering::Relaxed);
        self.name_len.store(parts.name_len, Ordering::Relaxed);
        self.has_peeled.store(parts.has_peeled, Ordering::Relaxed);
    }

    #[inline]
    fn is_of(&self, source: &Py<Source>) -> bool {
        self.source.is(source)
    }
}

#[pymethods]
impl RefView {
    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str, &'static str, &'static str) = ("name", "oid", "peeled");

    /// The full name, as it lies on disk; git requires no encoding.
    #[getter]
    #[inline(always)]
    fn name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMemoryView>> {
        // With the object id the most common question of all: answered without a look at the source.
        let span = match usize::from(self.hex_len) {
            0 => self.name_span(),
            hex_len => {
                let start = self.place.load(Ordering::Relaxed).wrapping_add(hex_len).wrapping_add(1);
                start..start.wrapping_add(self.name_len.load(Ordering::Relaxed) as usize)
            }
        };
        view(py, &self.source, span)
    }

    /// The object id as stored: in packed-refs 40 or 64 hex digits, of whatever case the file has; in a table 20 or
    /// 32 raw bytes. None if the ref is symbolic or a tombstone.
    #[getter]
    #[inline(always)]
    fn oid<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match usize::from(self.hex_len) {
            0 => Ok(self.value_view(py, 0)?.into_pyobject(py)?),
            hex_len => {
                let start = self.place.load(Ordering::Relaxed);
                Ok(view(py, &self.source, start..start.wrapping_add(hex_len))?.into_any())
            }
        }
    }

    /// What an annotated tag points at in the end, stored as `oid` is; None if the file does not say.
    #[getter]
    fn peeled<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyMemoryView>>> {
        self.value_view(py, 1)
    }

    /// The name that a symbolic ref points at; None for others, hence always in packed-refs.
    #[getter]
    fn target<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyMemoryView>>> {
        self.value_view(py, 2)
    }

    /// The name as text: UTF-8, other bytes as lone surrogates (`surrogateescape`), whatever the locale.
    #[getter]
    fn refname<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        refname(py, self.name_bytes())
    }

    /// The object id as lower-case hex digits; None if there is none.
    #[getter]
    fn hex<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        self.hex_of(py, 0)
    }

    /// The peeled object id as lower-case hex digits; None if the file does not say.
    #[getter]
    fn peeled_hex<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        self.hex_of(py, 1)
    }

    /// What the record holds. Always "oid" in packed-refs; "deletion" only in a single table.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.shape() {
            Shape::Packed(..) | Shape::Loose(..) => "oid",
            Shape::Table { record, .. } => match record.value() {
                Value::Oid(_) | Value::Peeled(..) => "oid",
                Value::Symref(_) => "symref",
                Value::Deletion => "deletion",
            },
        }
    }

    /// Whether `peeled is None` means that the object is no annotated tag.
    ///
    /// In packed-refs true where a `^` line stands, under `fully-peeled`, and below `refs/tags/` under `peeled`; in a
    /// table where there is a peeled value.
    #[getter]
    fn peel_known(&self) -> bool {
        match self.shape() {
            Shape::Packed(snapshot, record) => snapshot.peel_known(&record),
            Shape::Loose(..) => false,
            Shape::Table { record, .. } => matches!(record.value(), Value::Peeled(..)),
        }
    }

    /// The number of the transaction that wrote the record; None in packed-refs.
    #[getter]
    fn update_index(&self) -> Option<u64> {
        match self.shape() {
            Shape::Packed(..) | Shape::Loose(..) => None,
            Shape::Table { record, .. } => Some(record.update_index),
        }
    }

    /// Why the ref cannot be used, the first that holds; None if it can.
    ///
    /// "duplicate": the name stands in more than one line. "unsafe name": `git check-ref-format --allow-onelevel`
    /// refuses it, and no path may be built from it. "bad name": refused too, but harmless as a path. "zero oid".
    /// "bad target": a symbolic ref to what cannot be a refname.
    #[getter]
    pub(super) fn broken(&self) -> Option<&'static str> {
        match self.item() {
            Item::Packed(snapshot, record, _) => snapshot.broken(&record),
            item => item.broken(),
        }
        .map(Broken::as_str)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let (source, [oid, peeled, _]) = self.values();
        let field = |span: Option<Span>| span.map(|span| view(py, source, span)).transpose();
        let fields: Bound<'py, PyTuple> = (self.name(py)?, field(oid)?, field(peeled)?).into_pyobject(py)?;
        fields.try_iter()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.refname(py)?.repr()?;
        let value = match (self.hex(py)?.map(|hex| hex.to_string()), self.values()) {
            (Some(hex), _) => hex,
            (None, (source, [_, _, Some(target)])) => {
                format!("-> {}", refname(py, source.get().bytes(target))?.repr()?)
            }
            (None, _) => "deleted".to_owned(),
        };
        let peeled = self.peeled_hex(py)?.map(|hex| format!(" ^{hex}")).unwrap_or_default();
        let broken = self.broken().map(|why| format!(" broken: {why}")).unwrap_or_default();
        Ok(format!("<RefView {name} {value}{peeled}{broken}>"))
    }

    #[expect(unsafe_code, reason = "the buffer protocol is a C struct; see docs/safety.md")]
    unsafe fn __getbuffer__(&self, py: Python<'_>, buffer: *mut ffi::Py_buffer, flags: c_int) -> Result<(), Refusal> {
        let (source, span) = self.record_span();
        // SAFETY: CPython calls this with a buffer to fill in, and this function passes it on as it came.
        unsafe { fill(source.bind(py), Some(span), buffer, flags) }
    }
}

/// A refname as `str`: UTF-8, other bytes as lone surrogates (`surrogateescape`), whatever the locale.
pub(super) fn refname<'py>(py: Python<'py>, name: &[u8]) -> PyResult<Bound<'py, PyString>> {
    // A copy first: a mapped file that is changed in place must not change between the check and the use.
    let mut short = [0; 128];
    match short.get_mut(..name.len()) {
        Some(copy) => {
            copy.copy_from_slice(name);
            decode(py, copy)
        }
        None => decode(py, &Vec::from(name)),
    }
}

#[inline]
fn decode<'py>(py: Python<'py>, name: &[u8]) -> PyResult<Bound<'py, PyString>> {
    if let Ok(text) = PyString::from_bytes(py, name) {
        return Ok(text);
    }
    let bytes = PyBytes::new(py, name);
    bytes.call_method1("decode", ("utf-8", "surrogateescape"))?.cast_into().map_err(Into::into)
}

/// An object id as lower-case hex; `None` for what is none.
#[inline]
pub(super) fn hex_text<'py>(py: Python<'py>, value: RefValue<'_>) -> PyResult<Option<Bound<'py, PyString>>> {
    match value {
        // Of known width the compiler makes whole-vector operations of it.
        RefValue::Hex(hex) => match (<&[u8; 40]>::try_from(hex), <&[u8; 64]>::try_from(hex)) {
            (Ok(hex), _) => decode(py, &hex.map(|digit| digit.to_ascii_lowercase())).map(Some),
            (_, Ok(hex)) => decode(py, &hex.map(|digit| digit.to_ascii_lowercase())).map(Some),
            _ => Ok(None),
        },
        RefValue::Raw(raw) => {
            let mut room = [0; 64];
            spell(raw, &mut room).map(|digits| decode(py, digits)).transpose()
        }
        RefValue::Symref(_) | RefValue::Nothing => Ok(None),
    }
}
