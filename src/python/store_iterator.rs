//! What `for` runs over: the refs or names of a repository. May be shared between threads: each ref goes to one of them.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyString;
use spin::Mutex;

use super::error::to_py;
use super::git_ref::Ref;
use super::recent::Recent;
use super::ref_view::{Parts, refname};
use super::source::{Held, Source};
use super::tables::{Standing, TableSources};
use crate::model::Error;
use crate::store::{Entry, Repository, Step, Walk};

/// What a walk has handed out, and from which sources.
struct State {
    walk: Walk,
    /// The packed file or the loose refs, once one of them was come to.
    packed: Option<Py<Source>>,
    loose: Option<Py<Source>>,
    recent: Recent<Ref>,
    /// Of each side's tables.
    sides: Vec<Standing<Ref>>,
}

/// A walk that yields a `Ref` for each ref.
#[pyclass(frozen, module = "refspan._native")]
pub(super) struct StoreIterator {
    repository: Option<Arc<Repository>>,
    state: Mutex<State>,
}

/// What the next ref is made from.
enum Taken<'py> {
    /// A view that went out before, made to show it.
    Reused(Bound<'py, Ref>),
    /// Its place in a source.
    Known(Py<Source>, Parts, Slot),
    /// Its place in what has no source yet.
    New(Held, Parts, Slot),
    /// A root ref.
    Alone(Entry),
}

/// Whose refs a source has.
#[derive(Clone, Copy)]
enum Slot {
    Packed,
    Loose,
    /// A side, and a table of it.
    Table(usize, usize),
}

/// The next ref of a walk, as `take` makes it; runs pending signal handlers now and then.
///
/// `take` must not run Python code: it holds the lock.
#[inline]
fn next<T>(py: Python<'_>, state: &Mutex<State>, take: impl FnOnce(&mut State, Step) -> T) -> PyResult<Option<T>> {
    loop {
        let mut state = state.lock();
        match state.walk.next(&mut || false) {
            Ok(Some(step)) => return Ok(Some(take(&mut state, step))),
            Ok(None) => return Ok(None),
            Err(error) => {
                drop(state);
                py.check_signals()?;
                match error {
                    // Others may want their turn, too.
                    Error::Interrupted => py.detach(|| ()),
                    error => return Err(to_py(py, error)),
                }
            }
        }
    }
}

impl StoreIterator {
    pub(super) fn new(py: Python<'_>, walk: Walk) -> PyResult<Self> {
        let repository = walk.view().repository().cloned();
        let tables = (0..).map_while(|side| walk.tables(side).cloned());
        let sides = tables.map(|tables| TableSources::new(py, tables).map(Standing::new)).collect::<PyResult<_>>()?;
        let state = State { walk, packed: None, loose: None, recent: Recent::default(), sides };
        Ok(Self { repository, state: Mutex::new(state) })
    }
}

#[pymethods]
impl StoreIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, Ref>>> {
        if let Some(view) = self.state.lock().next_packed(py) {
            return Ok(Some(view));
        }
        let Some(taken) = next(py, &self.state, |state, step| state.take(py, step))? else { return Ok(None) };
        let (source, parts, slot) = match taken {
            None => return Ok(None),
            Some(Taken::Reused(view)) => return Ok(Some(view)),
            Some(Taken::Alone(entry)) => {
                return Bound::new(py, Ref::of(py, entry, self.repository.as_ref())?).map(Some);
            }
            Some(Taken::Known(source, parts, slot)) => (source, parts, slot),
            Some(Taken::New(held, parts, slot)) => {
                let source = Source::new(py, held)?;
                let replaced = self.state.lock().keep_source(slot, source.clone_ref(py));
                drop(replaced);
                (source, parts, slot)
            }
        };
        let new = Bound::new(py, Ref::new(source, parts, self.repository.clone()))?;
        let replaced = self.state.lock().recent(slot).keep(new.clone().unbind());
        drop(replaced);
        Ok(Some(new))
    }
}

