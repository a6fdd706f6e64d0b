//! Tables as Python sees them: what they hold together, and a source for each.

use std::sync::Arc;

use pyo3::prelude::*;

use super::recent::Recent;
use super::ref_view::RefView;
use super::source::{Held, Source};
use crate::model::Span;
use crate::reftable::{RefBatch, RefRecord};
use crate::store::{Found, RefWalk, Tables};

/// Some tables, read as one.
pub(super) struct TableSources {
    tables: Arc<Tables>,
    sources: Vec<Py<Source>>,
}

impl TableSources {
    pub(super) fn new(py: Python<'_>, tables: Arc<Tables>) -> PyResult<Arc<Self>> {
        let source = |file: &Arc<_>| Source::new(py, Held::Table(Arc::clone(file)));
        let sources = tables.files().iter().map(source).collect::<PyResult<_>>()?;
        Ok(Arc::new(Self { tables, sources }))
    }

    #[inline]
    pub(super) fn tables(&self) -> &Arc<Tables> {
        &self.tables
    }

    pub(super) fn view_of(&self, py: Python<'_>, found: Found) -> PyResult<RefView> {
        let Found { table, batch, index } = found;
        let table = self.sources[table].clone_ref(py);
        Ok(RefView::new(Source::new(py, Held::Batch { batch, table })?, index.into()))
    }
}

/// The sources of the batches that a walk over some tables stands in, and the views that went out last.
pub(super) struct Standing<V> {
    tables: Arc<TableSources>,
    /// One a table, once it was asked for.
    batches: Vec<Option<Py<Source>>>,
    /// One a table: a view can go out again only for its own batch.
    recent: Vec<Recent<V>>,
}

impl<V> Standing<V> {
    pub(super) fn new(tables: Arc<TableSources>) -> Self {
        let batches = tables.sources.iter().map(|_| None).collect();
        let recent = tables.sources.iter().map(|_| Recent::default()).collect();
        Self { tables, batches, recent }
    }

    /// The source of a table's batch, if that is the one that was asked for last.
    #[inline]
    pub(super) fn source(&self, py: Python<'_>, number: usize, batch: &Arc<RefBatch>) -> Option<Py<Source>> {
        let is_of_batch = |source: &&Py<Source>| match source.get().held() {
            Held::Batch { batch: held, .. } => Arc::ptr_eq(held, batch),
            _ => false,
        };
        self.batches[number].as_ref().filter(is_of_batch).map(|source| source.clone_ref(py))
    }

    /// What a new source for a table's batch holds.
    pub(super) fn held(&self, py: Python<'_>, number: usize, batch: Arc<RefBatch>) -> Held {
        Held::Batch { batch, table: self.tables.sources[number].clone_ref(py) }
    }

    /// The views of a table that went out last.
    #[inline]
    pub(super) fn recent(&mut self, number: usize) -> &mut Recent<V> {
        &mut self.recent[number]
    }

    /// Keeps the source of a table's batch for those to come. Returns the one it replaces.
    pub(super) fn keep(&mut self, number: usize, source: Py<Source>) -> Option<Py<Source>> {
        self.batches[number].replace(source)
    }
}

/// A walk over the refs of some tables, and where it stands.
pub(super) struct TableWalk {
    walk: RefWalk,
    standing: Standing<RefView>,
}

/// What a walk came to: the record of a batch.
pub(super) struct Step {
    number: usize,
    pub(super) index: usize,
    /// Its name, in the names of the batch.
    pub(super) name: Span,
    /// `None` if the batch has no source yet.
    pub(super) source: Option<Py<Source>>,
}

impl TableWalk {
    pub(super) fn new(tables: Arc<TableSources>, walk: RefWalk) -> Self {
        Self { walk, standing: Standing::new(tables) }
    }

    /// The next record. Runs no Python code.
    #[inline]
    pub(super) fn next(&mut self, py: Python<'_>) -> crate::model::Result<Option<Step>> {
        let Some(number) = self.standing.tables.tables.next(&mut self.walk)? else { return Ok(None) };
        let Some(cursor) = self.walk.cursor(number) else { return Ok(None) };
        let source = self.standing.source(py, number, cursor.batch());
        let name = cursor.record().map(RefRecord::name).unwrap_or_default();
        Ok(Some(Step { number, index: cursor.index(), name, source }))
    }

    /// What a new source for the batch of that step holds; `None` if the walk has gone on since.
    pub(super) fn held(&self, py: Python<'_>, step: &Step) -> Option<Held> {
        Some(self.standing.held(py, step.number, self.walk.cursor(step.number)?.batch().clone()))
    }

    /// The views of that step's table that went out last.
    #[inline]
    pub(super) fn recent(&mut self, step: &Step) -> &mut Recent<RefView> {
        self.standing.recent(step.number)
    }

    /// Keeps the source of the batch of that step for those to come. Returns the one it replaces.
    pub(super) fn keep(&mut self, step: &Step, source: Py<Source>) -> Option<Py<Source>> {
        self.standing.keep(step.number, source)
    }
}
