//! The last look at a file's records before they are written: all well-formed, names ascending, none twice.
//!
//! What git writes otherwise than it reads is mended on the way, byte for byte in place: a TAB or CR as separator becomes a
//! space, upper-case hex lower-case.

use super::cursor::order_of;
use super::record::diagnose;
use super::search::record_start;
use super::{Reason, Record};
use crate::fs::Check;
use crate::model::{HashKind, Span};

/// What is wrong, and where in all that was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flaw {
    /// Bytes before it.
    pub offset: usize,
    /// What it is.
    pub reason: Reason,
}

/// Checks records, piece by piece.
#[derive(Debug)]
pub struct Checker {
    hash: HashKind,
    /// The header that comes first.
    header: usize,
    /// Bytes that were checked before this piece.
    before: usize,
    last_name: Vec<u8>,
    may_repeat: bool,
    /// Where records were left out, and their names; the next one comes last.
    gaps: Vec<(usize, Vec<u8>)>,
}

impl Checker {
    /// A check of a header of that length, which is passed over, and records behind it.
    #[must_use]
    pub fn new(hash: HashKind, header: usize) -> Self {
        Self { hash, header, before: 0, last_name: Vec::new(), may_repeat: false, gaps: Vec::new() }
    }

    /// The same, but a name may stand in several records.
    pub(super) fn allowing_duplicates(self) -> Self {
        Self { may_repeat: true, ..self }
    }

    /// The same, where records of these names were left out at these offsets: their neighbours must agree with them. (Where
    /// the order is false a search finds some record of a name, and there may be others.)
    pub(super) fn with_gaps(self, mut gaps: Vec<(usize, Vec<u8>)>) -> Self {
        gaps.reverse();
        Self { gaps, ..self }
    }

    /// Checks the whole records of a piece; `visit` is told where each lies in all that was checked, and in the piece.
    #[inline(always)]
    pub(super) fn check_each<E: From<Flaw>>(
        &mut self,
        piece: &mut [u8],
        is_last: bool,
        mut visit: impl FnMut(usize, &Record, &[u8]) -> Result<(), E>,
    ) -> Result<usize, E> {
        let header = std::mem::take(&mut self.header);
        // Whether the last record is whole shows the one behind it.
        let end = if is_last { piece.len() } else { record_start(piece, header, piece.len().saturating_sub(1)) };
        let (mut pos, mut last) = (header, None::<Span>);
        while pos < end {
            if self.gaps.last().is_some_and(|(at, _)| *at <= self.before.saturating_add(pos)) {
                self.pass_gaps(piece, &mut last, pos)?;
            }
            let flaw = |offset: usize, reason| Flaw { offset: self.before.saturating_add(offset), reason };
            let Some(record) = Record::read(piece, pos, self.hash) else {
                let damage = diagnose(piece, pos, self.hash);
                return Err(flaw(damage.offset, damage.reason).into());
            };
            let before = last.clone().map_or(&self.last_name[..], |last| piece.get(last).unwrap_or_default());
            match order_of(piece.get(record.name()).unwrap_or_default(), before) {
                std::cmp::Ordering::Greater => {}
                std::cmp::Ordering::Equal if self.may_repeat => {}
                std::cmp::Ordering::Equal => return Err(flaw(pos, Reason::Duplicate).into()),
                std::cmp::Ordering::Less => return Err(flaw(pos, Reason::OutOfOrder).into()),
            }
            mend(piece, &record, self.hash);
            visit(self.before.saturating_add(pos), &record, piece)?;
            last = Some(record.name());
            pos = record.end();
        }
        if is_last {
            self.pass_gaps(piece, &mut last, pos)?;
        }
        if let Some(last) = last {
            self.last_name.clear();
            self.last_name.extend_from_slice(piece.get(last).unwrap_or_default());
        }
        self.before = self.before.saturating_add(pos);
        Ok(pos)
    }

    /// Compares the names that were left out up to an offset in the piece with what came before them.
    #[cold]
    fn pass_gaps(&mut self, piece: &[u8], last: &mut Option<Span>, pos: usize) -> Result<(), Flaw> {
        let offset = self.before.saturating_add(pos);
        while let Some((_, name)) = self.gaps.pop_if(|(at, _)| *at <= offset) {
            let before = last.take().map_or(&self.last_name[..], |last| piece.get(last).unwrap_or_default());
            if name[..] <= *before {
                let reason = if name[..] == *before { Reason::Duplicate } else { Reason::OutOfOrder };
                return Err(Flaw { offset, reason });
            }
            self.last_name = name;
        }
        Ok(())
    }
}

impl Check for Checker {
    type Flaw = Flaw;

    fn check(&mut self, piece: &mut [u8], is_last: bool) -> Result<usize, Flaw> {
        self.check_each(piece, is_last, |_, _, _| Ok(()))
    }
}

/// Spells a record as git writes it.
#[inline(always)]
fn mend(piece: &mut [u8], record: &Record, hash: HashKind) {
    let is_usual = piece.get(record.oid().end) == Some(&b' ')
        && is_lower(piece, record.oid(), hash)
        && record.peeled().is_none_or(|peeled| is_lower(piece, peeled, hash));
    if !is_usual {
        spell(piece, record);
    }
}

#[cold]
fn spell(piece: &mut [u8], record: &Record) {
    if let Some(separator) = piece.get_mut(record.oid().end) {
        *separator = b' ';
    }
    for oid in [Some(record.oid()), record.peeled()].into_iter().flatten() {
        piece.get_mut(oid).unwrap_or_default().make_ascii_lowercase();
    }
}

/// Whether no hex digit is a capital. Of known width, so that the compiler makes whole-vector compares of it.
#[inline(always)]
fn is_lower(piece: &[u8], oid: Span, hash: HashKind) -> bool {
    let digits = piece.get(oid.start..).unwrap_or_default();
    match hash {
        HashKind::Sha1 => digits.first_chunk::<40>().is_some_and(has_no_capital),
        HashKind::Sha256 => digits.first_chunk::<64>().is_some_and(has_no_capital),
    }
}

/// Of what can be a hex digit, only capitals lack this bit.
#[inline(always)]
fn has_no_capital<const WIDTH: usize>(digits: &[u8; WIDTH]) -> bool {
    digits.iter().fold(b' ', |all, digit| all & digit) != 0
}
