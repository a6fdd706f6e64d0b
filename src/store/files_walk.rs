//! A walk over loose refs merged on packed ones: of one name the loose one wins.

use std::cmp::Ordering;
use std::sync::Arc;

use super::walk::Step;
use super::{LooseRefs, PackedFile, Query};
use crate::model::{Broken, Error, Result, Selection, Span};
use crate::packed::{Cursor, Record};

const REFS: &[u8] = b"refs/";

/// Where the walk stands.
#[derive(Debug)]
pub(super) struct FilesWalk {
    loose: Arc<LooseRefs>,
    /// The next loose ref that is wanted, or where they end.
    next_loose: usize,
    end_loose: usize,
    packed: Option<PackedWalk>,
}

impl FilesWalk {
    pub(super) fn new(loose: Arc<LooseRefs>, packed: Option<Arc<PackedFile>>, query: &Query) -> Result<Self> {
        let packed = packed.map(|file| PackedWalk::new(file, query)).transpose()?;
        let mut walk = Self { next_loose: 0, end_loose: loose.len(), loose, packed };
        walk.next_loose = walk.wanted_loose(walk.loose.seek(&query.prefix), query);
        Ok(walk)
    }

    pub(super) fn loose(&self) -> &Arc<LooseRefs> {
        &self.loose
    }

    pub(super) fn packed(&self) -> Option<&Arc<PackedFile>> {
        self.packed.as_ref().map(|packed| &packed.file)
    }

    /// This walk as several, one after the other, of about so many bytes of packed refs each.
    pub(super) fn split(self, query: &Query, bytes: usize) -> Vec<Self> {
        let Some(packed) = self.packed else { return vec![self] };
        let data = packed.file.snapshot().data();
        let cursors = packed.cursor.split(data, bytes);
        let starts = cursors.iter().skip(1).map(|cursor| self.loose.seek(cursor.name_ahead(data)).max(self.next_loose));
        let ends: Vec<_> = starts.chain([self.end_loose]).collect();
        let mut start = self.next_loose;
        let part = |(cursor, end): (Cursor, usize)| {
            let packed = PackedWalk::over(packed.file.clone(), cursor);
            let mut part = Self { loose: self.loose.clone(), next_loose: start, end_loose: end, packed: Some(packed) };
            part.next_loose = part.wanted_loose(start, query);
            start = end;
            part
        };
        cursors.into_iter().zip(ends).map(part).collect()
    }

    /// The first loose ref from the `i`th on that is wanted, or where they end.
    fn wanted_loose(&self, i: usize, query: &Query) -> usize {
        (i..self.end_loose).find(|&i| query.matches(self.loose.name(i))).unwrap_or(self.end_loose)
    }

    #[inline]
    pub(super) fn next(&mut self, query: &Query) -> Result<Option<Step>> {
        let Some(packed) = &mut self.packed else { return Ok(self.next_of_loose(query)) };
        let Some(record) = packed.peek()? else { return Ok(self.next_of_loose(query)) };
        if self.next_loose < self.end_loose {
            match self.loose.name(self.next_loose).cmp(packed.name(&record)) {
                Ordering::Less => return Ok(self.next_of_loose(query)),
                Ordering::Equal => {
                    packed.pass(&record);
                    return Ok(self.next_of_loose(query));
                }
                Ordering::Greater => {}
            }
        }
        let is_duplicate = packed.pass(&record);
        Ok(Some(Step::Packed(record, is_duplicate)))
    }

    /// The next packed record, where nothing else comes into question; `None` does not mean the end.
    #[inline(always)]
    pub(super) fn next_plain(&mut self) -> Option<(Record, bool)> {
        let packed = self.packed.as_mut()?;
        let record = packed.ahead.filter(|_| packed.passed.is_none())?;
        if self.next_loose < self.end_loose && self.loose.name(self.next_loose) <= packed.name(&record) {
            return None;
        }
        Some((record, packed.pass(&record)))
    }

    #[inline(never)]
    fn next_of_loose(&mut self, query: &Query) -> Option<Step> {
        let i = self.next_loose;
        if i >= self.end_loose {
            return None;
        }
        self.next_loose = self.wanted_loose(i.saturating_add(1), query);
        Some(Step::Loose(i))
    }

