//! What a notebook shows: `refspan.display` makes it.

use pyo3::prelude::*;

/// An object of ours as HTML.
pub(super) fn html<'py>(shown: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    shown.py().import("refspan.display")?.call_method1("html", (shown,))
}
