//! The surface that `RefStore` and `Snapshot` share.

use std::ffi::OsString;

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

use super::args::{self, Name};
use super::bulk::bulk;
use super::display::html;
use super::error::{raise, to_py};
use super::frame::{Frame, Of};
use super::git_ref::Ref;
use super::ref_view::refname;
use super::reflog_iterator::{LogNames, ReflogIterator};
use super::store_iterator::{FoundRefs, StoreIterator, StoreNames};
use crate::store::{Dwim, Entry, Lookup, Query, Walk};

/// What `RefStore` and `Snapshot` have in common; not to be made on its own.
///
/// Refs are those that `git for-each-ref` shows in that worktree, dangling symbolic refs and broken refs besides.
/// Iterating yields those under `refs/` in byte order of their names; `[]`, `in` and `get` take any exact name: root refs
/// (`HEAD`, `ORIG_HEAD`), `FETCH_HEAD` and `MERGE_HEAD` (their first object id), `worktrees/<id>/HEAD` and
/// `main-worktree/HEAD` too; of a `Snapshot` the latter two are an `UnsupportedError`.
#[pyclass(frozen, subclass, extends = Frame, module = "refspan")]
pub(crate) struct StoreReader {
    lookup: Lookup,
}

impl StoreReader {
    pub(super) fn new(lookup: Lookup) -> PyClassInitializer<Self> {
        PyClassInitializer::from(Frame::fixed(Of::Store(lookup.clone()))).add_subclass(Self { lookup })
    }

    pub(super) fn lookup(&self) -> &Lookup {
        &self.lookup
    }

    fn find(&self, py: Python<'_>, name: &[u8]) -> PyResult<Option<Ref>> {
        let found = bulk(py, |interrupt| self.lookup.find(name, interrupt))?;
        found.map(|entry| self.made(py, entry)).transpose()
    }

    fn made(&self, py: Python<'_>, entry: Entry) -> PyResult<Ref> {
        Ref::of(py, entry, self.lookup.repository().as_ref())
    }

    fn walk(&self, py: Python<'_>, query: Query) -> PyResult<Walk> {
        bulk(py, |interrupt| self.lookup.view(&query, interrupt)?.walk(query))
    }

    fn require(&self, py: Python<'_>, name: &[u8]) -> PyResult<Ref> {
        match self.find(py, name)? {
            Some(found) => Ok(found),
            None => Err(raise(py, "RefNotFoundError", (refname(py, name)?,))),
        }
    }
}

/// The directories where a worktree's own refs are, and where those of all are.
#[pyfunction]
pub(super) fn refs_dirs(store: &Bound<'_, StoreReader>) -> (OsString, OsString) {
    let repository = store.get().lookup.repository();
    repository
        .map(|repository| (repository.location.own().into(), repository.location.shared().into()))
        .unwrap_or_default()
}

#[pymethods]
impl StoreReader {
    /// The absolute path of the worktree's git directory.
    #[getter]
    fn git_dir(&self) -> OsString {
        self.lookup.repository().map(|repository| repository.location.git_dir().into()).unwrap_or_default()
    }

    /// The absolute path of the git directory that all worktrees share.
    #[getter]
    fn common_dir(&self) -> OsString {
        self.lookup.repository().map(|repository| repository.location.common_dir().into()).unwrap_or_default()
    }

