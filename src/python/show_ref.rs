//! The text of `git show-ref -d`, for the command line.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::error::to_py;
use super::packed_refs::PackedRefs;
use super::ref_view::RefView;
use crate::packed::Selection;

/// Give `write` the refs of `packed` as the text of `git show-ref -d`, piece by piece, and `report` each broken one.
///
/// Duplicates are in the text too, as in git's; badly named refs and zero object ids are only reported. Raises
/// `CorruptError` behind everything that could be read. O(n); Ctrl-C works between pieces.
#[pyfunction]
pub(super) fn show_ref(
    py: Python<'_>,
    packed: &Bound<'_, PackedRefs>,
    write: &Bound<'_, PyAny>,
    report: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let source = packed.get().source();
    let file = source.get().file();
    let mut cursor = file.select(Selection::default()).map_err(|error| to_py(py, error))?;
    let (mut text, mut broken) = (Vec::new(), Vec::new());
    let mut more = Ok(true);
    while matches!(more, Ok(true)) {
        more = py.detach(|| file.snapshot().write_text(&mut cursor, &mut text, &mut broken));
        write.call1((PyBytes::new(py, &text),))?;
        text.clear();
        for (record, why) in broken.drain(..) {
            report.call1((RefView::new(source.clone_ref(py), record), why.as_str()))?;
        }
        py.check_signals()?;
    }
    more.map(|_| ()).map_err(|damage| to_py(py, damage.in_file(file.path().to_owned())))
}