    /// The packed bytes that lie in front of the next loose ref.
    pub(super) fn run(&mut self) -> Option<(&Arc<PackedFile>, Span)> {
        let packed = self.packed.as_mut()?;
        let record = packed.peek().ok()??;
        let before = (self.next_loose < self.end_loose).then(|| self.loose.name(self.next_loose));
        let end = packed.file.snapshot().end_before(before).ok()?;
        Some((&packed.file, record.start()..end))
    }

    /// Goes on from the record that starts at `pos`, as if it had walked there.
    pub(super) fn land(&mut self, pos: usize) {
        if let Some(packed) = &mut self.packed {
            packed.land(pos);
        }
    }
}

/// A walk over packed refs that knows the next record.
///
/// One over all of `refs/` goes through all of the file: a name outside it, in the midst of a file that is falsely sorted,
/// would mislead a seek, and what lies behind it be missing.
#[derive(Debug)]
struct PackedWalk {
    file: Arc<PackedFile>,
    cursor: Cursor,
    /// The record to come, once it was read.
    ahead: Option<Record>,
    is_read: bool,
    /// Why it cannot be read, which is said when its turn comes.
    failed: Option<Error>,
    /// What was handed out last, if the record to come may have its name.
    passed: Option<Record>,
    /// Whether it did not walk over what precedes the record to come.
    has_landed: bool,
}

impl PackedWalk {
    fn new(file: Arc<PackedFile>, query: &Query) -> Result<Self> {
        let exclude: Vec<&[u8]> = query.exclude.iter().map(Vec::as_slice).collect();
        let prefix = query.refs_prefix().unwrap_or_default();
        let start_after = query.start_after.as_deref();
        let mut selection = Selection { prefix, start_after, exclude: &exclude };
        if prefix == REFS && start_after.is_none() {
            selection.prefix = b"";
        }
        let cursor = file.select(selection)?;
        Ok(Self::over(file, cursor))
    }

    fn over(file: Arc<PackedFile>, cursor: Cursor) -> Self {
        Self { file, cursor, ahead: None, is_read: false, failed: None, passed: None, has_landed: false }
    }

    #[inline]
    fn name(&self, record: &Record) -> &[u8] {
        self.file.snapshot().bytes(record.name())
    }

    #[inline]
    fn have_one_name(&self, a: &Record, b: &Record) -> bool {
        a.name_len() == b.name_len() && self.name(a) == self.name(b)
    }

    /// The record to come.
    #[inline]
    fn peek(&mut self) -> Result<Option<Record>> {
        if !self.is_read {
            self.read();
        }
        while let (Some(passed), Some(ahead)) = (self.passed, self.ahead) {
            if self.have_one_name(&passed, &ahead) {
                self.read();
            } else {
                self.passed = None;
            }
        }
        if self.failed.is_some() {
            self.is_read = false;
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(self.ahead),
        }
    }

    #[inline(always)]
    fn read(&mut self) {
        self.is_read = true;
        loop {
            self.ahead = match self.file.snapshot().next(&mut self.cursor) {
                Ok(next) => next,
                Err(damage) => {
                    self.failed = Some(self.file.damaged(damage));
                    None
                }
            };
            match &self.ahead {
                Some(record) if !self.name(record).starts_with(REFS) => {}
                _ => return,
            }
        }
    }

    /// Goes past the record to come. Returns whether others have its name.
    #[inline(always)]
    fn pass(&mut self, record: &Record) -> bool {
        let landed_on_duplicate = self.has_landed && self.file.snapshot().broken(record) == Some(Broken::Duplicate);
        self.has_landed = false;
        self.read();
        let is_followed = self.ahead.is_some() && self.cursor.repeats();
        if is_followed {
            self.passed = Some(*record);
        }
        is_followed || landed_on_duplicate
    }

    fn land(&mut self, pos: usize) {
        let end = self.file.snapshot().data().len();
        if pos <= end {
            self.cursor = self.file.snapshot().cursor_over(pos..end);
            (self.is_read, self.ahead, self.passed, self.has_landed) = (false, None, None, true);
        }
    }
}
