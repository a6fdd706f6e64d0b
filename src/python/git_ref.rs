//! `Ref` and `Symref`: a ref of a repository, whose fields are text, and the value of a symbolic one.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::args::Name;
use super::bulk::bulk;
use super::recent::Movable;
use super::ref_view::{Parts, RefView, hex_text, refname};
use super::source::{Held, Source};
use crate::model::{Oid, RefValue, Value};
use crate::store::{Entry, Item, Peeled, Repository};

/// One ref of a repository, the same in both formats. Equal if name, value and `broken` are.
#[pyclass(frozen, module = "refspan")]
pub(crate) struct Ref {
    view: RefView,
    repository: Option<Arc<Repository>>,
}

impl Ref {
    pub(super) fn new(source: Py<Source>, parts: Parts, repository: Option<Arc<Repository>>) -> Self {
        Self { view: RefView::new(source, parts), repository }
    }

    /// A ref that was looked up.
    pub(super) fn of(py: Python<'_>, entry: Entry, repository: Option<&Arc<Repository>>) -> PyResult<Self> {
        let (held, parts) = match entry {
            Entry::Packed(file, record) => (Held::Packed(file), record.into()),
            Entry::Loose(refs, i) => (Held::Loose(refs), i.into()),
            Entry::Table(tables, found) => {
                let file = tables.files()[found.table].clone();
                let table = Source::new(py, Held::Table(file))?;
                (Held::Batch { batch: found.batch, table }, found.index.into())
            }
        };
        Ok(Self::new(Source::new(py, held)?, parts, repository.cloned()))
    }

    pub(super) fn name_bytes(&self) -> &[u8] {
        self.view.item().name()
    }

    pub(super) fn is_symbolic(&self) -> bool {
        matches!(self.view.item().value(), Value::Symref(_))
    }

    /// The object id that it holds itself.
    pub(super) fn direct_oid(&self) -> Option<Oid> {
        match self.view.item().value().to_owned()? {
            RefValue::Oid(oid) => Some(oid),
            RefValue::Symref(_) => None,
        }
    }

    fn peeled_oid(&self, py: Python<'_>, oid: Oid) -> PyResult<Option<Oid>> {
        let Some(repository) = &self.repository else { return Ok(None) };
        bulk(py, |_| Ok(repository.objects.asker()?.peel(&oid)))
    }
}

impl Movable for Ref {
    #[inline]
    fn is_of(&self, source: &Py<Source>) -> bool {
        self.view.is_of(source)
    }

    #[inline]
    fn point_at(&self, parts: Parts) {
        self.view.point_at(parts);
    }
}

#[pymethods]
impl Ref {
    /// The full name: UTF-8, other bytes as lone surrogates (`surrogateescape`), whatever the locale.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        refname(py, self.view.quick_name())
    }

    /// The object id as lower-case hex; None if the ref is symbolic or its content is no object id.
    #[getter]
    fn oid<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        hex_text(py, self.view.quick_value())
    }

    /// The name that a symbolic ref points at; None for others.
    #[getter]
    fn target<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        match self.view.item().value() {
            Value::Symref(target) => refname(py, target).map(Some),
            _ => Ok(None),
        }
    }

    /// What an annotated tag points at in the end, as lower-case hex; None for what is no annotated tag.
    ///
    /// Where the storage says nothing, the object database is asked, whatever the header of packed-refs claims; None if
    /// the object cannot be read there. `CorruptError` if the database cannot be opened (alternates that lead round).
    #[getter]
    fn peeled<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        let item = self.view.item();
        match item.peeled() {
            Peeled::To(value) => hex_text(py, value),
            // Git 2.53 and newer may claim `fully-peeled` over tags that are not, so what says nothing is not believed.
            Peeled::Nowhere | Peeled::Unknown => match item.value().to_owned() {
                Some(RefValue::Oid(oid)) => {
                    let peeled = self.peeled_oid(py, oid)?;
                    Ok(peeled.map(|peeled| hex_text(py, Value::Raw(peeled.as_raw()))).transpose()?.flatten())
                }
                _ => Ok(None),
            },
        }
    }

    /// Why the ref cannot be used, the first that holds; None if it can.
    ///
    /// "unsafe name", "bad name", "zero oid", "bad target" and "duplicate" as for `RefView.broken`; "bad content": the
    /// file is neither an object id nor a symbolic ref; "not a file": a socket, device or FIFO; "symlink loop".
    #[getter]
    fn broken(&self) -> Option<&'static str> {
        self.view.broken()
    }

    fn __eq__(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.view.item(), other.view.item());
        mine.name() == theirs.name() && mine.value().is(theirs.value()) && self.broken() == other.broken()
    }

    fn __hash__(&self) -> u64 {
        let item = self.view.item();
        let mut hasher = DefaultHasher::new();
        (item.name(), item.value().to_owned()).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.name(py)?.repr()?;
        let value = match (self.oid(py)?, self.target(py)?) {
            (Some(oid), _) => format!(" {oid}"),
            (None, Some(target)) => format!(" -> {}", target.repr()?),
            (None, None) => String::new(),
        };
        let broken = self.broken().map(|why| format!(" broken: {why}")).unwrap_or_default();
        Ok(format!("<Ref {name}{value}{broken}>"))
    }
}

/// What an annotated tag points at in the end as `git show-ref -d` has it, and a frame; as lower-case hex.
///
/// Unlike `Ref.peeled` it believes what packed-refs claims, and asks the objects only where that claims nothing, and for
/// loose refs.
#[pyfunction]
pub(super) fn listed_peel<'py>(py: Python<'py>, found: &Bound<'py, Ref>) -> PyResult<Option<Bound<'py, PyString>>> {
    let found = found.get();
    let item = found.view.item();
    match (item.peeled(), found.direct_oid()) {
        (Peeled::To(value), _) => hex_text(py, value),
        (Peeled::Unknown, Some(oid)) if !matches!(item, Item::Table(..)) => {
            let peeled = found.peeled_oid(py, oid)?;
            Ok(peeled.map(|peeled| hex_text(py, Value::Raw(peeled.as_raw()))).transpose()?.flatten())
        }
        _ => Ok(None),
    }
}

/// Where a ref was read from: "loose", "packed" or "table".
#[pyfunction]
pub(super) fn storage(found: &Bound<'_, Ref>) -> &'static str {
    match found.get().view.item() {
        Item::Packed(..) => "packed",
        Item::Loose(..) => "loose",
        Item::Table(..) => "table",
    }
}

/// The value of a symbolic ref: the name of another ref. Equal to another one with the same target.
#[pyclass(frozen, eq, hash, module = "refspan")]
#[derive(PartialEq, Eq, Hash, Clone)]
pub(crate) struct Symref {
    target: Vec<u8>,
}

impl From<Vec<u8>> for Symref {
    fn from(target: Vec<u8>) -> Self {
        Self { target }
    }
}

#[pymethods]
impl Symref {
    #[new]
    fn new(target: Name<'_>) -> Self {
        Self { target: target.as_bytes().to_vec() }
    }

    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str,) = ("target",);

    /// The name it points at.
    #[getter]
    fn target<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        refname(py, &self.target)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Symref({})", self.target(py)?.repr()?))
    }
}
