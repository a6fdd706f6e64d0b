//! A walk over records, in file order, that borrows nothing: each step is given the data anew.

use std::cmp::Ordering;

use super::record::diagnose;
use super::search::record_start;
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

    /// This walk as several, one after the other, of about so many bytes each: what they check of order and names that
    /// repeat is what this one would. No two of them share a name. There is always one, if only of nothing.
    #[must_use]
    pub fn split(mut self, data: &[u8], bytes: usize) -> Vec<Self> {
        let mut parts = Vec::new();
        let mut last_name = self.last_name.clone();
        while self.pos < self.end || self.enter_next_stretch() {
            let pos = self.pos;
            let end = self.cut(data, pos.saturating_add(bytes.max(1)));
            parts.push(Self { pos, end, last_name, repeats: false, hash: self.hash, later: Vec::new() });
            let last = record_start(data, pos, end.saturating_sub(1));
            last_name = Record::read(data, last, self.hash).map(|record| record.name()).unwrap_or_default();
            self.pos = end;
        }
        if parts.is_empty() {
            parts.push(self);
        }
        parts
    }

    /// The first boundary from `at` on, in this stretch, that does not separate records of one name.
    fn cut(&self, data: &[u8], at: usize) -> usize {
        if at >= self.end {
            return self.end;
        }
        let mut before = record_start(data, self.pos, at);
        loop {
            // What is damaged stays where it is, for the part that comes to it.
            let Some(record) = Record::read(data, before, self.hash) else { return before.max(at) };
            let after = record.end();
            if after >= self.end {
                return self.end;
            }
            let name = |record: Record| data.get(record.name()).unwrap_or_default();
            let next = Record::read(data, after, self.hash);
            if next.is_none_or(|next| name(next) != name(record)) {
                return after;
            }
            before = after;
        }
    }

    /// The name of the record to come, if it can be read; else the name seen last.
    #[must_use]
    pub fn name_ahead<'a>(&self, data: &'a [u8]) -> &'a [u8] {
        let next = Record::read(data, self.pos, self.hash).map(|record| record.name());
        data.get(next.unwrap_or_else(|| self.last_name.clone())).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    #![expect(clippy::single_range_in_vec_init, reason = "walks over one stretch are meant")]

    use super::*;

    /// Names in order, some of them in several records, some with a peeled value.
    fn file() -> Vec<u8> {
        let mut data = Vec::new();
        for (i, copies) in [1, 1, 3, 1, 2, 1, 1, 5, 1].into_iter().enumerate() {
            for copy in 0..copies {
                let name = format!("refs/heads/{i}{}", "x".repeat(i));
                data.extend_from_slice(format!("{i:039x}{copy} {name}\n").as_bytes());
                if i % 3 == 1 {
                    data.extend_from_slice(format!("^{i:036x}9999\n").as_bytes());
                }
            }
        }
        data
    }

    fn records(mut cursor: Cursor, data: &[u8]) -> Vec<(Record, bool)> {
        std::iter::from_fn(|| cursor.next(data).unwrap().map(|record| (record, cursor.repeats()))).collect()
    }

    #[test]
    fn parts_have_the_records_of_the_whole_and_share_no_name() {
        let data = file();
        let stretches = || vec![0..data.len()];
        let whole = records(Cursor::new(HashKind::Sha1, stretches()), &data);
        let name = |record: &Record| data.get(record.name()).unwrap().to_vec();
        for bytes in 0..=data.len() {
            let parts = Cursor::new(HashKind::Sha1, stretches()).split(&data, bytes);
            let parts: Vec<_> = parts.into_iter().map(|part| records(part, &data)).collect();
            assert_eq!(parts.concat(), whole, "{bytes}");
            for pair in parts.windows(2) {
                assert_ne!(name(&pair[0].last().unwrap().0), name(&pair[1][0].0), "{bytes}");
            }
        }
    }

    #[test]
    fn nothing_is_one_part() {
        let parts = Cursor::new(HashKind::Sha1, Vec::new()).split(b"", 1);
        assert_eq!(parts.into_iter().map(|part| records(part, b"")).collect::<Vec<_>>(), [vec![]]);
    }

    #[test]
    fn parts_skip_what_lies_between_stretches() {
        let data = file();
        let first = Record::read(&data, 0, HashKind::Sha1).unwrap();
        let halves = vec![first.span(), record_start(&data, 0, data.len().saturating_sub(1))..data.len()];
        let whole = records(Cursor::new(HashKind::Sha1, halves.clone()), &data);
        assert_eq!(whole.len(), 2);
        let parts = Cursor::new(HashKind::Sha1, halves).split(&data, 1);
        assert_eq!(parts.into_iter().flat_map(|part| records(part, &data)).collect::<Vec<_>>(), whole);
    }

    #[test]
    fn the_first_damage_is_the_same_in_parts() {
        let sound = file();
        for at in (0..sound.len()).step_by(7) {
            let mut data = sound.clone();
            data[at] ^= 0x55;
            let first_damage = |mut cursor: Cursor| loop {
                match cursor.next(&data) {
                    Ok(Some(_)) => {}
                    Ok(None) => return None,
                    Err(damage) => return Some(damage),
                }
            };
            let whole = Cursor::new(HashKind::Sha1, vec![0..data.len()]);
            let want = first_damage(whole.clone());
            for bytes in [1, 60, 100, 333] {
                let parts = whole.clone().split(&data, bytes);
                assert_eq!(parts.into_iter().find_map(first_damage), want, "byte {at}, parts of {bytes}");
            }
        }
    }
}
