//! `Change`, and the walk that yields them: what makes one set of refs another.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::bulk::bulk;
use super::display::html;
use super::frame::{Frame, Of};
use super::git_ref::Symref;
use super::log_entry::LogEntry;
use super::reader::{Now, RefReader};
use super::ref_view::refname;
use super::store_reader::StoreReader;
use crate::model::{self, Interrupt, RefValue};
use crate::store::{Diff, Difference, LogDiff, LogDifference, Query, View};

/// A difference between two sets of refs. Equal if all its fields are.
#[pyclass(frozen, eq, hash, module = "refspan")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Change {
    name: Vec<u8>,
    before: Option<Side>,
    after: Option<Side>,
}

/// What one side has.
#[derive(PartialEq, Eq, Hash)]
enum Side {
    Value(RefValue),
    Log(LogEntry),
}

impl Side {
    fn to_py<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Value(RefValue::Oid(oid)) => Ok(PyString::new(py, &oid.to_hex()).into_any()),
            Self::Value(RefValue::Symref(target)) => Ok(Bound::new(py, Symref::from(target.clone()))?.into_any()),
            Self::Log(entry) => Ok(Bound::new(py, entry.clone())?.into_any()),
        }
    }
}

#[pymethods]
impl Change {
    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str, &'static str, &'static str, &'static str) = ("name", "kind", "before", "after");

    /// The name of the ref.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        refname(py, &self.name)
    }

    /// What makes the first the second: "create", "update", "delete"; "reflog": the logs of that ref differ.
    #[getter]
    fn kind(&self) -> &'static str {
        match (&self.before, &self.after) {
            (Some(Side::Log(_)), _) | (_, Some(Side::Log(_))) => "reflog",
            (None, _) => "create",
            (_, None) => "delete",
            _ => "update",
        }
    }

    /// The value in the first: an object id as hex, a `Symref`, or None. Of logs the first entry that differs.
    #[getter]
    fn before<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.before.as_ref().map(|side| side.to_py(py)).transpose()
    }

    /// The same in the second.
    #[getter]
    fn after<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.after.as_ref().map(|side| side.to_py(py)).transpose()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let text = |side: Option<Bound<'_, PyAny>>| match side {
            Some(side) => side.repr().map(|text| text.to_string()),
            None => Ok("None".to_owned()),
        };
        let (name, before, after) = (self.name(py)?.repr()?, text(self.before(py)?)?, text(self.after(py)?)?);
        Ok(format!("<Change {} {name} {before} -> {after}>", self.kind()))
    }
}

impl From<Difference> for Change {
    fn from(difference: Difference) -> Self {
        let Difference { name, before, after } = difference;
        Self { name, before: before.map(Side::Value), after: after.map(Side::Value) }
    }
}

impl From<LogDifference<LogEntry>> for Change {
    fn from(difference: LogDifference<LogEntry>) -> Self {
        let LogDifference { name, before, after } = difference;
        Self { name, before: before.map(Side::Log), after: after.map(Side::Log) }
    }
}

/// A walk over changes. May be shared between threads: each change goes to one of them.
///
/// While one is sought signal handlers may run, so nothing is locked meanwhile: who seeks has the walk to itself.
#[pyclass(frozen, extends = Frame, module = "refspan._native")]
pub(crate) struct ChangeIterator {
    /// What is compared, and whether logs are.
    of: ([Arc<View>; 2], bool),
    seat: Mutex<Seat>,
    is_back: Condvar,
}

/// How long a thread waits for another one until it sees to its signals.
const WAIT: Duration = Duration::from_millis(50);

/// Where the walk is.
enum Seat {
    Free(Box<Walk>),
    /// With the thread of this id.
    Taken(ThreadId),
}

struct Walk {
    refs: Diff,
    logs: Option<LogDiff>,
}

impl Walk {
    fn next(&mut self, interrupt: Interrupt<'_>) -> model::Result<Option<Change>> {
        if let Some(difference) = self.refs.next(interrupt)? {
            return Ok(Some(difference.into()));
        }
        match &mut self.logs {
            Some(logs) => Ok(logs.next(|name, item| LogEntry::of(name, &item), interrupt)?.map(Change::from)),
            None => Ok(None),
        }
    }
}

