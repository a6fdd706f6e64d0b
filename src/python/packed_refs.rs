//! `PackedRefs`: a packed-refs file, read as it lies on disk.

use std::ffi::OsStr;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyFrozenSet;

use super::args::{self, Name};
use super::bulk::bulk;
use super::error::{raise, to_py};
use super::iterators::{Found, Item, Walk};
use super::ref_view::{RefView, refname};
use super::source::Source;
use crate::model::HashKind;
use crate::packed::{Selection, Snapshot};
use crate::store::PackedFile;

/// A packed-refs file.
#[pyclass(frozen, weakref, module = "refspan")]
pub(crate) struct PackedRefs {
    source: Py<Source>,
}

impl PackedRefs {
    pub(super) fn source(&self) -> &Py<Source> {
        &self.source
    }

    fn file(&self) -> &PackedFile {
        self.source.get().file()
    }

    fn snapshot(&self) -> &Snapshot {
        self.source.get().snapshot()
    }

    fn count(&self, py: Python<'_>) -> PyResult<usize> {
        let file = self.file();
        bulk(py, |interrupt| file.count(interrupt))
    }

    fn walk(&self, py: Python<'_>, selection: Selection<'_>, item: Item) -> PyResult<Walk> {
        let cursor = self.file().select(selection).map_err(|error| to_py(py, error))?;
        Ok(Walk::new(self.source.clone_ref(py), cursor, item))
    }

    fn find(&self, py: Python<'_>, name: &Name<'_>) -> PyResult<Option<RefView>> {
        let found = self.file().find(name.as_bytes()).map_err(|error| to_py(py, error))?;
        Ok(found.map(|record| RefView::new(self.source.clone_ref(py), record)))
    }
}

#[pymethods]
impl PackedRefs {
    #[new]
    #[pyo3(signature = (path, *, hash=None, mmap=true))]
    fn new(py: Python<'_>, path: PathBuf, hash: Option<&str>, mmap: bool) -> PyResult<Self> {
        let path = args::path(path)?;
        let hash = args::hash(hash)?;
        let file = bulk(py, |interrupt| PackedFile::open(path, hash, mmap, interrupt))?;
        Ok(Self { source: Py::new(py, Source::new(file))? })
    }

    #[getter]
    fn path(&self) -> &OsStr {
        self.file().path().as_os_str()
    }

    #[getter]
    fn hash(&self) -> Option<&'static str> {
        self.snapshot().hash().map(HashKind::name)
    }

    #[getter]
    fn traits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        PyFrozenSet::new(py, self.snapshot().header().traits())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.count(py)
    }

    fn __bool__(&self) -> bool {
        !self.snapshot().is_empty()
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Walk> {
        self.walk(py, Selection::default(), Item::Ref)
    }

    #[pyo3(signature = (prefix=None, *, start_after=None, exclude=Vec::new()), text_signature = "($self, prefix=None, *, start_after=None, exclude=())")]
    fn refs(
        &self,
        py: Python<'_>,
        prefix: Option<Name<'_>>,
        start_after: Option<Name<'_>>,
        exclude: Vec<Name<'_>>,
    ) -> PyResult<Walk> {
        args::not_patterns(py, &exclude)?;
        let exclude: Vec<&[u8]> = exclude.iter().map(Name::as_bytes).collect();
        let prefix = prefix.as_ref().map_or(&b""[..], Name::as_bytes);
        let start_after = start_after.as_ref().map(Name::as_bytes);
        self.walk(py, Selection { prefix, start_after, exclude: &exclude }, Item::Ref)
    }

    #[pyo3(signature = (prefix=None))]
    fn names(&self, py: Python<'_>, prefix: Option<Name<'_>>) -> PyResult<Walk> {
        let prefix = prefix.as_ref().map_or(&b""[..], Name::as_bytes);
        self.walk(py, Selection { prefix, ..Selection::default() }, Item::Name)
    }

    #[pyo3(signature = (prefix=None))]
    fn records(&self, py: Python<'_>, prefix: Option<Name<'_>>) -> PyResult<Walk> {
        let prefix = prefix.as_ref().map_or(&b""[..], Name::as_bytes);
        self.walk(py, Selection { prefix, ..Selection::default() }, Item::Record)
    }

    fn __getitem__(&self, py: Python<'_>, name: Name<'_>) -> PyResult<RefView> {
        match self.find(py, &name)? {
            Some(view) => Ok(view),
            None => Err(raise(py, "RefNotFoundError", (refname(py, name.as_bytes())?,))),
        }
    }

    #[pyo3(signature = (name, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: Name<'_>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.find(py, &name)? {
            Some(view) => Ok(Some(Bound::new(py, view)?.into_any())),
            None => Ok(default),
        }
    }

    fn __contains__(&self, py: Python<'_>, name: Name<'_>) -> PyResult<bool> {
        Ok(self.find(py, &name)?.is_some())
    }

    fn points_at(&self, oid: &Bound<'_, PyAny>) -> PyResult<Found> {
        let (py, file, oid) = (oid.py(), self.file(), args::oid(oid)?);
        let records = bulk(py, |interrupt| file.points_at(&oid, interrupt))?;
        Ok(Found::new(self.source.clone_ref(py), records))
    }

    fn is_stale(&self, py: Python<'_>) -> PyResult<bool> {
        self.file().is_stale().map_err(|error| to_py(py, error))
    }

    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.count(py).map(|_| ())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let snapshot = self.snapshot();
        let path = self.path().into_pyobject(py)?.repr()?;
        let traits: Vec<_> = snapshot.header().traits().collect();
        let traits = if traits.is_empty() { "no traits".to_owned() } else { traits.join(" ") };
        let hash = self.hash().unwrap_or("no refs");
        let held = if snapshot.is_mapped() { "mapped" } else { "in memory" };
        Ok(format!("<PackedRefs {path} {hash}, {traits}, {} bytes {held}>", snapshot.file_len()))
    }
}
