//! `Edit`, a change of one ref, `ANY`, and what callers may pass for them.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};

use super::args::{self, Name};
use super::error::raise;
use super::git_ref::{Ref, Symref};
use super::ref_view::refname;
use crate::model::{self, Expected, Oid, Verb};

/// The type of `ANY`, which stands for whatever a ref may hold, or nothing. There is one value of it.
#[pyclass(frozen, module = "refspan")]
pub(crate) struct AnyValue;

#[pymethods]
impl AnyValue {
    #[expect(clippy::unused_self, reason = "a method in Python")]
    fn __repr__(&self) -> &'static str {
        "ANY"
    }

    /// Copied and pickled by name: there is only one.
    #[expect(clippy::unused_self, reason = "a method in Python")]
    fn __reduce__(&self) -> &'static str {
        "ANY"
    }
}

/// The value.
pub(super) fn any(py: Python<'_>) -> PyResult<&Bound<'_, AnyValue>> {
    static ANY: PyOnceLock<Py<AnyValue>> = PyOnceLock::new();
    Ok(ANY.get_or_try_init(py, || Py::new(py, AnyValue))?.bind(py))
}

/// A change of one ref, as `Transaction.apply` takes it, and the tuple `(verb, name, new, old)` too.
///
/// `verb` is "create", "update", "delete" or "verify". `new` is the object id of the former two, else None. `old` is
/// `ANY`, None (the ref must not exist) or an object id; by default `ANY` for "update" and "delete", None for the others.
#[pyclass(frozen, eq, module = "refspan")]
#[derive(PartialEq)]
pub(crate) struct Edit {
    edit: model::Edit,
}

impl From<model::Edit> for Edit {
    fn from(edit: model::Edit) -> Self {
        Self { edit }
    }
}

#[pymethods]
impl Edit {
    #[new]
    #[pyo3(signature = (verb, name, new=None, old=Old::Any), text_signature = "(verb, name, new=None, old=...)")]
    fn new(
        verb: &Bound<'_, PyAny>,
        name: &Bound<'_, PyAny>,
        new: Option<Bound<'_, PyAny>>,
        old: Old<'_>,
    ) -> PyResult<Self> {
        let any = any(verb.py())?.as_any();
        let is_changed = verb.extract::<&str>().is_ok_and(|verb| matches!(verb, "update" | "delete"));
        let old = match &old {
            Old::Any => Some(any).filter(|_| is_changed),
            Old::Given(old) => Some(old).filter(|old| !old.is_none()),
        };
        of_parts(verb, name, new.as_ref(), old).map(Self::from)
    }

    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str, &'static str, &'static str, &'static str) = ("verb", "name", "new", "old");

    /// "create", "update", "delete" or "verify".
    #[getter]
    fn verb(&self) -> &'static str {
        self.edit.verb.as_str()
    }

    /// The full name.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        refname(py, &self.edit.name)
    }

    /// The object id that the ref is set to, as lower-case hex; None where it is not set.
    #[getter(new)]
    fn new_value(&self) -> Option<String> {
        self.edit.new.map(|new| new.to_hex())
    }

    /// What the ref must hold before: `ANY`, None for nothing, or an object id as lower-case hex.
    #[getter]
    fn old<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.edit.old {
            Expected::Any => any(py)?.clone().into_any(),
            Expected::Absent => py.None().into_bound(py),
            Expected::Oid(oid) => oid.to_hex().into_pyobject(py)?.into_any(),
        })
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (self.verb(), self.name(py)?, self.new_value(), self.old(py)?).into_pyobject(py)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.edit.hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.name(py)?.repr()?;
        let new = self.new_value().map_or("None".to_owned(), |new| format!("'{new}'"));
        Ok(format!("Edit('{}', {name}, {new}, {})", self.verb(), self.old(py)?.repr()?))
    }
}

/// Edits from whatever yields `Edit`s and tuples.
pub(super) fn edits(edits: &Bound<'_, PyAny>) -> PyResult<Vec<model::Edit>> {
    edits.try_iter()?.map(|item| edit(&item?)).collect()
}

