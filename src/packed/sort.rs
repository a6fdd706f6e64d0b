//! A file that does not claim `sorted`: one full read, and a sorted copy if its records do not ascend.

use super::scan::for_each_record;
use super::{Record, Stop};
use crate::model::{HashKind, Interrupt, Span};

/// Checks every record of `body`; returns a copy of it in refname order, or `None` if it already ascends.
///
/// Duplicates keep the order of the file. The copy has the same records, byte for byte, and no header.
///
/// # Errors
/// [`Damage`](super::Damage) in the first damaged record, or an interrupt.
pub(super) fn sorted_copy(
    data: &[u8],
    body: &Span,
    hash: HashKind,
    interrupt: Interrupt<'_>,
) -> Result<Option<Vec<u8>>, Stop> {
    let name = |record: &Record| data.get(record.name()).unwrap_or_default();
    let (mut count, mut ascending, mut last_name) = (0_usize, true, &b""[..]);
    for_each_record(data, body, hash, interrupt, |record| {
        count = count.saturating_add(1);
        ascending &= last_name <= name(&record);
        last_name = name(&record);
        Ok(())
    })?;
    if ascending {
        return Ok(None);
    }
    let mut records = Vec::with_capacity(count);
    for_each_record(data, body, hash, interrupt, |record| {
        records.push(record);
        Ok(())
    })?;
    records.sort_by(|a, b| name(a).cmp(name(b)));
    let mut copy = Vec::with_capacity(body.len());
    for record in &records {
        copy.extend_from_slice(data.get(record.span()).unwrap_or_default());
    }
    Ok(Some(copy))
}
