//! Plain data and its rules: object ids, refnames, spans, errors. No I/O, no format.

mod broken;
mod error;
mod oid;
mod refname;
mod selection;
mod span;

pub use broken::Broken;
pub use error::{Error, Interrupt, Result};
pub use oid::{HashKind, Oid, is_hex};
pub use refname::{Fault, is_safe, is_well_formed};
pub use selection::Selection;
pub use span::Span;
