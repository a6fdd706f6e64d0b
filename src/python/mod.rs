//! The PyO3 classes: what Python sees of the core, one class a file, named as in Python.
#![expect(clippy::needless_pass_by_value, reason = "PyO3 hands arguments over by value")]

mod args;
#[cfg(feature = "arrow")]
mod arrow;
mod block_info;
mod bulk;
mod change;
mod display;
mod edit;
mod error;
mod finder;
mod frame;
mod git_ref;
mod iterators;
mod list_refs;
mod log_entry;
mod packed_refs;
mod plan;
mod reader;
mod recent;
mod ref_store;
mod ref_view;
mod reflog_iterator;
mod reftable;
mod show_ref;
mod source;
mod store_iterator;
mod store_reader;
mod table_layout;
mod tables;
mod transaction;

/// refspan's compiled core. Import from `refspan`, not from here.
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::error::errors(module.py())?;
        module.add("ANY", super::edit::any(module.py())?)?;
        super::transaction::abort_at_exit(module)
    }

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[cfg(feature = "arrow")]
    #[pymodule_export]
    use super::arrow::{Columns, Scan};
    #[pymodule_export]
    use super::block_info::BlockInfo;
    #[pymodule_export]
    use super::change::{Change, ChangeIterator, diff};
    #[pymodule_export]
    use super::edit::{AnyValue, Edit};
    #[pymodule_export]
    use super::finder::RepositoryIterator;
    #[pymodule_export]
    use super::frame::Frame;
    #[pymodule_export]
    use super::git_ref::{Ref, Symref, listed_peel, storage};
    #[pymodule_export]
    use super::list_refs::{is_below_a_file, is_well_formed, list_refs};
    #[pymodule_export]
    use super::log_entry::{LogEntry, LogIterator};
    #[pymodule_export]
    use super::packed_refs::PackedRefs;
    #[pymodule_export]
    use super::plan::Plan;
    #[pymodule_export]
    use super::reader::RefReader;
    #[pymodule_export]
    use super::ref_store::{RefStore, Snapshot, open};
    #[pymodule_export]
    use super::ref_view::RefView;
    #[pymodule_export]
    use super::reflog_iterator::{LogNames, ReflogIterator};
    #[pymodule_export]
    use super::reftable::{Reftable, ReftableStack};
    #[pymodule_export]
    use super::show_ref::{show_logs, show_ref};
    #[pymodule_export]
    use super::store_reader::{StoreReader, refs_dirs};
    #[pymodule_export]
    use super::table_layout::TableLayout;
    #[pymodule_export]
    use super::transaction::{Transaction, abort_all};
}
