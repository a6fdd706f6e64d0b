//! `PackedRefs`: a packed-refs file, read as it lies on disk.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyFrozenSet;

use super::args;
use super::bulk::bulk;
use super::reader::{Reads, RefReader};
use super::source::{Held, Source};
use crate::model::HashKind;
use crate::store::PackedFile;

/// A git `packed-refs` file as it was when it was opened: an immutable snapshot, safe to share between threads.
///
/// Files over 32 KiB are mapped: opening one is O(1) if its header claims `sorted`, and every field of every ref is a
/// view into the map. A file without `sorted` is read whole when it is opened and, if its refs are out of order, seen
/// through a sorted copy. Views stay valid for as long as they are held, also after the reader is gone and the file
/// was replaced (git replaces its files by rename). A program that *truncates* the file in place can crash the process
/// that has it mapped (SIGBUS); pass `mmap=False` where such programs are about.
///
/// What cannot be trusted raises `CorruptError` as soon as it is read: a line that is no record, a last line without
/// LF, a header that is none, names out of order under a header that claims `sorted`. What is merely unusable is
/// listed as it lies, with `RefView.broken` set. Once a read has found a false `sorted`, look-ups raise too.
///
/// Open the packed-refs file at `path`.
///
/// `hash` says which object ids it holds; by default the width of the first one tells. `mmap=False` copies the
/// file into memory instead of mapping it.
///
/// Raises `FileNotFoundError`, `IsADirectoryError`, `PermissionError` or another `OSError` with `errno` and
/// `filename` if the file cannot be read or is not a regular one; `CorruptError` for damage in the first or last
/// line, or, without `sorted`, anywhere; `ValueError` for an unknown hash. An empty file is an empty reader.
/// O(1) for a sorted file, else O(n) (O(n log n) if its refs must be sorted); Ctrl-C works.
#[pyclass(frozen, extends = RefReader, module = "refspan")]
pub(crate) struct PackedRefs {
    file: Arc<PackedFile>,
}

#[pymethods]
impl PackedRefs {
    #[new]
    #[pyo3(signature = (path, *, hash=None, mmap=true))]
    fn new(py: Python<'_>, path: PathBuf, hash: Option<&str>, mmap: bool) -> PyResult<PyClassInitializer<Self>> {
        let path = args::path(path)?;
        let hash = args::hash(hash)?;
        let file = bulk(py, |interrupt| PackedFile::open(path, hash, mmap, interrupt))?;
        let file = Arc::new(file);
        let reads = Reads::Packed(Source::new(py, Held::Packed(file.clone()))?, file.clone());
        Ok(RefReader::new(reads).add_subclass(Self { file }))
    }

    /// What the header claims: any of `peeled`, `fully-peeled` and `sorted`. Unknown traits promise nothing.
    #[getter]
    fn traits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        PyFrozenSet::new(py, self.file.snapshot().header().traits())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let snapshot = self.file.snapshot();
        let path = self.file.path().as_os_str().into_pyobject(py)?.repr()?;
        let traits: Vec<_> = snapshot.header().traits().collect();
        let traits = if traits.is_empty() { "no traits".to_owned() } else { traits.join(" ") };
        let hash = snapshot.hash().map_or("no refs", HashKind::name);
        let held = if snapshot.is_mapped() { "mapped" } else { "in memory" };
        Ok(format!("<PackedRefs {path} {hash}, {traits}, {} bytes {held}>", snapshot.file_len()))
    }
}
