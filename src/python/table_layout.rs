//! `TableLayout`: the blocks of a table, in file order.

#[cfg(feature = "arrow")]
use std::sync::Arc;

use pyo3::prelude::*;
#[cfg(feature = "arrow")]
use pyo3::types::PyCapsule;
use pyo3::types::{PyIterator, PyTuple};

#[cfg(feature = "arrow")]
use super::arrow::{Choice, Columns, Of};
use super::block_info::BlockInfo;
use super::display::html;
use crate::reftable::BlockSummary;

/// The blocks of a table, in file order: a sequence of `BlockInfo`, and a frame for Arrow. Equal to a list or tuple of the
/// same blocks.
#[pyclass(frozen, weakref, sequence, module = "refspan")]
pub(crate) struct TableLayout {
    blocks: Py<PyTuple>,
    block_size: u32,
    #[cfg(feature = "arrow")]
    summaries: Arc<[BlockSummary]>,
}

impl TableLayout {
    pub(super) fn new(py: Python<'_>, block_size: u32, summaries: Vec<BlockSummary>) -> PyResult<Self> {
        let blocks = PyTuple::new(py, summaries.iter().map(|summary| BlockInfo::from(*summary)).collect::<Vec<_>>())?;
        Ok(Self {
            blocks: blocks.unbind(),
            block_size,
            #[cfg(feature = "arrow")]
            summaries: summaries.into(),
        })
    }

    #[cfg(feature = "arrow")]
    fn rows(&self) -> Of {
        Of::Blocks(self.summaries.clone())
    }
}

#[pymethods]
impl TableLayout {
    /// The size in bytes that the table's blocks are padded to; 0 means that they are not.
    #[getter]
    fn block_size(&self) -> u32 {
        self.block_size
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.blocks.bind(py).len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.blocks.bind(py).as_any().get_item(index)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.blocks.bind(py).try_iter()
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let mine = self.blocks.bind(py);
        match (other.cast::<Self>(), other.cast::<pyo3::types::PyList>()) {
            (Ok(other), _) => mine.eq(other.get().blocks.bind(py)),
            (_, Ok(list)) => mine.eq(list.to_tuple()),
            _ => mine.eq(other),
        }
    }

    /// The blocks as Arrow columns: what `__arrow_c_stream__` gives, chosen.
    ///
    /// `fields`: which of kind, offset, length, records, restarts, as in `BlockInfo`, in which order.
    #[cfg(feature = "arrow")]
    #[pyo3(signature = (fields=None))]
    fn columns(&self, py: Python<'_>, fields: Option<Bound<'_, PyAny>>) -> PyResult<Columns> {
        self.rows().columns(py, Choice { fields: fields.as_ref(), ..Choice::usual() })
    }

    /// All blocks as Arrow columns, as the Arrow PyCapsule interface has it; see `columns`.
    #[cfg(feature = "arrow")]
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.rows().stream(py, requested_schema.as_ref())
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<TableLayout {} blocks of {} bytes>", self.blocks.bind(py).len(), self.block_size)
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        html(slf.as_any())
    }
}
