//! Rows of each kind, as one batch after the other.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use pyo3::PyErr;

use super::change_columns::ChangeColumns;
use super::log_columns::LogColumns;
use super::log_rows::LogRows;
use super::plan::Plan;
use super::ref_columns::RefColumns;
use super::ref_rows::RefRows;
use crate::model::{Error, Interrupt};
use crate::store::{Diff, LogDiff, LogItem, Query};

/// A batch, and how many values in it are null for want of UTF-8.
pub(super) type Batch = (RecordBatch, u64);

/// Why there is no batch.
pub(super) enum Failure {
    Store(Error),
    Arrow(ArrowError),
    /// What somebody's own function raised.
    Raised(PyErr),
}

impl Failure {
    /// What is said of a panic: it must not unwind into C, nor leave anybody waiting.
    pub(super) fn panicked() -> Self {
        Self::Arrow(ArrowError::ExternalError("refspan panicked: please report it".into()))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

/// A walk over rows.
pub(super) trait Batches: Send {
    /// The next rows, `most` at the most; `None` at the end.
    fn next(&mut self, plan: &Plan, most: usize, interrupt: Interrupt<'_>) -> Result<Option<Batch>, Failure>;
}

/// Refs that are read as they are asked for.
pub(super) struct Refs {
    pub(super) rows: RefRows,
    pub(super) repository: Vec<u8>,
}

impl Batches for Refs {
    fn next(&mut self, plan: &Plan, most: usize, interrupt: Interrupt<'_>) -> Result<Option<Batch>, Failure> {
        let mut columns = RefColumns::new(plan, most, self.rows.sources());
        self.rows.fill(&mut columns, most, Some(&self.repository), interrupt)?;
        if columns.rows() == 0 { Ok(None) } else { Ok(Some(columns.finish(plan)?)) }
    }
}

/// Reflog entries of a repository, or of a file.
pub(super) struct Logs {
    pub(super) rows: LogRows,
    pub(super) repository: Vec<u8>,
}

impl Batches for Logs {
    fn next(&mut self, plan: &Plan, most: usize, interrupt: Interrupt<'_>) -> Result<Option<Batch>, Failure> {
        let mut columns = LogColumns::new(plan, most);
        self.rows.fill(&mut columns, most, Some(&self.repository), interrupt)?;
        if columns.rows() == 0 { Ok(None) } else { Ok(Some(columns.finish(plan)?)) }
    }
}

/// Changes from one set of refs to another, and those of their logs if they are compared.
pub(super) struct Changes {
    pub(super) refs: Diff,
    pub(super) logs: Option<LogDiff>,
    pub(super) query: Query,
}

impl Batches for Changes {
    fn next(&mut self, plan: &Plan, most: usize, interrupt: Interrupt<'_>) -> Result<Option<Batch>, Failure> {
        let mut columns = ChangeColumns::new(plan, most);
        while columns.rows() < most && !columns.is_large() {
            let Some(difference) = self.refs.next(interrupt)? else { break };
            if self.query.matches(&difference.name) {
                columns.push(&difference);
            }
        }
        while let Some(logs) = &mut self.logs
            && columns.rows() < most
            && !columns.is_large()
        {
            let text = |_: &[u8], item: LogItem<'_>| item.text();
            let Some(difference) = logs.next(text, interrupt)? else { break };
            if self.query.matches(&difference.name) {
                columns.push_log(&difference);
            }
        }
        if columns.rows() == 0 { Ok(None) } else { Ok(Some(columns.finish(plan)?)) }
    }
}

/// A batch that is there already.
pub(super) struct Once(pub(super) Option<RecordBatch>);

impl Batches for Once {
    fn next(&mut self, _: &Plan, _: usize, _: Interrupt<'_>) -> Result<Option<Batch>, Failure> {
        Ok(self.0.take().map(|batch| (batch, 0)))
    }
}
