//! Plain data and its rules: object ids, refnames, spans, errors. No I/O, no format.

mod error;
mod oid;
mod refname;
mod span;

pub use error::{Error, Interrupt, Result};
pub use oid::{HashKind, Oid, is_hex};
pub use refname::{Fault, is_safe, is_well_formed};
pub use span::Span;
