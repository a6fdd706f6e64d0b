//! The `packed-refs` format: bytes <-> records. Pure: no I/O, no clock, no Python.
//!
//! ```text
//! file    = [header] record*
//! header  = "# pack-refs with: " traits LF          only as line 1
//! traits  = trait *(SP trait)                       peeled | fully-peeled | sorted; others are ignored
//! record  = hex SEP refname LF [ "^" hex LF ]       the second line: what an annotated tag peels to
//! hex     = 40 (SHA-1) or 64 (SHA-256) hex digits
//! SEP     = SP | TAB | CR                           git writes SP
//! refname = 1*(any byte but LF)
//! ```
//!
//! Records ascend by refname, compared as unsigned bytes, if the header says `sorted`. A file that does not say so is
//! read whole when it is opened and, if need be, through a sorted copy: everything else here relies on the order.
//!
//! Structural damage (no record boundary can be trusted there) is a [`Damage`]; a record that is merely unusable (bad
//! name, zero oid, duplicate) is read as it lies and marked [`Broken`].
#![deny(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::arithmetic_side_effects
)]

mod base;
mod broken;
mod checker;
mod cursor;
mod damage;
mod header;
mod locate;
mod peel;
mod plan;
mod points_at;
mod record;
mod scan;
mod search;
mod snapshot;
mod sort;
mod stretch;
mod text;

pub use base::{Base, Unread};
pub use checker::{Checker, Flaw};
pub use cursor::Cursor;
pub use damage::{Damage, Reason, Stop};
pub use header::Header;
pub use locate::{Locator, Site};
pub use peel::Peel;
pub use plan::{Patch, Plan, Put};
pub use record::Record;
pub use snapshot::Snapshot;
