//! Refs of a repository as the lines of `git show-ref`, for the command line.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::args::Name;
use super::bulk::bulk;
use super::ref_view::refname;
use super::store_reader::StoreReader;
use crate::model::{self, Interrupt, Result};
use crate::store::{ShowRef, Showing, Shown};

/// Whether `git check-ref-format --allow-onelevel` accepts the name.
#[pyfunction]
pub(super) fn is_well_formed(name: Name<'_>) -> bool {
    model::is_well_formed(name.as_bytes())
}

/// Whether looking for a loose ref of that name ends at a file where a directory should be.
#[pyfunction]
pub(super) fn is_below_a_file(store: &Bound<'_, StoreReader>, name: Name<'_>) -> bool {
    store.get().lookup().is_below_a_file(name.as_bytes())
}

/// Give `write` the lines of `git show-ref`, piece by piece. Returns how many refs were shown, and what git dies of.
///
/// `names`: these refs, as `--verify` shows them. Else `head`: `HEAD` first; then the refs below each of `prefixes` that
/// end in one of `patterns`. `abbrev`: so many digits of an object id at least, 0 for as many as git takes by itself.
#[pyfunction]
#[pyo3(signature = (
    store, write, *, names=None, prefixes=Vec::new(), patterns=Vec::new(), head=false, dereference=false,
    hash_only=false, abbrev=None, quiet=false,
))]
#[expect(clippy::too_many_arguments, reason = "git's options")]
#[expect(clippy::fn_params_excessive_bools, reason = "git's options")]
pub(super) fn list_refs<'py>(
    py: Python<'py>,
    store: &Bound<'_, StoreReader>,
    write: &Bound<'_, PyAny>,
    names: Option<Vec<Name<'_>>>,
    prefixes: Vec<Name<'_>>,
    patterns: Vec<Name<'_>>,
    head: bool,
    dereference: bool,
    hash_only: bool,
    abbrev: Option<usize>,
    quiet: bool,
) -> PyResult<(u64, Option<Bound<'py, PyString>>)> {
    let bytes = |names: Vec<Name<'_>>| names.iter().map(|name| name.as_bytes().to_vec()).collect::<Vec<_>>();
    let abbrev = abbrev.map(|digits| Some(digits).filter(|digits| *digits != 0));
    let options = ShowRef { patterns: bytes(patterns), dereference, hash_only, abbrev, quiet };
    let lookup = store.get().lookup().clone();
    let Some(mut showing) = bulk(py, |_| Showing::new(options, lookup))? else { return Ok((0, None)) };
    let mut text = Vec::new();
    let mut piece = |next: &mut (dyn FnMut(&mut Vec<u8>, Interrupt<'_>) -> Result<Shown> + Send)| -> PyResult<Shown> {
        let shown = bulk(py, |interrupt| Ok(next(&mut text, interrupt)))?;
        write.call1((PyBytes::new(py, &text),))?;
        text.clear();
        shown.map_err(|error| super::error::to_py(py, error))
    };
    if let Some(names) = names {
        for name in bytes(names) {
            if let Shown::Dies(message) = piece(&mut |text, interrupt| showing.verify(&name, text, interrupt))? {
                return Ok((showing.found, Some(refname(py, &message)?)));
            }
        }
        return Ok((showing.found, None));
    }
    if head && let Shown::Dies(message) = piece(&mut |text, interrupt| showing.head(text, interrupt))? {
        return Ok((showing.found, Some(refname(py, &message)?)));
    }
    for prefix in bytes(prefixes) {
        let mut walk = bulk(py, |interrupt| showing.walk(&prefix, interrupt))?;
        loop {
            match piece(&mut |text, interrupt| showing.next(&mut walk, text, interrupt))? {
                Shown::More => {}
                Shown::All => break,
                Shown::Dies(message) => return Ok((showing.found, Some(refname(py, &message)?))),
            }
        }
    }
    Ok((showing.found, None))
}
