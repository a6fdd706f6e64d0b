//! `Columns`: rows as Arrow columns, and the choice of which.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use super::batches::{Batches, Changes, Failure, Logs, Once};
use super::blocks;
use super::field::{BLOCKS, CHANGES, LOGS, REFS, Shape};
use super::log_rows::LogRows;
use super::parallel::batches;
use super::plan::Plan;
use super::ref_rows::RefRows;
use super::stream::{capsule, requested};
use crate::model::{HashKind, Interrupt};
use crate::python::args::Name;
use crate::python::bulk::bulk;
use crate::python::error::to_py;
use crate::python::frame::{Of, path_text};
use crate::store::{Diff, LogDiff, Lookup, Query};

/// Rows as Arrow columns: what `pyarrow.table`, `polars.DataFrame`, `pandas.DataFrame.from_arrow`, duckdb and nanoarrow take.
///
/// Made by `columns()`. Each time it is asked for a stream it reads anew: of a `RefStore` what is there then, of everything
/// else what was there when that was opened.
#[pyclass(frozen, weakref, module = "refspan")]
pub(crate) struct Columns {
    of: Of,
    plan: Plan,
    query: Query,
    batch_rows: usize,
}

/// What `columns()` takes.
pub(in crate::python) struct Choice<'a, 'py> {
    pub(in crate::python) fields: Option<&'a Bound<'py, PyAny>>,
    pub(in crate::python) prefix: Option<Name<'py>>,
    pub(in crate::python) glob: Option<Name<'py>>,
    pub(in crate::python) oid: &'a str,
    pub(in crate::python) batch_rows: usize,
}

/// Rows of a batch, if nobody says otherwise.
pub(in crate::python) const BATCH_ROWS: usize = 1 << 16;

/// Rows of a batch, whatever somebody says: so many object ids are less than what an offset can count.
pub(in crate::python) const MOST_ROWS: usize = 1 << 24;

impl Choice<'_, '_> {
    /// All rows, in the usual columns.
    pub(in crate::python) fn usual() -> Self {
        Self { fields: None, prefix: None, glob: None, oid: "hex", batch_rows: BATCH_ROWS }
    }
}

impl Of {
    /// The hash of the object ids, if anything tells.
    fn hash(&self) -> Option<HashKind> {
        match self {
            Self::Packed(file) => file.snapshot().hash(),
            Self::Tables(tables, _) | Self::TableLogs(tables, ..) => tables.hash(),
            Self::Store(lookup) | Self::Log(lookup, ..) | Self::Logs(lookup) => {
                lookup.repository().map(|repository| repository.location.hash())
            }
            Self::Changes(..) | Self::Blocks(_) => None,
        }
    }

    fn shape(&self) -> Shape {
        match self {
            Self::Packed(_) | Self::Tables(..) | Self::Store(_) => REFS,
            Self::Log(..) | Self::Logs(_) | Self::TableLogs(..) => LOGS,
            Self::Changes(..) => CHANGES,
            Self::Blocks(_) => BLOCKS,
        }
    }

    fn batches(
        &self,
        plan: &Plan,
        query: Query,
        most: usize,
        interrupt: Interrupt<'_>,
    ) -> Result<Box<dyn Batches>, Failure> {
        let refs = |rows, repository| batches(rows, plan, most, repository);
        Ok(match self {
            Self::Packed(file) => refs(RefRows::of_packed(file.clone(), query)?, path_text(file.path())),
            Self::Tables(tables, path) => refs(RefRows::of_tables(tables.clone(), query), path.clone()),
            Self::Store(lookup) => {
                let view = lookup.view(&query, interrupt)?;
                refs(RefRows::of_view(&view, query)?, path_of(lookup))
            }
            Self::Log(lookup, name, is_reverse) if query.matches(name) => {
                let rows = LogRows::of_log(lookup.clone(), name, *is_reverse, interrupt)?;
                Box::new(Logs { rows, repository: path_of(lookup) })
            }
            Self::Log(..) => Box::new(Once(None)),
            Self::Logs(lookup) => {
                let rows = LogRows::of_store(lookup.clone(), query, interrupt)?;
                Box::new(Logs { rows, repository: path_of(lookup) })
            }
            Self::TableLogs(tables, prefix, path) => {
                let mut query = query;
                if prefix.starts_with(&query.prefix) {
                    query.prefix.clone_from(prefix);
                } else if !query.prefix.starts_with(prefix) {
                    return Ok(Box::new(Once(None)));
                }
                Box::new(Logs { rows: LogRows::of_tables(tables.clone(), query), repository: path.clone() })
            }
            Self::Changes([before, after], logs) => {
                let refs = Diff::new(before.clone(), after.clone(), interrupt)?;
                let logs = if *logs { Some(LogDiff::new(before.clone(), after.clone(), interrupt)?) } else { None };
                Box::new(Changes { refs, logs, query })
            }
            Self::Blocks(blocks) => Box::new(Once(Some(blocks::batch(plan, blocks)?))),
        })
    }
}

