//! refspan: git's references, read and written as spans.
//!
//! A *span* is a byte range of an immutable file. Readers hand spans out, writers hand whole runs of
//! untouched spans back; nothing is copied, formatted or allocated per record on either way.
//!
//! The floors, each of which may use itself and the ones below it:
//!
//! ```text
//! python   PyO3 classes (feature "python")
//! store    one repository's refs: found, read, compared, changed
//! packed   packed-refs: bytes <-> records, and the plan of a rewrite; no I/O
//! loose    loose refs and text reflogs: bytes <-> records; no I/O
//! reftable tables: bytes <-> records, and their merge; no I/O
//! fs       maps, reads and identifies files; locks, writes and renames them: the only floor that asks the OS
//! model    oids, refnames, spans, errors: plain data and its rules
//! ```

pub mod fs;
pub mod loose;
pub mod model;
pub mod packed;
#[cfg(feature = "python")]
mod python;
pub mod reftable;
pub mod store;
