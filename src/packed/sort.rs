//! A file that does not claim `sorted`: one full read, and a sorted copy if its records do not ascend.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::scan::{Breath, for_each_record};
use super::{Record, Stop};
use crate::model::{HashKind, Interrupt, Span};

/// Records that are sorted between two questions to the interrupt.
const RUN: usize = 1 << 16;

/// Checks every record of `body`; returns a copy of it in refname order, or `None` if it already ascends.
///
/// Duplicates keep the order of the file. The copy has the same records, byte for byte, and no header.
///
/// # Errors
/// [`Damage`](super::Damage) in the first damaged record, an interrupt, or no memory for the copy.
pub(super) fn sorted_copy(
    data: &[u8],
    body: &Span,
    hash: HashKind,
    interrupt: Interrupt<'_>,
) -> Result<Option<Vec<u8>>, Stop> {
    let (mut count, mut ascending, mut last_name) = (0_usize, true, &b""[..]);
    for_each_record(data, body, hash, interrupt, |record| {
        let name = data.get(record.name()).unwrap_or_default();
        count = count.saturating_add(1);
        ascending &= last_name <= name;
        last_name = name;
        Ok(())
    })?;
    if ascending {
        return Ok(None);
    }
    // Sorted is what no other program can change meanwhile: it could in a mapped file.
    let mut file = vec_of(body.len())?;
    file.extend_from_slice(data.get(body.clone()).unwrap_or_default());
    let mut records = vec_of(count)?;
    for_each_record(&file, &(0..file.len()), hash, interrupt, |record| {
        records.push(record);
        Ok(())
    })?;
    merged(&file, &mut records, interrupt).map(Some)
}

/// The records in refname order: sorted in runs, and those merged, so as to hear the interrupt in between.
fn merged(file: &[u8], records: &mut [Record], interrupt: Interrupt<'_>) -> Result<Vec<u8>, Stop> {
    let name = |record: &Record| file.get(record.name()).unwrap_or_default();
    for run in records.chunks_mut(RUN) {
        run.sort_by(|a, b| name(a).cmp(name(b)));
        if !interrupt() {
            return Err(Stop::Interrupted);
        }
    }
    let mut runs: Vec<_> = records.chunks(RUN).map(<[Record]>::iter).collect();
    // Of equal names the earlier run's comes first: it stood earlier in the file.
    let mut heap: BinaryHeap<_> = BinaryHeap::new();
    for (number, run) in runs.iter_mut().enumerate() {
        heap.extend(run.next().map(|record| Reverse((name(record), number, record.start(), record.end()))));
    }
    let mut copy = vec_of(file.len())?;
    let mut breath = Breath::new(0);
    while let Some(Reverse((_, number, start, end))) = heap.pop() {
        copy.extend_from_slice(file.get(start..end).unwrap_or_default());
        let next = runs.get_mut(number).and_then(Iterator::next);
        heap.extend(next.map(|record| Reverse((name(record), number, record.start(), record.end()))));
        breath.at(copy.len(), interrupt)?;
    }
    Ok(copy)
}

/// An empty vector with room for that many items.
fn vec_of<T>(len: usize) -> Result<Vec<T>, Stop> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len).map_err(|_| Stop::OutOfMemory)?;
    Ok(vec)
}