#[pymethods]
impl ChangeIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// Of a walk of its own: to show changes of this one would be to take them from who iterates.
    fn _repr_html_<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (sides, reflogs) = &self.of;
        html(Self::of(py, sides.clone(), *reflogs)?.bind(py).as_any())
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Change>> {
        let mut walk = loop {
            match py.detach(|| self.take()) {
                Some(Ok(walk)) => break walk,
                Some(Err(Executing)) => return Err(PyValueError::new_err("iterator already executing")),
                None => py.check_signals()?,
            }
        };
        let next = bulk(py, |interrupt| walk.next(interrupt));
        *self.seat.lock().unwrap_or_else(PoisonError::into_inner) = Seat::Free(walk);
        self.is_back.notify_one();
        next
    }
}

impl ChangeIterator {
    fn of(py: Python<'_>, sides: [Arc<View>; 2], reflogs: bool) -> PyResult<Py<Self>> {
        let [a, b] = sides.clone();
        let walk = bulk(py, |interrupt| {
            let logs = if reflogs { Some(LogDiff::new(a.clone(), b.clone(), interrupt)?) } else { None };
            Ok(Walk { refs: Diff::new(a, b, interrupt)?, logs })
        })?;
        let frame = Frame::fixed(Of::Changes(sides.clone(), reflogs));
        let seat = Mutex::new(Seat::Free(Box::new(walk)));
        let walk = Self { of: (sides, reflogs), seat, is_back: Condvar::new() };
        Py::new(py, PyClassInitializer::from(frame).add_subclass(walk))
    }

    /// The walk, once no other thread has it; `None` if that takes its time.
    fn take(&self) -> Option<Result<Box<Walk>, Executing>> {
        let me = thread::current().id();
        let seat = self.seat.lock().unwrap_or_else(PoisonError::into_inner);
        let is_elsewhere = |seat: &mut Seat| matches!(seat, Seat::Taken(owner) if *owner != me);
        let waited = self.is_back.wait_timeout_while(seat, WAIT, is_elsewhere);
        let (mut seat, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *seat, Seat::Taken(me)) {
            Seat::Free(walk) => Some(Ok(walk)),
            Seat::Taken(owner) => {
                *seat = Seat::Taken(owner);
                (owner == me).then_some(Err(Executing))
            }
        }
    }
}

/// This thread has the walk itself.
struct Executing;

/// What makes the refs of `a` those of `b`, in order of the names: what the digest hashes is compared.
///
/// Each may be a `RefStore` (as it stands now), a `Snapshot`, or a reader. Against a reader only what is under `refs/` is
/// compared. With `reflogs` the logs that differ follow, each as one change of kind "reflog" with its first
/// entries that differ; a packed-refs file has no logs, so that is an `UnsupportedError`.
///
/// Costs what changed: tables and packed-refs files that both share are not read, equal runs of two packed-refs files
/// are passed over as bytes. Otherwise one merge pass over both. Ctrl-C works.
#[pyfunction]
#[pyo3(signature = (a, b, *, reflogs=false))]
pub(super) fn diff(
    py: Python<'_>,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    reflogs: bool,
) -> PyResult<Py<ChangeIterator>> {
    ChangeIterator::of(py, [view_of(a, reflogs)?, view_of(b, reflogs)?], reflogs)
}

fn view_of(refs: &Bound<'_, PyAny>, reflogs: bool) -> PyResult<Arc<View>> {
    let py = refs.py();
    if let Ok(store) = refs.cast::<StoreReader>() {
        let lookup = store.get().lookup();
        let query = Query::all(true);
        return bulk(py, |interrupt| if reflogs { lookup.snapshot(interrupt) } else { lookup.view(&query, interrupt) });
    }
    let Ok(reader) = refs.cast::<RefReader>() else {
        let kind = refs.get_type();
        let kind = kind.name()?;
        return Err(PyTypeError::new_err(format!("a RefStore, Snapshot or reader is wanted, not {kind}")));
    };
    Ok(Arc::new(match reader.get().now() {
        Now::Packed(_, file) => View::of_packed(file.clone()),
        Now::Tables(tables) => View::of_tables(tables.tables().clone()),
    }))
}