    /// How the refs are stored: "files" or "reftable".
    #[getter]
    fn format(&self) -> Option<&'static str> {
        self.lookup.repository().map(|repository| repository.location.format().name())
    }

    /// The hash of the object ids.
    #[getter]
    fn hash(&self) -> Option<&'static str> {
        self.lookup.repository().map(|repository| repository.location.hash().name())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        bulk(py, |interrupt| self.lookup.view(&Query::default(), interrupt)?.count(Query::default(), interrupt))
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        bulk(py, |interrupt| {
            let mut walk = self.lookup.view(&Query::default(), interrupt)?.walk(Query::default())?;
            Ok(walk.next(interrupt)?.is_some())
        })
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<StoreIterator> {
        StoreIterator::new(py, self.walk(py, Query::default())?)
    }

    fn __contains__(&self, py: Python<'_>, name: Name<'_>) -> PyResult<bool> {
        let name = name.as_bytes();
        Ok(bulk(py, |interrupt| self.lookup.find(name, interrupt))?.is_some())
    }

    fn __getitem__(&self, py: Python<'_>, name: Name<'_>) -> PyResult<Ref> {
        self.require(py, name.as_bytes())
    }

    /// The ref of exactly that name, or `default`.
    #[pyo3(signature = (name, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: Name<'_>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.find(py, name.as_bytes())? {
            Some(found) => Ok(Some(Bound::new(py, found)?.into_any())),
            None => Ok(default),
        }
    }

    /// The refs under `refs/` whose names start with `prefix` (plain bytes), in order.
    ///
    /// `glob`: only those that `git for-each-ref <pattern>` shows: the name itself, what lies below it, or a match of git's
    /// wildmatch, whose `*` stops at a slash and whose `**` does not. `exclude`: none of those that these patterns, of
    /// the same kind, match. `start_after`: only names that sort after this one. `root_refs`: `HEAD` and the other
    /// root refs too; they come first.
    ///
    /// Prefix, `start_after` and plain `exclude`s are seeks in packed and tabled refs; of loose refs only directories
    /// that can hold a match are read. Loose refs are read at the call, before packed ones are looked at, so no ref
    /// is missed while git packs them.
    #[pyo3(
        signature = (prefix=None, *, glob=None, exclude=None, start_after=None, root_refs=false),
        text_signature = "($self, prefix=None, *, glob=None, exclude=(), start_after=None, root_refs=False)"
    )]
    fn refs(
        &self,
        py: Python<'_>,
        prefix: Option<Name<'_>>,
        glob: Option<Name<'_>>,
        exclude: Option<Bound<'_, PyAny>>,
        start_after: Option<Name<'_>>,
        root_refs: bool,
    ) -> PyResult<StoreIterator> {
        let failed = |error| to_py(py, error);
        let mut query = Query::all(root_refs);
        query.prefix = prefix.map(|prefix| prefix.as_bytes().to_vec()).unwrap_or_default();
        query.start_after = start_after.map(|name| name.as_bytes().to_vec());
        let exclude = args::names(exclude.as_ref())?;
        let exclude: Vec<&[u8]> = exclude.iter().map(Name::as_bytes).collect();
        query = query.without(&exclude).map_err(failed)?;
        if let Some(glob) = glob {
            query = query.with_glob(glob.as_bytes()).map_err(failed)?;
        }
        StoreIterator::new(py, self.walk(py, query)?)
    }

    /// The names alone; otherwise as `refs(prefix)`.
    #[pyo3(signature = (prefix=None))]
    fn names(&self, py: Python<'_>, prefix: Option<Name<'_>>) -> PyResult<StoreNames> {
        let query = Query::of_prefix(prefix.as_ref().map_or(&b""[..], Name::as_bytes));
        Ok(StoreNames::new(self.walk(py, query)?))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        html(slf.as_any())
    }

    /// The refs under `refs/` that lead to `oid`: as `git for-each-ref --points-at`.
    ///
    /// Directly, as a symbolic ref, or through annotated tags, nested ones at every level. What no file tells
    /// of a tag is looked up in the object database. `oid` is hex or raw, or a direct `Ref`, which stands for its object
    /// id; `InvalidValueError` for one of another hash. O(n); Ctrl-C works.
    fn points_at(&self, oid: &Bound<'_, PyAny>) -> PyResult<FoundRefs> {
        let (py, value, oid) = (oid.py(), oid, args::oid(oid)?);
        if self.lookup.repository().is_some_and(|repository| repository.location.hash() != oid.kind()) {
            return Err(raise(py, "InvalidValueError", (None::<&str>, value)));
        }
        let found = bulk(py, |interrupt| self.lookup.points_at(&oid, interrupt))?;
        Ok(FoundRefs::new(self.lookup.repository(), found))
    }

    /// `HEAD` as it is: symbolic, also if its branch is unborn, or detached. Raises `RefNotFoundError` without one.
    #[getter]
    fn head(&self, py: Python<'_>) -> PyResult<Ref> {
        self.require(py, b"HEAD")
    }

    /// The ref at the end of the chain of symbolic refs that starts at `name`; the ref itself if it is direct.
    ///
    /// Raises `RefNotFoundError` with the name that is missing; `CorruptError` for a broken ref on the way, or for more
    /// than four symbolic refs in a row (git's limit), a loop among them.
    fn resolve(&self, py: Python<'_>, name: Name<'_>) -> PyResult<Ref> {
        let name = name.as_bytes();
        let entry = bulk(py, |interrupt| self.lookup.resolve(name, interrupt))?;
        self.made(py, entry)
    }

    /// The ref that git means by a short name, as it is: `name`, then below `refs/`, `refs/tags/`, `refs/heads/`,
    /// `refs/remotes/`, then `refs/remotes/<name>/HEAD`.
    ///
    /// Where several exist and lead to an object, the first counts, and a `UserWarning` names the others, unless
    /// `core.warnAmbiguousRefs` is false. Raises `RefNotFoundError`.
    fn dwim(&self, py: Python<'_>, name: Name<'_>) -> PyResult<Ref> {
        let name = name.as_bytes();
        let Dwim { entry, others } = bulk(py, |interrupt| self.lookup.dwim(name, interrupt))?;
        if !others.is_empty() {
            let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
            let others = others.iter().map(|name| text(name)).collect::<Vec<_>>().join(", ");
            let meant = text(entry.item().name());
            let message = format!("refname '{}' is ambiguous: {meant}, not {others}", text(name));
            let warnings = py.import("warnings")?;
            warnings.call_method1("warn", (message, py.get_type::<PyUserWarning>(), 1))?;
        }
        self.made(py, entry)
    }

    /// The entries of a ref's log, oldest first; with `reverse` newest first. Empty if there is no log.
    ///
    /// Their `update_index` is None. Lines that git passes over are passed over and counted: see the iterator's
    /// `skipped`. In tables, oldest first costs O(entries) at the call.
    #[pyo3(signature = (name, *, reverse=false))]
    fn reflog(&self, py: Python<'_>, name: Name<'_>, reverse: bool) -> PyResult<Py<ReflogIterator>> {
        let name = name.as_bytes();
        let log = bulk(py, |interrupt| self.lookup.log(name, reverse, interrupt))?;
        ReflogIterator::new(py, self.lookup.clone(), name.to_vec(), reverse, log)
    }

    /// The names of the refs that have a log, empty ones too, in order, as `git reflog list`.
    fn reflogs(&self, py: Python<'_>) -> PyResult<Py<LogNames>> {
        LogNames::new(py, self.lookup.clone(), bulk(py, |interrupt| self.lookup.log_names(interrupt))?)
    }

    /// The SHA-256, in hex, of one line `<refname> SP (<oid> | ref:<target>) LF` for each ref, in order.
    ///
    /// Root refs are included; broken refs, pseudorefs and peeled values are not. With `reflogs` an empty line and the
    /// reflogs follow, names in order, oldest entry first, each entry a line as in a files reflog behind the refname
    /// and a space; entries of time 0 and logs without entries leave no trace. The same in both formats. O(n); Ctrl-C
    /// works.
    #[pyo3(signature = (*, reflogs=false))]
    fn digest(&self, py: Python<'_>, reflogs: bool) -> PyResult<String> {
        bulk(py, |interrupt| self.lookup.digest(reflogs, interrupt))
    }
}
