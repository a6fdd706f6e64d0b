//! Bisection by record boundary, without an index: jump to a byte, walk back to the record that holds it.

use memchr::memrchr;

use super::{Damage, Record};
use crate::model::{HashKind, Span};

/// The start of the record that holds the byte at `pos`; never before `first`, itself the start of a record.
pub(super) fn record_start(data: &[u8], first: usize, pos: usize) -> usize {
    let line = line_start(data, first, pos);
    if line > first && data.get(line) == Some(&b'^') {
        let above = line_start(data, first, line.saturating_sub(1));
        // Below another `^` line it belongs to no record, and is found to be damage where it stands.
        if data.get(above) != Some(&b'^') {
            return above;
        }
    }
    line
}

fn line_start(data: &[u8], first: usize, pos: usize) -> usize {
    let before = data.get(first..pos).unwrap_or_default();
    memrchr(b'\n', before).map_or(first, |lf| first.saturating_add(lf).saturating_add(1))
}

/// The offset of the first record in `body` for whose name `before` is false, or the end of `body`.
///
/// `before` must be true of a leading run of the records and false of the rest, as in [`slice::partition_point`].
/// Reads and checks O(log n) records, allocates nothing.
///
/// # Errors
/// [`Damage`] in a record that was looked at.
pub(super) fn partition_point(
    data: &[u8],
    body: &Span,
    hash: HashKind,
    before: impl Fn(&[u8]) -> bool,
) -> Result<usize, Damage> {
    let (mut low, mut high) = (body.start, body.end);
    while low < high {
        let start = record_start(data, low, usize::midpoint(low, high));
        let record = Record::parse(data, start, hash)?;
        if before(data.get(record.name()).unwrap_or_default()) {
            low = record.end();
        } else {
            high = start;
        }
    }
    Ok(low)
}
