//! `RefStore` and `Snapshot`: a repository's refs, live, and as they stood at one moment.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;

use super::args;
use super::bulk::bulk;
use super::store_reader::StoreReader;
use super::transaction::{Transaction, options};
use crate::store::{Live, Lookup};

/// A repository's refs, live: each call sees what other programs have changed meanwhile. Made by `open`.
///
/// Its refs are those that `git for-each-ref` shows in that worktree, dangling symbolic refs and broken refs besides.
/// Iterating and `len()` take those under `refs/`, in byte order of their names; `[]`, `in` and `get` any exact name: root
/// refs (`HEAD`), `FETCH_HEAD` and `MERGE_HEAD` (their first object id), `worktrees/<id>/HEAD` and `main-worktree/HEAD` too.
/// They are `Ref`s. There is nothing to close.
#[pyclass(frozen, extends = StoreReader, module = "refspan")]
pub(crate) struct RefStore {}

impl RefStore {
    /// The repository that it reads.
    pub(super) fn live(slf: &Bound<'_, Self>) -> Option<Arc<Live>> {
        match slf.as_super().get().lookup() {
            Lookup::Live(live) => Some(live.clone()),
            Lookup::Frozen(_) => None,
        }
    }
}

#[pymethods]
impl RefStore {
    /// The refs as they stand now, immutable. O(loose refs and logs) for files, O(tables) for reftable.
    ///
    /// It holds the worktree's refs and logs; those of other worktrees (`worktrees/<id>/…`) are an `UnsupportedError`.
    /// The logs of a files repository are remembered by their size: should one have been rewritten (expired) or
    /// deleted when it is read, that is an `UnsupportedError` too.
    fn snapshot(slf: &Bound<'_, Self>) -> PyResult<Py<Snapshot>> {
        let (py, lookup) = (slf.py(), slf.as_super().get().lookup());
        let view = bulk(py, |interrupt| lookup.snapshot(interrupt))?;
        Py::new(py, StoreReader::new(Lookup::Frozen(view)).add_subclass(Snapshot {}))
    }

    /// A transaction on this repository: see `Transaction`, whose options these are.
    #[pyo3(signature = (*, durability="git", timeout=None, into="auto", atomic=true, check=true))]
    fn transaction(
        slf: &Bound<'_, Self>,
        durability: &str,
        timeout: Option<f64>,
        into: &str,
        atomic: bool,
        check: bool,
    ) -> PyResult<Transaction> {
        Transaction::of(slf, options(durability, timeout, into, atomic, check)?)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(slf.py(), "RefStore", slf.as_super().get())
    }
}

/// A repository's refs as they stood at one moment: immutable, safe to share between threads. Made by `snapshot()`.
///
/// Its refs are those that `git for-each-ref` shows in that worktree, dangling symbolic refs and broken refs besides.
/// Iterating and `len()` take those under `refs/`, in byte order of their names; `[]`, `in` and `get` any exact name: root
/// refs (`HEAD`), `FETCH_HEAD` and `MERGE_HEAD` (their first object id); those of other worktrees are an
/// `UnsupportedError`.
#[pyclass(frozen, extends = StoreReader, module = "refspan")]
pub(crate) struct Snapshot {}

#[pymethods]
impl Snapshot {
    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(slf.py(), "Snapshot", slf.as_super().get())
    }
}

fn repr(py: Python<'_>, class: &str, reader: &StoreReader) -> PyResult<String> {
    let Some(repository) = reader.lookup().repository() else { return Ok(format!("<{class}>")) };
    let location = &repository.location;
    let path = location.git_dir().as_os_str().into_pyobject(py)?.repr()?;
    Ok(format!("<{class} {path} {}, {}>", location.format().name(), location.hash().name()))
}

/// Open the refs of the repository that `path` lies in: a work tree or a folder in it, a `.git` directory or file,
/// a bare repository, a linked worktree. `worktree` picks a linked worktree by its id (its folder in `worktrees/`).
///
/// Format and hash come from the repository's configuration, or from `GIT_REFERENCE_BACKEND`. Without a path the
/// environment has the first word (`GIT_DIR`, `GIT_COMMON_DIR`, `GIT_OBJECT_DIRECTORY`), then the current directory; with
/// one it has none. `GIT_CEILING_DIRECTORIES` and git's other rules for the search hold. No process is started.
///
/// Raises `RepositoryNotFoundError`; `UnsupportedError` for an unknown version, format, hash or extension;
/// `CorruptError` for a configuration that cannot be understood, or an unfinished migration; `OSError`.
#[pyfunction]
#[pyo3(signature = (path=None, *, worktree=None))]
pub(super) fn open(py: Python<'_>, path: Option<PathBuf>, worktree: Option<OsString>) -> PyResult<Py<RefStore>> {
    let path = path.map(args::path).transpose()?;
    let live = bulk(py, |_| Live::open(path.as_deref(), worktree.as_deref()))?;
    let reader = StoreReader::new(Lookup::Live(Arc::new(live)));
    Py::new(py, reader.add_subclass(RefStore {}))
}
