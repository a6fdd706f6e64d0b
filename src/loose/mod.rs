//! Loose refs and text reflogs: bytes <-> records. Pure: no I/O, no clock, no Python.
#![deny(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::arithmetic_side_effects
)]

mod content;
mod reflog;

pub use content::{Content, first_oid};
pub use reflog::{LogLine, LogShape};

/// Git's idea of white space: no form feed, no vertical tab.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
