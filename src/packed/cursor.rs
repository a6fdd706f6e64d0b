//! A walk over records, in file order, that borrows nothing: each step is given the data anew.

use std::cmp::Ordering;

use super::record::diagnose;
use super::{Damage, Reason, Record};
use crate::model::{HashKind, Span};

/// Where a walk stands: the stretches of the file still to come, and the name it saw last.
#[derive(Debug, Clone)]
pub struct Cursor {
    hash: HashKind,
    pos: usize,
    end: usize,
    last_name: Span,
    /// Whether the last record had the name of the one before.
    repeats: bool,
    /// Ascending, disjoint, each beginning and ending at a record boundary; the last one comes next.
    later: Vec<Span>,
}

impl Cursor {
    /// A walk over `stretches`: ascending, disjoint, each beginning and ending at a record boundary.
    #[must_use]
    pub fn new(hash: HashKind, mut stretches: Vec<Span>) -> Self {
        stretches.reverse();
        Self { hash, pos: 0, end: 0, last_name: 0..0, repeats: false, later: stretches }
    }

    /// The next record, fully checked, names ascending; equal neighbours are let through.
    ///
    /// # Errors
    /// [`Damage`] in the next record. The walk stays there: asked again, it says the same again.
    #[inline(always)]
    pub fn next(&mut self, data: &[u8]) -> Result<Option<Record>, Damage> {
        if self.pos >= self.end && !self.enter_next_stretch() {
            return Ok(None);
        }
        let Some(record) = Record::read(data, self.pos, self.hash) else {
            return Err(diagnose(data, self.pos, self.hash));
        };
        let name = record.name();
        let bytes = |span: &Span| data.get(span.clone()).unwrap_or_default();
        let order = order_of(bytes(&name), bytes(&self.last_name));
        if order.is_lt() {
            return Err(Damage::at(data, self.pos, Reason::OutOfOrder));
        }
        self.repeats = order.is_eq();
        self.last_name = name;
        self.pos = record.end();
        Ok(Some(record))
    }

    /// Whether the record that it read last has the name of the one that it read before.
    #[inline(always)]
    #[must_use]
    pub fn repeats(&self) -> bool {
        self.repeats
    }

    /// False if there is none; an empty one is never kept.
    #[cold]
    fn enter_next_stretch(&mut self) -> bool {
        let Some(stretch) = self.later.pop() else { return false };
        (self.pos, self.end) = (stretch.start, stretch.end);
        true
    }
}

/// `a.cmp(b)`. Most neighbours differ within their first words, where two numbers compare faster than a call.
#[inline(always)]
pub(super) fn order_of(a: &[u8], b: &[u8]) -> Ordering {
    if let (Some(x), Some(y)) = (a.first_chunk::<16>(), b.first_chunk::<16>())
        && x != y
    {
        return u128::from_be_bytes(*x).cmp(&u128::from_be_bytes(*y));
    }
    a.cmp(b)
}
