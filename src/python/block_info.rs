//! `BlockInfo`: where a block of a table lies and what it holds.

use pyo3::prelude::*;

use crate::reftable::BlockSummary;

/// Where a block of a table lies, and what it holds.
#[pyclass(frozen, eq, hash, module = "refspan", get_all)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct BlockInfo {
    /// What its records are.
    kind: &'static str,
    /// Its first byte in the file. The first block starts at 0: it counts the file's header in.
    offset: usize,
    /// Its bytes in the file without padding; of a log block, deflated.
    length: usize,
    /// How many records it holds.
    records: usize,
    /// How many of them are stored with their whole name.
    restarts: usize,
}

impl From<BlockSummary> for BlockInfo {
    fn from(summary: BlockSummary) -> Self {
        let BlockSummary { block, records } = summary;
        let length = block.end.saturating_sub(block.start);
        Self { kind: block.kind.name(), offset: block.start, length, records, restarts: block.restarts }
    }
}

#[pymethods]
impl BlockInfo {
    fn __repr__(&self) -> String {
        let Self { kind, offset, length, records, restarts } = self;
        format!("BlockInfo(kind='{kind}', offset={offset}, length={length}, records={records}, restarts={restarts})")
    }
}