fn edit(item: &Bound<'_, PyAny>) -> PyResult<model::Edit> {
    if let Ok(edit) = item.cast::<Edit>() {
        return Ok(edit.get().edit.clone());
    }
    let tuple = item.cast::<PyTuple>().ok().filter(|tuple| tuple.len() == 4);
    let Some(tuple) = tuple else {
        return Err(PyTypeError::new_err("an edit is an Edit or a tuple (verb, name, new, old)"));
    };
    let (new, old) = (tuple.get_item(2)?, tuple.get_item(3)?);
    let given = |value: Bound<'_, PyAny>| if value.is_none() { None } else { Some(value.unbind()) };
    let py = item.py();
    let (new, old) = (given(new).map(|new| new.into_bound(py)), given(old).map(|old| old.into_bound(py)));
    of_parts(&tuple.get_item(0)?, &tuple.get_item(1)?, new.as_ref(), old.as_ref())
}

fn of_parts(
    verb: &Bound<'_, PyAny>,
    name: &Bound<'_, PyAny>,
    new: Option<&Bound<'_, PyAny>>,
    old: Option<&Bound<'_, PyAny>>,
) -> PyResult<model::Edit> {
    let word = verb.cast::<PyString>()?.to_str()?;
    let Some(verb) = Verb::ALL.into_iter().find(|verb| verb.as_str() == word) else {
        if word.starts_with("symref") {
            let message = format!("symbolic refs cannot be changed yet: {word}");
            return Err(raise(verb.py(), "UnsupportedError", (message,)));
        }
        return Err(PyValueError::new_err(format!("a verb is 'create', 'update', 'delete' or 'verify', not {word:?}")));
    };
    let name: Name<'_> = name.extract()?;
    if matches!(verb, Verb::Create | Verb::Update) != new.is_some() {
        let wants = if new.is_some() { "no new object id" } else { "a new object id" };
        return Err(PyValueError::new_err(format!("'{word}' takes {wants}")));
    }
    let new = new.map(|new| oid(new, name.as_bytes())).transpose()?;
    let old = expected(old, name.as_bytes())?;
    made(verb, name.as_bytes(), new, old)
}

/// An edit of these parts, if they go together.
pub(super) fn made(verb: Verb, name: &[u8], new: Option<Oid>, old: Expected) -> PyResult<model::Edit> {
    match (verb, old) {
        (Verb::Create, Expected::Any | Expected::Oid(_)) => {
            Err(PyValueError::new_err("what is created must not exist: its old value is None"))
        }
        (Verb::Delete, Expected::Absent) => {
            Err(PyValueError::new_err("what must not exist cannot be deleted: old is ANY or an object id"))
        }
        (Verb::Verify, Expected::Any) => {
            Err(PyValueError::new_err("there is nothing to verify: old is None or an object id"))
        }
        _ => Ok(model::Edit { verb, name: name.to_vec(), new, old }),
    }
}

/// An object id for the ref of that name.
pub(super) fn oid(value: &Bound<'_, PyAny>, name: &[u8]) -> PyResult<Oid> {
    args::oid(value).map_err(|error| {
        let py = value.py();
        let is_ours = error.is_instance_of::<PyValueError>(py);
        match refname(py, name) {
            Ok(name) if is_ours => raise(py, "InvalidValueError", (name, value)),
            _ => error,
        }
    })
}

/// What a ref must hold, as an argument.
pub(super) enum Old<'py> {
    /// What it is if none is given.
    Any,
    Given(Bound<'py, PyAny>),
}

impl<'py> FromPyObject<'_, 'py> for Old<'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self::Given(value.to_owned()))
    }
}

impl Old<'_> {
    pub(super) fn expected(&self, name: &[u8]) -> PyResult<Expected> {
        match self {
            Self::Any => Ok(Expected::Any),
            Self::Given(value) => expected(Some(value).filter(|value| !value.is_none()), name),
        }
    }
}

/// What a ref must hold: None is nothing.
pub(super) fn expected(value: Option<&Bound<'_, PyAny>>, name: &[u8]) -> PyResult<Expected> {
    let Some(value) = value else { return Ok(Expected::Absent) };
    if value.is_instance_of::<AnyValue>() {
        return Ok(Expected::Any);
    }
    let is_symbolic = value.cast::<Ref>().is_ok_and(|found| found.get().is_symbolic());
    if is_symbolic || value.is_instance_of::<Symref>() {
        return Err(raise(value.py(), "UnsupportedError", ("symbolic refs cannot be expected yet",)));
    }
    oid(value, name).map(Expected::Oid).map_err(|error| {
        let py = value.py();
        let is_type = error.is_instance_of::<PyTypeError>(py);
        if is_type { PyTypeError::new_err("old is ANY, None for nothing, or an object id (or a Ref)") } else { error }
    })
}
