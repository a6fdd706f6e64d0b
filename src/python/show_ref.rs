//! Refs and logs as text, for the command line.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::error::to_py;
use super::reader::{Now, RefReader};
use super::ref_view::refname;
use crate::model::{Broken, Error, Selection};
use crate::packed::Record;

/// Give `write` the refs of `reader` as the text of `git show-ref -d`, piece by piece, and `report` each broken one.
///
/// A packed-refs file: all its refs; duplicates are in the text too, as in git's, badly named refs and zero object ids
/// are only reported. A stack: what lies below `refs/`, symbolic refs by what they resolve to. A single table: every
/// record, as it is. Raises `CorruptError` behind everything that could be read. O(n); Ctrl-C works between pieces.
#[pyfunction]
pub(super) fn show_ref(
    py: Python<'_>,
    reader: &Bound<'_, RefReader>,
    write: &Bound<'_, PyAny>,
    report: &Bound<'_, PyAny>,
) -> PyResult<()> {
    match reader.get().now() {
        Now::Packed(_, file) => {
            let mut cursor = file.select(Selection::default()).map_err(|error| to_py(py, error))?;
            let mut found = Vec::new();
            in_pieces(py, write, report, |text, broken| {
                let more = file.snapshot().write_text(&mut cursor, text, &mut found);
                let name = |record: &Record| file.snapshot().bytes(record.name()).to_vec();
                broken.extend(found.drain(..).map(|(record, why)| (name(&record), why)));
                more.map_err(|damage| damage.in_file(file.path().to_owned()))
            })
        }
        Now::Tables(tables) => {
            let mut walk = tables.tables().select_text();
            in_pieces(py, write, report, |text, broken| tables.tables().write_text(&mut walk, text, broken))
        }
    }
}

/// Give `write` the reflog entries of `reader` as lines of a files reflog, each with its refname in front.
///
/// A packed-refs file has none. Raises `CorruptError` behind everything that could be read. O(n).
#[pyfunction]
pub(super) fn show_logs(py: Python<'_>, reader: &Bound<'_, RefReader>, write: &Bound<'_, PyAny>) -> PyResult<()> {
    let Now::Tables(tables) = reader.get().now() else { return Ok(()) };
    let mut walk = tables.tables().logs(b"");
    in_pieces(py, write, write, |text, _| tables.tables().write_logs(&mut walk, text))
}

/// Hands on text and broken refs until `next`, which appends a piece and says whether there may be more, is done.
fn in_pieces(
    py: Python<'_>,
    write: &Bound<'_, PyAny>,
    report: &Bound<'_, PyAny>,
    mut next: impl FnMut(&mut Vec<u8>, &mut Vec<(Vec<u8>, Broken)>) -> Result<bool, Error> + Send,
) -> PyResult<()> {
    let (mut text, mut broken) = (Vec::new(), Vec::new());
    loop {
        let more = py.detach(|| next(&mut text, &mut broken));
        write.call1((PyBytes::new(py, &text),))?;
        text.clear();
        for (name, why) in broken.drain(..) {
            report.call1((refname(py, &name)?, why.as_str()))?;
        }
        if !more.map_err(|error| to_py(py, error))? {
            return Ok(());
        }
        py.check_signals()?;
    }
}
