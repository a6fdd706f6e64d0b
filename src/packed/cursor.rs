//! A walk over records, in file order, that borrows nothing: each step is given the data anew.

use super::{Damage, Reason, Record};
use crate::model::{HashKind, Span};

/// Where a walk stands: the stretches of the file still to come, and the name it saw last.
#[derive(Debug, Clone)]
pub struct Cursor {
    hash: HashKind,
    pos: usize,
    end: usize,
    /// Ascending, disjoint, each beginning and ending at a record boundary; the last one comes next.
    later: Vec<Span>,
    last_name: Span,
}

impl Cursor {
    /// A walk over `stretches`: ascending, disjoint, each beginning and ending at a record boundary.
    #[must_use]
    pub fn new(hash: HashKind, mut stretches: Vec<Span>) -> Self {
        stretches.reverse();
        Self { hash, pos: 0, end: 0, later: stretches, last_name: 0..0 }
    }

    /// The same walk, told which name stands in front of its first record.
    #[must_use]
    pub(super) fn after(self, last_name: Span) -> Self {
        Self { last_name, ..self }
    }

    /// The next record, fully checked, names ascending; equal neighbours are let through.
    ///
    /// # Errors
    /// [`Damage`] in the next record. The walk stays there: asked again, it says the same again.
    #[inline(always)]
    pub fn next(&mut self, data: &[u8]) -> Result<Option<Record>, Damage> {
        while self.pos >= self.end {
            let Some(stretch) = self.later.pop() else { return Ok(None) };
            (self.pos, self.end) = (stretch.start, stretch.end);
        }
        let record = Record::parse(data, self.pos, self.hash)?;
        let name = record.name();
        let bytes = |span: &Span| data.get(span.clone()).unwrap_or_default();
        if sorts_before(bytes(&name), bytes(&self.last_name)) {
            return Err(Damage::at(data, self.pos, Reason::OutOfOrder));
        }
        self.last_name = name;
        self.pos = record.end();
        Ok(Some(record))
    }
}

/// `a < b`. Most neighbours differ within their first words, where two numbers compare faster than a call.
#[inline(always)]
fn sorts_before(a: &[u8], b: &[u8]) -> bool {
    if let (Some(x), Some(y)) = (a.first_chunk::<16>(), b.first_chunk::<16>()) {
        if x != y {
            return u128::from_be_bytes(*x) < u128::from_be_bytes(*y);
        }
    }
    a < b
}
