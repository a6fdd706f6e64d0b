//! Plain data and its rules: object ids, refnames, spans, errors. No I/O, no format.

mod broken;
mod edit;
mod error;
mod oid;
mod place;
mod refname;
mod selection;
mod span;
mod value;

pub use broken::Broken;
pub use edit::{Edit, Expected, Verb};
pub use error::{Error, Interrupt, Result};
pub use oid::{HashKind, Oid, hex_spells, is_hex, spell};
pub use place::{OWN_NAMESPACES, Place, Scope, has_root_syntax, is_pseudoref, is_root_ref};
pub use refname::{Fault, is_safe, is_well_formed};
pub use selection::Selection;
pub use span::Span;
pub use value::{RefValue, Value};
