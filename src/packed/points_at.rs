//! Who points at an object: a substring search over the bytes, not a walk over the records.
//!
//! A hit counts only in an oid column: at the start of a line or behind its `^` (a refname can hold 40 hex digits too).
//! Upper-case hex matches as well. The search looks for the longest run of decimal digits in the id, since those have no
//! case, and compares the rest where that run is found. Such a run cannot overlap the wrong hit before it: left of it
//! stands no decimal digit (a letter of the id, or the LF or `^` in front of it).

use memchr::{memchr2_iter, memmem};

use super::search::record_start;
use super::{Record, Stop};
use crate::model::{HashKind, Interrupt, Span};

/// Bytes that are searched between two questions to the interrupt.
const WINDOW: usize = 16 << 20;

/// The records in `body` whose object id, or peeled object id, is the one with these hex digits; in file order.
///
/// # Errors
/// [`Damage`](super::Damage) in a record that was hit, or an interrupt.
pub(super) fn points_at(
    data: &[u8],
    body: &Span,
    hash: HashKind,
    hex: &[u8],
    interrupt: Interrupt<'_>,
) -> Result<Vec<Record>, Stop> {
    let mut found: Vec<Record> = Vec::new();
    let run = longest_digit_run(hex);
    let digits = hex.get(run.clone()).unwrap_or_default();
    let finder = memmem::Finder::new(digits);
    for window in body.clone().step_by(WINDOW) {
        // Into the next window by what a hit that starts in this one may need.
        let end = window.saturating_add(WINDOW).saturating_add(digits.len().saturating_sub(1)).min(body.end);
        let haystack = data.get(window..end).unwrap_or_default();
        let mut visit = |hit: usize| -> Result<(), Stop> {
            let start = window.saturating_add(hit).saturating_sub(run.start);
            if is_oid_column(data, body.start, start) && holds(data, start, hex) {
                let record = Record::parse(data, record_start(data, body.start, start), hash)?;
                if found.last() != Some(&record) {
                    found.push(record);
                }
            }
            Ok(())
        };
        if digits.is_empty() {
            // No digit at all: every id starts with a letter then, in either case.
            let first = hex.first().copied().unwrap_or_default();
            memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), haystack).try_for_each(&mut visit)?;
        } else {
            finder.find_iter(haystack).try_for_each(&mut visit)?;
        }
        if !interrupt() {
            return Err(Stop::Interrupted);
        }
    }
    Ok(found)
}

fn longest_digit_run(hex: &[u8]) -> Span {
    let (mut longest, mut current) = (0..0, 0..0);
    for (i, byte) in hex.iter().enumerate() {
        let next = i.saturating_add(1);
        current = if byte.is_ascii_digit() { current.start..next } else { next..next };
        if current.len() > longest.len() {
            longest = current.clone();
        }
    }
    longest
}

fn is_oid_column(data: &[u8], first: usize, pos: usize) -> bool {
    let byte_before = |pos: usize| pos.checked_sub(1).and_then(|i| data.get(i)).copied();
    let line_starts = |pos: usize| pos == first || byte_before(pos) == Some(b'\n');
    line_starts(pos) || (pos > first && byte_before(pos) == Some(b'^') && line_starts(pos.saturating_sub(1)))
}

fn holds(data: &[u8], start: usize, hex: &[u8]) -> bool {
    data.get(start..).and_then(|rest| rest.get(..hex.len())).is_some_and(|there| there.eq_ignore_ascii_case(hex))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_digit_run_is_the_first_of_its_length() {
        assert_eq!(longest_digit_run(b"ab12c345de678"), 5..8);
        assert_eq!(longest_digit_run(b"0123"), 0..4);
        assert_eq!(longest_digit_run(b"abc"), 0..0);
    }
}
