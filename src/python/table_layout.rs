//! `TableLayout`: the blocks of a table, in file order.

use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyTuple};

use super::block_info::BlockInfo;
use super::display::html;
use super::frame::{Frame, Of};
use crate::reftable::BlockSummary;

/// The blocks of a table, in file order: a sequence of `BlockInfo`, and a frame for Arrow. Equal to a list or tuple of the
/// same blocks.
#[pyclass(frozen, sequence, extends = Frame, module = "refspan")]
pub(crate) struct TableLayout {
    blocks: Py<PyTuple>,
    block_size: u32,
}

impl TableLayout {
    pub(super) fn new(py: Python<'_>, block_size: u32, summaries: Vec<BlockSummary>) -> PyResult<Py<Self>> {
        let blocks = PyTuple::new(py, summaries.iter().map(|summary| BlockInfo::from(*summary)).collect::<Vec<_>>())?;
        let frame = Frame::fixed(Of::Blocks(summaries.into()));
        let layout = Self { blocks: blocks.unbind(), block_size };
        Py::new(py, PyClassInitializer::from(frame).add_subclass(layout))
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

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<TableLayout {} blocks of {} bytes>", self.blocks.bind(py).len(), self.block_size)
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        html(slf.as_any())
    }
}
