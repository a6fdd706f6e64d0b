//! Finding names in a file that is neither in memory nor mapped: bisection over a few small reads.
//!
//! Names are asked for in ascending order. A search starts where the last one ended, in steps that double, and ends in a
//! window of the file that the next search may find its name in too. So one name costs O(log n) comparisons and reads, and
//! many close to each other little more than a walk over the records between them.

use super::base::grow;
use super::search::{partition_point, record_start};
use super::{Base, Damage, Record, Unread};
use crate::fs::ReadAt;
use crate::model::{Oid, Span};

/// Bytes of a window. With these a bisection reads about as often as it compares.
const WINDOW: usize = 16 << 10;
/// Bytes around an offset that are read to find the record there.
const AROUND: usize = 256;

/// Where a name stands in a file, or would stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Its records: all of them, if it stands in several; empty if in none.
    pub span: Span,
    /// How many those are.
    pub copies: usize,
    /// The object id of the first.
    pub oid: Option<Oid>,
    /// Whether the next name starts with this one: only then can one lie below it.
    pub is_continued: bool,
}

/// A search for ascending names.
#[derive(Debug)]
pub struct Locator<'a> {
    base: &'a Base,
    /// Whole records of the file.
    window: Vec<u8>,
    /// Where those are.
    at: Span,
    /// Every record before this offset has a lesser name than is asked for.
    low: usize,
    compared: usize,
}

impl<'a> Locator<'a> {
    /// A search from the first record on.
    #[must_use]
    pub fn new(base: &'a Base) -> Self {
        let start = base.body().start;
        Self { base, window: Vec::new(), at: start..start, low: start, compared: 0 }
    }

    /// How many names were compared so far.
    #[must_use]
    pub fn compared(&self) -> usize {
        self.compared
    }

    /// Where a name stands. It is not less than the one asked for before.
    ///
    /// # Errors
    /// [`Damage`] in a record that was looked at, or what the system says.
    pub fn locate(&mut self, name: &[u8]) -> Result<Site, Unread> {
        let end = self.base.body().end;
        loop {
            if self.at.start <= self.low && self.low < self.at.end {
                let body = self.low.saturating_sub(self.at.start)..self.window.len();
                let mut compared = 0_usize;
                let found = {
                    let compared = std::cell::Cell::from_mut(&mut compared);
                    partition_point(&self.window, &body, self.base.hash(), |other| {
                        compared.set(compared.get().saturating_add(1));
                        other < name
                    })
                };
                self.compared = self.compared.saturating_add(compared);
                let found = found.map_err(|damage| self.in_window(damage))?;
                self.low = self.at.start.saturating_add(found);
                if self.low < self.at.end || self.low == end {
                    return self.site(name);
                }
            }
            if self.low == end {
                return self.site(name);
            }
            self.approach(name)?;
        }
    }

    /// The first name that starts with a prefix, which is not less than what was asked for before.
    ///
    /// # Errors
    /// As [`Self::locate`].
    pub fn first_below(&mut self, prefix: &[u8]) -> Result<Option<Vec<u8>>, Unread> {
        let site = self.locate(prefix)?;
        if site.copies > 0 {
            return Ok(Some(prefix.to_vec()));
        }
        if !site.is_continued {
            return Ok(None);
        }
        let record = Record::read(&self.window, self.low.saturating_sub(self.at.start), self.base.hash());
        Ok(record.and_then(|record| self.window.get(record.name())).map(<[u8]>::to_vec))
    }

    /// Moves the lower limit up until a window from there on has a name that is not less, and reads that.
    fn approach(&mut self, name: &[u8]) -> Result<(), Unread> {
        let mut high = self.base.body().end;
        let mut step = WINDOW;
        let mut is_bounded = false;
        while high.saturating_sub(self.low) > WINDOW {
            let probe =
                if is_bounded { usize::midpoint(self.low, high) } else { self.low.saturating_add(step).min(high) };
            if probe == high && !is_bounded {
                is_bounded = true;
                continue;
            }
            let (record, is_less) = {
                let (record, bytes) = self.record_at(probe)?;
                (record, bytes < name)
            };
            self.compared = self.compared.saturating_add(1);
            if is_less {
                self.low = record.end;
                step = step.saturating_mul(2);
            } else {
                high = record.start;
                is_bounded = true;
            }
        }
        self.read_window()
    }

