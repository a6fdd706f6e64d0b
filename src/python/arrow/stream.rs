//! A stream of batches as consumers of Arrow take it: `arrow_array_stream` of the C stream interface, in a capsule.
//!
//! Whoever reads it may hold the GIL or not, and be any thread. The GIL is taken only at the end, to warn of what is no
//! UTF-8, and now and then in the main thread, to see to signals. Dropped, before its end too, it lets go of all that it
//! holds; a batch that was handed out holds what its columns are views into.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

use super::batches::{Batches, Failure};
use super::gil::with_python;
use super::plan::Plan;
use crate::model::Error;
use crate::python::bulk::is_main_thread;

/// Between two looks at signals.
const PATIENCE: Duration = Duration::from_millis(100);

/// One batch after the other.
struct Stream {
    plan: Plan,
    most: usize,
    rows: Rows,
    /// Values that are null for want of UTF-8, of which nobody was warned yet.
    lost: u64,
    signals: Signals,
    /// Whether somebody is waiting for a batch: a function that it calls may come back here.
    is_read: bool,
}

enum Rows {
    More(Box<dyn Batches>),
    End,
    /// What is said whenever more is asked for.
    Failed(String),
}

/// The capsule of a stream of these batches, of `most` rows at the most.
pub(super) fn capsule(
    py: Python<'_>,
    plan: Plan,
    most: usize,
    batches: Box<dyn Batches>,
) -> PyResult<Bound<'_, PyCapsule>> {
    let signals = Signals::new(py)?;
    let stream = Stream { plan, most, rows: Rows::More(batches), lost: 0, signals, is_read: false };
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(stream)), c"arrow_array_stream")
}

/// The schema in a capsule that a consumer asks with.
#[expect(unsafe_code, reason = "the capsule of another library is a C pointer; see docs/safety.md")]
pub(super) fn requested(schema: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let Ok(capsule) = schema.cast::<PyCapsule>() else {
        return Err(PyTypeError::new_err("requested_schema is a capsule 'arrow_schema', or None"));
    };
    let pointer = capsule.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    // SAFETY: the protocol says that a capsule of this name holds an `ArrowSchema`, which lives as long as the capsule, and
    // that is borrowed here.
    let schema = unsafe { pointer.as_ref() };
    if schema.release().is_none() {
        return Err(PyValueError::new_err("the requested schema was released"));
    }
    // What is no text in it is a panic to arrow-rs.
    let schema = catch_unwind(|| Schema::try_from(schema).map_err(|error| error.to_string()));
    let schema = schema.unwrap_or_else(|_| Err("malformed".to_owned()));
    schema.map_err(|reason| PyValueError::new_err(format!("the requested schema: {reason}")))
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if std::mem::replace(&mut self.is_read, true) {
            let message = "the stream is being read: what it calls cannot read it, too";
            return Some(Err(ArrowError::ExternalError(message.into())));
        }
        // The caller is C: it must not be unwound.
        let next = catch_unwind(AssertUnwindSafe(|| self.next_batch()));
        let next = next.unwrap_or_else(|_| Err("refspan panicked: please report it".to_owned()));
        // Nor can C have a NUL in a text.
        let next = next.map_err(|message| message.replace('\0', "?"));
        if let Err(message) = &next {
            self.rows = Rows::Failed(message.clone());
        }
        self.is_read = false;
        next.map_err(|message| ArrowError::ExternalError(message.into())).transpose()
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        self.plan.schema().clone()
    }
}

impl Stream {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, String> {
        let batches = match &mut self.rows {
            Rows::More(batches) => batches,
            Rows::End => return Ok(None),
            Rows::Failed(message) => return Err(message.clone()),
        };
        let signals = &mut self.signals;
        if !signals.allow() {
            return Err(signals.hand_on());
        }
        match batches.next(&self.plan, self.most, &mut || signals.allow()) {
            Ok(Some((batch, lost))) => {
                self.lost += lost;
                Ok(Some(batch))
            }
            Ok(None) => {
                self.rows = Rows::End;
                warn(std::mem::take(&mut self.lost))?;
                Ok(None)
            }
            Err(Failure::Store(Error::Interrupted)) => Err(self.signals.hand_on()),
            Err(Failure::Store(error)) => Err(error.to_string()),
            Err(Failure::Raised(error)) => {
                self.signals.raised = Some(error);
                Err(self.signals.hand_on())
            }
            Err(Failure::Arrow(error)) => Err(error.to_string()),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let lost = std::mem::take(&mut self.lost);
        if lost == 0 {
            return;
        }
        with_python(|py| {
            // A consumer drops a failed stream with its own exception on the way: a warning must not take its place.
            let pending = PyErr::take(py);
            // Where warnings are errors there is nobody left to raise it.
            let _ = warn(lost);
            if let Some(pending) = pending {
                pending.restore(py);
            }
        });
    }
}

/// Warns of values that are null, though they are not: they are no UTF-8.
fn warn(lost: u64) -> Result<(), String> {
    if lost == 0 {
        return Ok(());
    }
    let message = format!(
        "{lost} values are not UTF-8, and null for that; the fields name_bytes and ref_bytes have every name as bytes"
    );
    let warned = with_python(|py| {
        let message = std::ffi::CString::new(message)?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 1)
    });
    match warned {
        Some(Err(error)) => Err(error.to_string()),
        _ => Ok(()),
    }
}

/// Signals, which the main thread sees to.
struct Signals {
    main: Option<ThreadId>,
    looked: Instant,
    raised: Option<PyErr>,
}

impl Signals {
    fn new(py: Python<'_>) -> PyResult<Self> {
        let main = is_main_thread(py)?.then(|| thread::current().id());
        Ok(Self { main, looked: Instant::now(), raised: None })
    }

    /// Whether to go on.
    fn allow(&mut self) -> bool {
        if self.main == Some(thread::current().id()) && self.looked.elapsed() >= PATIENCE {
            self.raised = with_python(|py| py.check_signals().err()).flatten();
            self.looked = Instant::now();
        }
        self.raised.is_none()
    }

    /// What to tell the consumer of an interrupt. It raises an exception of its own; Ctrl-C is raised again behind it.
    #[expect(unsafe_code, reason = "PyO3 has no safe name for it; see docs/safety.md")]
    fn hand_on(&mut self) -> String {
        let Some(raised) = self.raised.take() else { return "interrupted".to_owned() };
        let text = with_python(move |py| {
            let text = raised.to_string();
            if raised.is_instance_of::<PyKeyboardInterrupt>(py) {
                // SAFETY: it may be called at any time; it marks SIGINT as arrived.
                unsafe { pyo3::ffi::PyErr_SetInterrupt() };
            }
            text
        });
        text.unwrap_or_else(|| "interrupted".to_owned())
    }
}
