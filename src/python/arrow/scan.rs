//! `scan`: one frame for many repositories.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use super::batches::{Batch, Batches, Failure};
use super::columns::is_raw;
use super::field::{FLEET_LOGS, FLEET_REFS, REPOSITORIES};
use super::fleet::{Fleet, Look, Survey, What};
use super::gil::{Kept, with_python};
use super::plan::Plan;
use super::stream::{capsule, requested};
use crate::model::{Error, Interrupt};
use crate::python::args::{self, Name};
use crate::store::Query;

/// Between two reports of progress, and two looks at signals.
const PERIOD: Duration = Duration::from_millis(100);

/// The rows of many repositories as Arrow columns, as `Columns`. Made by `scan`. Each stream reads them anew.
#[pyclass(frozen, weakref, module = "refspan")]
pub(crate) struct Scan {
    survey: Survey,
    workers: usize,
    progress: Option<Py<PyAny>>,
}

#[pymethods]
impl Scan {
    #[new]
    #[pyo3(signature = (paths, *, what="refs", fields=None, prefix=None, glob=None, oid="hex", batch_rows=super::BATCH_ROWS, workers=None, on_error="raise", progress=None))]
    #[pyo3(
        text_signature = "(paths, *, what='refs', fields=None, prefix=None, glob=None, oid='hex', batch_rows=65536, workers=None, on_error='raise', progress=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        what: &str,
        fields: Option<Bound<'_, PyAny>>,
        prefix: Option<Name<'_>>,
        glob: Option<Name<'_>>,
        oid: &str,
        batch_rows: usize,
        workers: Option<usize>,
        on_error: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let (what, shape) = match what {
            "refs" => (What::Refs, FLEET_REFS),
            "reflogs" => (What::Logs, FLEET_LOGS),
            "repositories" => (What::Repositories, REPOSITORIES),
            _ => {
                return Err(PyValueError::new_err(format!(
                    "what is 'refs', 'reflogs' or 'repositories', not {what:?}"
                )));
            }
        };
        let records = match on_error {
            "raise" => false,
            "record" => true,
            _ => return Err(PyValueError::new_err(format!("on_error is 'raise' or 'record', not {on_error:?}"))),
        };
        if batch_rows == 0 || workers == Some(0) {
            return Err(PyValueError::new_err("batch_rows and workers are at least 1"));
        }
        let mut query = Query::of_prefix(prefix.as_ref().map_or(&b""[..], Name::as_bytes));
        if let Some(glob) = &glob {
            query = query.with_glob(glob.as_bytes()).map_err(|error| crate::python::error::to_py(py, error))?;
        }
        let paths = paths.into_iter().map(args::path).collect::<PyResult<Arc<[_]>>>()?;
        let plan = Plan::new(shape, fields.as_ref(), is_raw(oid)?)?;
        let survey = Survey { what, plan, query, most: batch_rows.min(super::MOST_ROWS), records, paths };
        let workers = workers.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZero::get));
        Ok(Self { survey, workers, progress })
    }

    /// The names of the columns.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.survey.plan.fields().map(super::field::Field::name).collect::<Vec<_>>())
    }

    /// A stream of record batches, as `Columns.__arrow_c_stream__`.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let mut survey = self.survey.clone();
        if let Some(schema) = requested_schema {
            survey.plan = survey.plan.requested(&requested(&schema)?)?;
        }
        let (plan, most, total) = (survey.plan.clone(), survey.most, survey.paths.len());
        let fleet = Fleet::new(survey, self.workers).map_err(PyOSError::new_err)?;
        let report = self.progress.as_ref().map(|progress| Report::new(progress.clone_ref(py), total));
        capsule(py, plan, most, Box::new(Surveyed { fleet, report }))
    }

    fn __repr__(&self) -> String {
        let fields: Vec<_> = self.survey.plan.fields().map(super::field::Field::name).collect();
        format!("<Scan of {} repositories: {}>", self.survey.paths.len(), fields.join(", "))
    }
}

/// Batches as they come from the fleet.
struct Surveyed {
    fleet: Fleet,
    report: Option<Report>,
}

impl Batches for Surveyed {
    fn next(&mut self, _: &Plan, _: usize, interrupt: Interrupt<'_>) -> Result<Option<Batch>, Failure> {
        loop {
            // What is there already is taken as it is. To wait, the GIL is let go of, which the consumer may hold.
            let look = match self.fleet.look(Duration::ZERO)? {
                Look::Wait => {
                    let fleet = &mut self.fleet;
                    let mut wait = || fleet.look(PERIOD);
                    with_python(|py| py.detach(&mut wait)).unwrap_or_else(&mut wait)?
                }
                look => look,
            };
            if let Some(report) = &mut self.report {
                report.tell(self.fleet.done(), matches!(look, Look::End))?;
            }
            match look {
                Look::Batch(batch) => return Ok(Some(batch)),
                Look::End => return Ok(None),
                Look::Wait if interrupt() => {}
                Look::Wait => return Err(Error::Interrupted.into()),
            }
        }
    }
}

/// Who wants to know how far it is.
struct Report {
    progress: Kept,
    total: usize,
    told: Option<Instant>,
}

impl Report {
    fn new(progress: Py<PyAny>, total: usize) -> Self {
        Self { progress: Kept::new(progress), total, told: None }
    }

    /// Tells it, if that was not done a moment ago.
    fn tell(&mut self, done: usize, is_last: bool) -> Result<(), Failure> {
        if !is_last && self.told.is_some_and(|told| told.elapsed() < PERIOD) {
            return Ok(());
        }
        self.told = Some(Instant::now());
        let Some(progress) = self.progress.get() else { return Ok(()) };
        let told = with_python(|py| progress.call1(py, (done, self.total, "repositories")).map(|_| ()));
        match told {
            Some(Err(error)) => Err(Failure::Raised(error)),
            _ => Ok(()),
        }
    }
}