    /// Reads whole records from the lower limit on: one at least, unless that is the end.
    fn read_window(&mut self) -> Result<(), Unread> {
        let end = self.base.body().end;
        let mut len = WINDOW.saturating_add(AROUND);
        loop {
            let to = self.low.saturating_add(len).min(end);
            self.read(self.low..to)?;
            if to == end {
                return Ok(());
            }
            // What the last record is, is known only where it is followed by another one.
            let last = record_start(&self.window, 0, self.window.len().saturating_sub(1));
            if last > 0 {
                self.window.truncate(last);
                self.at.end = self.at.start.saturating_add(last);
                return Ok(());
            }
            len = len.saturating_mul(2);
        }
    }

    fn read(&mut self, span: Span) -> Result<(), Unread> {
        grow(&mut self.window, span.len())?;
        self.at = span;
        let read = self.base.read_exact_at(&mut self.window, self.at.start);
        read.map_err(|error| {
            self.at = 0..0;
            self.window.clear();
            error.into()
        })
    }

    /// The record that holds the byte at an offset: where it is in the file, and its name.
    ///
    /// # Errors
    /// As [`Self::locate`].
    pub(super) fn record_at(&mut self, offset: usize) -> Result<(Span, &[u8]), Unread> {
        let body = self.base.body().clone();
        let mut reach = AROUND;
        loop {
            let from = offset.saturating_sub(reach).max(body.start);
            let to = offset.saturating_add(reach).min(body.end);
            self.read(from..to)?;
            // Unless the window starts with a record, its first line is the end of one.
            let first = if from == body.start {
                Some(0)
            } else {
                memchr::memchr(b'\n', &self.window).map(|lf| lf.saturating_add(1))
            };
            let pos = offset.saturating_sub(from);
            let start = first.filter(|first| *first <= pos).map(|first| record_start(&self.window, first, pos));
            // A peeled line at the start belongs to what is not in the window.
            let is_whole = |start: &usize| from == body.start || self.window.get(*start) != Some(&b'^');
            if let Some(start) = start.filter(is_whole)
                && let Some(record) = Record::read(&self.window, start, self.base.hash())
                && (to == body.end || record.end() < self.window.len())
            {
                let span = from.saturating_add(record.start())..from.saturating_add(record.end());
                return Ok((span, self.window.get(record.name()).unwrap_or_default()));
            }
            if from == body.start && to == body.end {
                let start = record_start(&self.window, 0, pos);
                let damage = super::record::diagnose(&self.window, start, self.base.hash());
                return Err(self.in_window(damage).into());
            }
            // Damage shows itself without reading all of a large file.
            if let Some(start) = start.filter(is_whole)
                && let Some(damage) = self.damage_of(start)
            {
                return Err(self.in_window(damage).into());
            }
            reach = reach.saturating_mul(2);
        }
    }

    /// What is wrong with a record that is in the window with both of its lines, and the start of the next.
    fn damage_of(&self, start: usize) -> Option<Damage> {
        let rest = self.window.get(start..)?;
        let mut lfs = memchr::memchr_iter(b'\n', rest);
        let second = lfs.nth(1)?;
        if rest.len() <= second.saturating_add(1) || Record::read(&self.window, start, self.base.hash()).is_some() {
            return None;
        }
        Some(super::record::diagnose(&self.window, start, self.base.hash()))
    }

    /// What stands at the lower limit, all names before which are less.
    fn site(&mut self, name: &[u8]) -> Result<Site, Unread> {
        let end = self.base.body().end;
        let mut site = Site { span: self.low..self.low, copies: 0, oid: None, is_continued: false };
        while site.span.end < end {
            let at = site.span.end;
            let in_window = self.at.start <= at && at < self.at.end;
            if !in_window {
                // More copies than the window holds: the lower limit stays where it is, for the next name.
                let low = std::mem::replace(&mut self.low, at);
                let read = self.read_window();
                self.low = low;
                read?;
            }
            let start = at.saturating_sub(self.at.start);
            let record = Record::parse(&self.window, start, self.base.hash());
            let record = record.map_err(|damage| self.in_window(damage))?;
            let other = self.window.get(record.name()).unwrap_or_default();
            self.compared = self.compared.saturating_add(1);
            if other != name {
                site.is_continued = other.starts_with(name);
                break;
            }
            let oid = self.window.get(record.oid()).and_then(Oid::from_hex);
            site.oid = site.oid.or(oid);
            site.copies = site.copies.saturating_add(1);
            site.span.end = self.at.start.saturating_add(record.end());
        }
        Ok(site)
    }

    /// Damage in the window, where it is in the file.
    fn in_window(&self, damage: Damage) -> Damage {
        self.base.damage(self.at.start.saturating_add(damage.offset), damage.reason)
    }
}