impl State {
    /// The next ref, if it is packed and the view that went out last but one can show it.
    #[inline(always)]
    fn next_packed<'py>(&mut self, py: Python<'py>) -> Option<Bound<'py, Ref>> {
        let source = self.packed.as_ref().filter(|source| self.recent.is_free(py, source))?;
        let (record, _) = self.walk.next_packed()?;
        self.recent.reuse(py, source, record.into())
    }

    /// What the ref of a step is made from.
    #[inline]
    fn take<'py>(&mut self, py: Python<'py>, step: Step) -> Option<Taken<'py>> {
        let (source, parts, slot) = match &step {
            Step::Packed(record, _) => {
                (self.packed.as_ref().map(|source| source.clone_ref(py)), Parts::from(*record), Slot::Packed)
            }
            Step::Loose(i) => (self.loose.as_ref().map(|source| source.clone_ref(py)), Parts::from(*i), Slot::Loose),
            Step::Table { side, number } => {
                let cursor = self.walk.cursor(*side, *number)?;
                let source = self.sides[*side].source(py, *number, cursor.batch());
                (source, cursor.index().into(), Slot::Table(*side, *number))
            }
            Step::Outside(_) => return self.walk.entry(step).map(Taken::Alone),
        };
        if let Some(source) = source {
            return Some(match self.recent(slot).reuse(py, &source, parts) {
                Some(view) => Taken::Reused(view),
                None => Taken::Known(source, parts, slot),
            });
        }
        let held = match (self.walk.entry(step)?, slot) {
            (Entry::Packed(file, _), _) => Held::Packed(file),
            (Entry::Loose(refs, _), _) => Held::Loose(refs),
            (Entry::Table(_, found), Slot::Table(side, number)) => self.sides[side].held(py, number, found.batch),
            (Entry::Table(..), _) => return None,
        };
        Some(Taken::New(held, parts, slot))
    }

    #[inline]
    fn recent(&mut self, slot: Slot) -> &mut Recent<Ref> {
        match slot {
            Slot::Packed | Slot::Loose => &mut self.recent,
            Slot::Table(side, number) => self.sides[side].recent(number),
        }
    }

    /// Keeps a source for the refs to come. Returns the one it replaces.
    fn keep_source(&mut self, slot: Slot, source: Py<Source>) -> Option<Py<Source>> {
        match slot {
            Slot::Packed => self.packed.replace(source),
            Slot::Loose => self.loose.replace(source),
            Slot::Table(side, number) => self.sides[side].keep(number, source),
        }
    }
}

/// A walk that yields the names alone.
#[pyclass(frozen, module = "refspan._native")]
pub(super) struct StoreNames(Mutex<State>);

impl StoreNames {
    pub(super) fn new(walk: Walk) -> Self {
        Self(Mutex::new(State { walk, packed: None, loose: None, recent: Recent::default(), sides: Vec::new() }))
    }
}

#[pymethods]
impl StoreNames {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        // Copied while the walk stands there; most names fit.
        let mut short = [0; 128];
        let name = next(py, &self.0, |state, step| {
            let item = state.walk.item(&step);
            match short.get_mut(..item.name().len()) {
                Some(copy) => {
                    copy.copy_from_slice(item.name());
                    Ok(item.name().len())
                }
                None => Err(item.name().to_vec()),
            }
        })?;
        match name {
            None => Ok(None),
            Some(Ok(len)) => refname(py, &short[..len]).map(Some),
            Some(Err(long)) => refname(py, &long).map(Some),
        }
    }
}

/// Refs that were found all at once.
#[pyclass(frozen, module = "refspan._native")]
pub(super) struct FoundRefs {
    repository: Option<Arc<Repository>>,
    entries: Mutex<std::vec::IntoIter<Entry>>,
}

impl FoundRefs {
    pub(super) fn new(repository: Option<Arc<Repository>>, entries: Vec<Entry>) -> Self {
        Self { repository, entries: Mutex::new(entries.into_iter()) }
    }
}

#[pymethods]
impl FoundRefs {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Ref>> {
        let entry = self.entries.lock().next();
        entry.map(|entry| Ref::of(py, entry, self.repository.as_ref())).transpose()
    }
}
