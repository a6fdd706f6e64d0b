//! Refs, reflogs, changes and blocks as columns, for whoever speaks Arrow: pyarrow, polars, pandas, duckdb, nanoarrow.
//!
//! ```text
//! Columns    what was chosen: rows of what, which fields, which names
//! stream     the capsule that a consumer takes, and one batch after the other
//! batches    rows of each kind: ref_rows, log_rows, changes, blocks
//! *_columns  the columns of one batch, being filled
//! views      values that stay where they lie
//! ```

mod array;
mod batches;
mod blocks;
mod cells;
mod change_columns;
mod columns;
mod field;
mod fleet;
mod gil;
mod log_columns;
mod log_rows;
mod parallel;
mod plan;
mod ref_columns;
mod ref_rows;
mod repository_columns;
mod scan;
mod source;
mod stream;
mod views;
mod workers;

pub(super) use columns::{BATCH_ROWS, Choice, Columns, MOST_ROWS};
pub(super) use scan::Scan;
