//! The views that an iterator gave out last, to give out again: a plain loop then allocates nothing for each ref.

use pyo3::PyClass;
use pyo3::prelude::*;

use super::ref_view::Parts;
use super::source::Source;

/// What can be made to show another ref.
pub(super) trait Movable {
    /// Whether it shows refs of that source.
    fn is_of(&self, source: &Py<Source>) -> bool;
    /// Makes it another ref of the same source. Only for an object that nobody else holds.
    fn point_at(&self, parts: Parts);
}

/// The last two views that went out. A loop lets go of the one before last before it asks for the next.
pub(super) struct Recent<V>([Option<Py<V>>; 2]);

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self([None, None])
    }
}

impl<V: PyClass<Frozen = pyo3::pyclass::boolean_struct::True> + Movable + Sync> Recent<V> {
    /// Whether [`Self::reuse`] would find one, if asked next.
    #[inline]
    pub(super) fn is_free(&self, py: Python<'_>, source: &Py<Source>) -> bool {
        self.0[1].as_ref().is_some_and(|view| is_unshared(py, view) && view.get().is_of(source))
    }

    /// The one before last, made a view of another ref, if nobody else holds it and it is of the same source.
    #[inline]
    pub(super) fn reuse<'py>(&mut self, py: Python<'py>, source: &Py<Source>, parts: Parts) -> Option<Bound<'py, V>> {
        self.0.swap(0, 1);
        let view = self.0[0].as_ref().filter(|view| is_unshared(py, view) && view.get().is_of(source))?;
        view.get().point_at(parts);
        Some(view.bind(py).clone())
    }

    /// Keeps a new view in its place. Returns what stood there, to be dropped where Python code may run.
    pub(super) fn keep(&mut self, view: Py<V>) -> Option<Py<V>> {
        self.0[0].replace(view)
    }
}

/// Whether the caller's reference is the only one. Free-threaded Python cannot tell.
#[inline]
#[expect(deprecated, reason = "the count is no telling on free-threaded builds, which are ruled out first")]
fn is_unshared<V>(py: Python<'_>, view: &Py<V>) -> bool {
    cfg!(not(Py_GIL_DISABLED)) && view.get_refcnt(py) == 1
}
