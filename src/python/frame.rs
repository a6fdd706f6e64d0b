//! `Frame`: rows that are columns too.

use std::path::Path;
use std::sync::Arc;

use pyo3::prelude::*;
#[cfg(feature = "arrow")]
use pyo3::types::PyCapsule;

#[cfg(feature = "arrow")]
use super::args::Name;
#[cfg(feature = "arrow")]
use super::arrow::{BATCH_ROWS, Choice, Columns};
use crate::reftable::BlockSummary;
use crate::store::{Lookup, PackedFile, Tables, View};

/// What rows are of.
#[derive(Clone)]
#[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "nobody asks for columns"))]
pub(super) enum Of {
    /// The refs of a packed-refs file.
    Packed(Arc<PackedFile>),
    /// The refs of tables, and where these are.
    Tables(Arc<Tables>, Vec<u8>),
    /// The refs of a repository.
    Store(Lookup),
    /// One reflog, in reverse or not.
    Log(Lookup, Vec<u8>, bool),
    /// All reflogs of a repository.
    Logs(Lookup),
    /// The reflogs in tables, of refs with this prefix, and where the tables are.
    TableLogs(Arc<Tables>, Vec<u8>, Vec<u8>),
    /// What makes one set of refs another; whether logs are compared.
    Changes([Arc<View>; 2], bool),
    /// The blocks of a table.
    Blocks(Arc<[BlockSummary]>),
}

/// A path as text: what is not UTF-8 in it is replaced.
pub(super) fn path_text(path: &Path) -> Vec<u8> {
    path.to_string_lossy().into_owned().into_bytes()
}

/// Rows that are Arrow columns too, for pyarrow, polars, pandas, duckdb and nanoarrow; not to be made on its own.
///
/// All rows, whatever an iterator has yielded before. Read anew for each stream: of a `RefStore`, or a reflog of one, what
/// is there then; of everything else what was there when it was opened.
#[pyclass(frozen, subclass, weakref, module = "refspan._native")]
pub(crate) struct Frame {
    /// What they are of; of a stack that was reloaded it is another one.
    #[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "nobody asks for columns"))]
    of: Box<dyn Fn() -> Of + Send + Sync>,
}

impl Frame {
    pub(super) fn new(of: impl Fn() -> Of + Send + Sync + 'static) -> Self {
        Self { of: Box::new(of) }
    }

    /// Rows that stay what they are.
    pub(super) fn fixed(of: Of) -> Self {
        Self::new(move || of.clone())
    }
}

#[cfg(feature = "arrow")]
#[pymethods]
impl Frame {
    /// The rows as Arrow columns: what `__arrow_c_stream__` gives, chosen.
    ///
    /// `fields`: which columns, in which order; without it the usual ones. `prefix`: only refs whose names start with it, a
    /// seek. `glob`: only refs that `git for-each-ref <glob>` shows. `oid`: "hex" text or "raw" bytes. `batch_rows`: how
    /// many rows a batch has at the most.
    ///
    /// Of refs: `name`, `oid`, `peeled`, `target`; on request `kind`, `update_index`, `namespace`, `broken`, `name_bytes`,
    /// `repository`. Of reflog entries: `ref`, `old`, `new`, `committer_name`, `committer_email`, `time`, `tz`, `message`,
    /// `index`; on request `update_index`, `namespace`, `ref_bytes`, `repository`. Of changes: `name`, `kind`, `before`,
    /// `after`; on request `namespace`, `name_bytes`. Of blocks: `kind`, `offset`, `length`, `records`, `restarts`.
    /// docs/columns.md says what each holds.
    ///
    /// `ValueError` for an unknown field. Damage that a stream comes to is an error of the consumer, with the text
    /// of `CorruptError`.
    #[pyo3(
        signature = (fields=None, *, prefix=None, glob=None, oid="hex", batch_rows=BATCH_ROWS),
        text_signature = "($self, fields=None, *, prefix=None, glob=None, oid='hex', batch_rows=65536)"
    )]
    fn columns(
        &self,
        py: Python<'_>,
        fields: Option<Bound<'_, PyAny>>,
        prefix: Option<Name<'_>>,
        glob: Option<Name<'_>>,
        oid: &str,
        batch_rows: usize,
    ) -> PyResult<Columns> {
        Columns::new(py, (self.of)(), Choice { fields: fields.as_ref(), prefix, glob, oid, batch_rows })
    }

    /// All rows in the usual columns, as the Arrow PyCapsule interface has it: a capsule `arrow_array_stream`.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        Columns::new(py, (self.of)(), Choice::usual())?.stream(py, requested_schema.as_ref())
    }
}
