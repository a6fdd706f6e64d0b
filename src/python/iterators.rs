//! What `for` runs over: refs, names or records of a reader. May be shared between threads: each item goes to one.
//!
//! Each iterator keeps its state behind a spin lock. No Python code runs while that is held, so whoever waits for it,
//! with the GIL taken too, does not wait long.

use std::sync::Arc;

use pyo3::prelude::*;
use spin::Mutex;

use super::error::to_py;
use super::recent::Recent;
use super::ref_view::RefView;
use super::source::{Source, view};
use super::tables::{TableSources, TableWalk};
use crate::packed::{Cursor, Record};
use crate::store::{Found, PackedFile, RefWalk};

/// What an iterator yields for each ref.
#[derive(Clone, Copy)]
pub(super) enum Item {
    /// A `RefView`.
    Ref,
    /// A memoryview of the name.
    Name,
    /// A memoryview of the whole record.
    Record,
}

/// A walk over a packed-refs file.
#[pyclass(frozen, module = "refspan._native")]
pub(super) struct PackedIterator {
    source: Py<Source>,
    file: Arc<PackedFile>,
    item: Item,
    state: Mutex<(Cursor, Recent<RefView>)>,
}

impl PackedIterator {
    pub(super) fn new(source: Py<Source>, file: Arc<PackedFile>, cursor: Cursor, item: Item) -> Self {
        Self { source, file, item, state: Mutex::new((cursor, Recent::default())) }
    }
}

#[pymethods]
impl PackedIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut state = self.state.lock();
        let (cursor, recent) = &mut *state;
        let record = match self.file.next(cursor) {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(None),
            Err(error) => {
                drop(state);
                return Err(to_py(py, error));
            }
        };
        match self.item {
            Item::Ref => {
                if let Some(view) = recent.reuse(py, &self.source, record.into()) {
                    return Ok(Some(view.into_any()));
                }
                drop(state);
                let view = Bound::new(py, RefView::new(self.source.clone_ref(py), record.into()))?;
                let replaced = self.state.lock().1.keep(view.clone().unbind());
                drop(replaced);
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

/// A walk over tables, merged.
#[pyclass(frozen, module = "refspan._native")]
pub(super) struct TableIterator {
    item: Item,
    walk: Mutex<TableWalk>,
}

impl TableIterator {
    pub(super) fn new(tables: Arc<TableSources>, walk: RefWalk, item: Item) -> Self {
        Self { item, walk: Mutex::new(TableWalk::new(tables, walk)) }
    }
}

#[pymethods]
impl TableIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut walk = self.walk.lock();
        let step = match walk.next(py) {
            Ok(Some(step)) => step,
            Ok(None) => return Ok(None),
            Err(error) => {
                drop(walk);
                return Err(to_py(py, error));
            }
        };
        let source = if let Some(source) = step.source.as_ref() {
            source.clone_ref(py)
        } else {
            let held = walk.held(py, &step);
            drop(walk);
            let Some(held) = held else { return Ok(None) };
            let source = Source::new(py, held)?;
            let replaced = self.walk.lock().keep(&step, source.clone_ref(py));
            drop(replaced);
            walk = self.walk.lock();
            source
        };
        match self.item {
            Item::Ref => {
                if let Some(view) = walk.recent(&step).reuse(py, &source, step.index.into()) {
                    return Ok(Some(view.into_any()));
                }
                drop(walk);
                let view = Bound::new(py, RefView::new(source, step.index.into()))?;
                let replaced = self.walk.lock().recent(&step).keep(view.clone().unbind());
                drop(replaced);
                Ok(Some(view.into_any()))
            }
            Item::Name => {
                drop(walk);
                Ok(Some(view(py, &source, step.name)?.into_any()))
            }
            Item::Record => {
                drop(walk);
                Ok(Some(RefView::new(source, step.index.into()).record_view(py)?.into_any()))
            }
        }
    }
}

/// The refs that a search found.
#[pyclass(frozen, module = "refspan._native")]
pub(super) struct FoundIterator(Mutex<Finds>);

/// What a search found, not yet made views of.
pub(super) enum Finds {
    /// In a packed-refs file.
    Packed(Py<Source>, std::vec::IntoIter<Record>),
    /// In tables.
    Tables(Arc<TableSources>, std::vec::IntoIter<Found>),
}

impl FoundIterator {
    pub(super) fn new(finds: Finds) -> Self {
        Self(Mutex::new(finds))
    }
}

#[pymethods]
impl FoundIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<RefView>> {
        let mut finds = self.0.lock();
        match &mut *finds {
            Finds::Packed(source, records) => {
                Ok(records.next().map(|record| RefView::new(source.clone_ref(py), record.into())))
            }
            Finds::Tables(tables, found) => {
                let (tables, next) = (tables.clone(), found.next());
                drop(finds);
                next.map(|found| tables.view_of(py, found)).transpose()
            }
        }
    }
}
