//! The PyO3 classes: what Python sees of the core, one class a file, named as in Python.
#![expect(clippy::needless_pass_by_value, reason = "PyO3 hands arguments over by value")]

mod args;
mod bulk;
mod error;
mod iterators;
mod packed_refs;
mod ref_view;
mod show_ref;
mod source;

/// refspan's compiled core. Import from `refspan`, not from here.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::packed_refs::PackedRefs;
    #[pymodule_export]
    use super::ref_view::RefView;
    #[pymodule_export]
    use super::show_ref::show_ref;
}
