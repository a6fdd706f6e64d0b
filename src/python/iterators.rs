//! What `for` runs over: refs, names or records of a reader. May be shared between threads: each item goes to one.

use pyo3::prelude::*;
use spin::Mutex;

use super::error::to_py;
use super::ref_view::RefView;
use super::source::{Source, view};
use crate::packed::{Cursor, Record};

/// What an iterator yields for each record.
#[derive(Clone, Copy)]
pub(super) enum Item {
    /// A `RefView`.
    Ref,
    /// A memoryview of the name.
    Name,
    /// A memoryview of the whole record.
    Record,
}

/// A walk over a reader's records, names ascending.
#[pyclass(frozen, module = "refspan._native")]
pub(super) struct Walk {
    source: Py<Source>,
    item: Item,
    state: Mutex<State>,
}

struct State {
    cursor: Cursor,
    /// The last two views that went out. A loop lets go of the one before last, which then goes out again.
    recent: [Option<Py<RefView>>; 2],
}

impl Walk {
    pub(super) fn new(source: Py<Source>, cursor: Cursor, item: Item) -> Self {
        Self { source, item, state: Mutex::new(State { cursor, recent: [None, None] }) }
    }
}

#[pymethods]
impl Walk {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        // No Python code runs while this is held, so whoever waits for it, with the GIL taken too, does not wait long.
        let mut state = self.state.lock();
        let record = match self.source.get().file().next(&mut state.cursor) {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(None),
            Err(error) => {
                drop(state);
                return Err(to_py(py, error));
            }
        };
        match self.item {
            Item::Ref => {
                state.recent.swap(0, 1);
                if let Some(view) = &state.recent[0]
                    && is_unshared(py, view)
                {
                    view.get().point_at(record);
                    return Ok(Some(view.clone_ref(py).into_bound(py).into_any()));
                }
                drop(state);
                let view = Bound::new(py, RefView::new(self.source.clone_ref(py), record))?;
                let old = self.state.lock().recent[0].replace(view.clone().unbind());
                drop(old);
                Ok(Some(view.into_any()))
            }
            Item::Name => {
                drop(state);
                Ok(Some(view(py, &self.source, record.name())?.into_any()))
            }
            Item::Record => {
                drop(state);
                Ok(Some(view(py, &self.source, record.span())?.into_any()))
            }
        }
    }
}

/// Whether the caller's reference is the only one. Free-threaded Python cannot tell.
#[inline]
#[expect(deprecated, reason = "the count is no telling on free-threaded builds, which are ruled out first")]
fn is_unshared(py: Python<'_>, view: &Py<RefView>) -> bool {
    cfg!(not(Py_GIL_DISABLED)) && view.get_refcnt(py) == 1
}

/// The refs that a search found.
#[pyclass(frozen, module = "refspan._native")]
pub(super) struct Found {
    source: Py<Source>,
    records: Mutex<std::vec::IntoIter<Record>>,
}

impl Found {
    pub(super) fn new(source: Py<Source>, records: Vec<Record>) -> Self {
        Self { source, records: Mutex::new(records.into_iter()) }
    }
}

#[pymethods]
impl Found {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> Option<RefView> {
        let record = self.records.lock().next()?;
        Some(RefView::new(self.source.clone_ref(py), record))
    }
}
