//! The reftable format: bytes <-> records, and the merge of a stack of tables. Pure: no I/O, no clock, no Python.
//!
//! ```text
//! table = header | ref blocks | ref index | obj blocks | obj index | log blocks | log index | footer
//! block = type u8 | block_len u24 | record* | restart_offset u24 * restart_count | restart_count u16
//! type  = 'r' refs | 'i' index | 'o' objects | 'g' logs, deflated behind block_len
//! ```
//!
//! All numbers are big-endian. Blocks other than logs are padded with NUL to the header's block size. What one file of
//! this module implements stands, with its grammar, at that file's head.
//!
//! Names are prefix-compressed: a block's names are decoded into one arena ([`RefBatch`]), its object ids stay where
//! they lie in the file. Only the footer has a checksum; everything else is checked as it is read.
#![deny(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::arithmetic_side_effects
)]

mod batch;
mod block;
mod damage;
mod header;
mod index;
mod log;
mod merge;
mod number;
mod objects;
mod points_at;
mod ranges;
mod refs;
mod summary;
mod table;

pub use batch::{RefBatch, RefRecord, Value};
pub use block::{Block, Kind};
pub use damage::{Damage, Reason};
pub use header::{Footer, Header};
pub use index::split_keys;
pub use log::{LogCursor, LogRecord, LogUpdate};
pub use merge::{Keyed, Merge};
pub use points_at::{Hit, points_at};
pub use ranges::KeyRange;
pub use refs::RefCursor;
pub use summary::{BlockSummary, summaries};
pub use table::Table;