/// Whether an `oid=` argument asks for raw object ids.
pub(super) fn is_raw(oid: &str) -> PyResult<bool> {
    match oid {
        "hex" => Ok(false),
        "raw" => Ok(true),
        other => Err(PyValueError::new_err(format!("oid is 'hex' or 'raw', not {other:?}"))),
    }
}

fn path_of(lookup: &Lookup) -> Vec<u8> {
    lookup.repository().map(|repository| path_text(repository.location.git_dir())).unwrap_or_default()
}

#[pymethods]
impl Columns {
    /// The names of the columns.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.plan.fields().map(super::field::Field::name).collect::<Vec<_>>())
    }

    /// A stream of record batches, as the Arrow PyCapsule interface has it: a capsule `arrow_array_stream`.
    ///
    /// `requested_schema`, a capsule `arrow_schema`, asks for other types of the same columns: text in any of its
    /// types, or with binary types as bytes; object ids as hex text, or raw in a binary type, of fixed size too.
    /// `ValueError` for others.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.stream(py, requested_schema.as_ref())
    }

    fn __repr__(&self) -> String {
        let fields: Vec<_> = self.plan.fields().map(super::field::Field::name).collect();
        format!("<Columns {}>", fields.join(", "))
    }
}

impl Columns {
    /// The columns of these rows that were chosen.
    pub(in crate::python) fn new(py: Python<'_>, of: Of, choice: Choice<'_, '_>) -> PyResult<Self> {
        let Choice { fields, prefix, glob, oid, batch_rows } = choice;
        let plan = Plan::new(of.shape(), fields, is_raw(oid)?)?;
        if batch_rows == 0 {
            return Err(PyValueError::new_err("batch_rows is at least 1"));
        }
        if matches!(of, Of::Blocks(_)) && (prefix.is_some() || glob.is_some()) {
            return Err(PyValueError::new_err("blocks have no names"));
        }
        let mut query = Query::of_prefix(prefix.as_ref().map_or(&b""[..], Name::as_bytes));
        if let Some(glob) = &glob {
            query = query.with_glob(glob.as_bytes()).map_err(|error| to_py(py, error))?;
        }
        Ok(Self { of, plan, query, batch_rows: batch_rows.min(MOST_ROWS) })
    }

    pub(in crate::python) fn stream<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let mut plan = self.plan.clone();
        if let Some(schema) = requested_schema {
            plan = plan.requested(&requested(schema)?)?;
            plan.check_width(self.of.hash().map(HashKind::raw_len))?;
        }
        let batches =
            bulk(py, |interrupt| match self.of.batches(&plan, self.query.clone(), self.batch_rows, interrupt) {
                Ok(batches) => Ok(Ok(batches)),
                Err(Failure::Store(error)) => Err(error),
                Err(failure) => Ok(Err(failure)),
            })?;
        let batches = batches.map_err(|failure| match failure {
            Failure::Raised(error) => error,
            Failure::Store(error) => to_py(py, error),
            Failure::Arrow(error) => PyValueError::new_err(error.to_string()),
        })?;
        capsule(py, plan, self.batch_rows, batches)
    }
}
