//! Reading tables together: one alone, as it is, or a stack's, merged, newest first and without what was deleted.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::TableFile;
use crate::model::{Error, HashKind, Interrupt, Oid, Result, Selection};
use crate::reftable::{
    Damage, KeyRange, Keyed, LogCursor, Merge, Reason, RefBatch, RefCursor, RefRecord, points_at, split_keys,
};

/// How many records are read between two questions to an interrupt.
const BREATH: usize = 1 << 16;

/// Some tables, oldest first, read as one.
#[derive(Debug)]
pub struct Tables {
    files: Vec<Arc<TableFile>>,
    hash: Option<HashKind>,
    /// Whether tombstones are records like others.
    shows_deletions: bool,
    count: OnceLock<usize>,
}

/// A record of one of the tables.
#[derive(Debug, Clone)]
pub struct Found {
    /// The number of the table.
    pub table: usize,
    /// Where the record is.
    pub batch: Arc<RefBatch>,
    /// Which of the batch it is.
    pub index: usize,
}

impl Tables {
    /// One table as it is, tombstones included.
    #[must_use]
    pub fn single(file: Arc<TableFile>) -> Self {
        let hash = Some(file.table().header().hash);
        Self { files: vec![file], hash, shows_deletions: true, count: OnceLock::new() }
    }

    /// A stack's tables, oldest first; `hash` is what they would have if there were any.
    #[must_use]
    pub fn stacked(files: Vec<Arc<TableFile>>, hash: Option<HashKind>) -> Self {
        let hash = files.first().map(|file| file.table().header().hash).or(hash);
        Self { files, hash, shows_deletions: false, count: OnceLock::new() }
    }

    /// Tables read together as they are, tombstones included; of equal names the last one's record.
    #[must_use]
    pub(super) fn unmerged(files: Vec<Arc<TableFile>>) -> Self {
        Self { shows_deletions: true, ..Self::stacked(files, None) }
    }

    /// The tables.
    #[must_use]
    pub fn files(&self) -> &[Arc<TableFile>] {
        &self.files
    }

    /// The hash of the object ids; `None` without tables, if nobody said.
    #[must_use]
    pub fn hash(&self) -> Option<HashKind> {
        self.hash
    }

    /// Whether tombstones are records like others.
    #[must_use]
    pub fn shows_deletions(&self) -> bool {
        self.shows_deletions
    }

    /// A walk over the selected refs; each limit is a seek.
    #[must_use]
    pub fn select(&self, selection: &Selection<'_>) -> RefWalk {
        if selection.is_all() {
            self.expect_scan(true);
        }
        let cursors = self.files.iter().map(|file| RefCursor::new(file.table().clone())).collect();
        let mut ranges = KeyRange::selected(selection);
        ranges.reverse();
        RefWalk {
            merge: Merge::new(cursors),
            ranges,
            end: None,
            end_head: u64::MAX,
            is_placed: false,
            shows_deletions: self.shows_deletions,
        }
    }

    /// [`Self::select`] as several walks, one after the other, of about so many bytes of the largest table each. Where one
    /// ends the next one must begin: see [`RefWalk::place`].
    #[must_use]
    pub fn select_parts(&self, selection: &Selection<'_>, bytes: usize) -> Vec<RefWalk> {
        let whole = self.select(selection);
        let [range] = &whole.ranges[..] else { return vec![whole] };
        let largest = self.files.iter().map(|file| file.table()).max_by_key(|table| table.data().len());
        let keys = largest.map(|table| split_keys(table, table.data().len() / bytes.max(1))).unwrap_or_default();
        let mut start = range.start.clone();
        let mut parts = Vec::new();
        for key in keys {
            if key > start && range.end.as_ref().is_none_or(|end| key < *end) {
                parts.push(KeyRange { start, end: Some(key.clone()) });
                start = key;
            }
        }
        parts.push(KeyRange { start, end: range.end.clone() });
        let walk = |range| RefWalk { ranges: vec![range], ..self.select(selection) };
        parts.into_iter().map(walk).collect()
    }

    /// The number of refs; the first call reads all, later calls return what it found.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Interrupted`].
    pub fn count(&self, interrupt: Interrupt<'_>) -> Result<usize> {
        if let Some(count) = self.count.get() {
            return Ok(*count);
        }
        let count = self.count_all(interrupt);
        self.expect_scan(false);
        let count = count?;
        Ok(*self.count.get_or_init(|| count))
    }

    fn count_all(&self, interrupt: Interrupt<'_>) -> Result<usize> {
        let mut walk = self.select(&Selection::default());
        let mut count = 0_usize;
        while self.next_unless(&mut walk, interrupt)?.is_some() {
            count += 1;
            if count.is_multiple_of(BREATH) && !interrupt() {
                return Err(Error::Interrupted);
            }
        }
        Ok(count)
    }

    /// Says whether all tables will be read in order soon.
    pub(super) fn expect_scan(&self, soon: bool) {
        self.files.iter().for_each(|file| file.table().expect_scan(soon));
    }

    /// The next record of a walk: the number of its table. The walk's cursor of that number stands on it.
    ///
    /// # Errors
    /// [`Error::Corrupt`], which names the table's file.
    #[inline]
    pub fn next(&self, walk: &mut RefWalk) -> Result<Option<usize>> {
        self.next_unless(walk, &mut || true)
    }

    /// [`Self::next`], which a sea of tombstones can make long.
    ///
    /// # Errors
    /// [`Error::Interrupted`] besides.
    #[inline]
    pub fn next_unless(&self, walk: &mut RefWalk, interrupt: Interrupt<'_>) -> Result<Option<usize>> {
        match walk.next(interrupt) {
            Ok(Next::Record(number)) => Ok(Some(number)),
            Ok(Next::End) => Ok(None),
            Ok(Next::Interrupted) => Err(Error::Interrupted),
            Err((number, damage)) => Err(self.damaged(number, damage)),
        }
    }

    /// The record of that exact name.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn find(&self, name: &[u8]) -> Result<Option<Found>> {
        for (number, file) in self.files.iter().enumerate().rev() {
            let mut cursor = RefCursor::new(file.table().clone());
            cursor.seek(name).map_err(|damage| self.damaged(number, damage))?;
            if cursor.key() == Some(name) {
                let is_hidden = !self.shows_deletions && cursor.record().is_some_and(RefRecord::is_deletion);
                let found = || Found { table: number, batch: cursor.batch().clone(), index: cursor.index() };
                return Ok((!is_hidden).then(found));
            }
        }
        Ok(None)
    }

    /// The refs whose object id or peeled object id is `oid`, names ascending.
    ///
    /// Every table is searched, by its object index if it has one; what a newer table overrides is left out.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Interrupted`].
    pub fn points_at(&self, oid: &Oid, interrupt: Interrupt<'_>) -> Result<Vec<Found>> {
        let mut found: BTreeMap<Vec<u8>, Found> = BTreeMap::new();
        for (number, file) in self.files.iter().enumerate() {
            if file.table().header().hash != oid.kind() {
                continue;
            }
            let hits = points_at(file.table(), oid.as_raw(), interrupt);
            let hits = hits.map_err(|damage| self.damaged(number, damage))?.ok_or(Error::Interrupted)?;
            let newer = self.files.iter().enumerate().skip(number + 1);
            let mut newer: Vec<_> = newer.map(|(number, file)| (number, Follower::new(file))).collect();
            for (count, (batch, index)) in (1_usize..).zip(hits) {
                let name = batch.name(index);
                let mut is_overridden = false;
                for (newer, follower) in &mut newer {
                    is_overridden |= follower.has(name).map_err(|damage| self.damaged(*newer, damage))?;
                }
                if !is_overridden {
                    found.insert(name.to_vec(), Found { table: number, batch, index });
                }
                if count.is_multiple_of(BREATH >> 4) && !interrupt() {
                    return Err(Error::Interrupted);
                }
            }
        }
        Ok(found.into_values().collect())
    }

    /// A walk over the reflog entries of the refs whose names start with `prefix`; newest first within a ref.
    #[must_use]
    pub fn logs(&self, prefix: &[u8]) -> LogWalk {
        let cursors = self.files.iter().map(|file| LogCursor::new(file.table().clone())).collect();
        LogWalk {
            merge: Merge::new(cursors),
            range: KeyRange::of_prefix(prefix),
            is_placed: false,
            shows_deletions: self.shows_deletions,
            shows_markers: false,
        }
    }

    /// A walk over the reflog entries of that one ref, newest first.
    #[must_use]
    pub fn log_of(&self, name: &[u8]) -> LogWalk {
        LogWalk { range: KeyRange::of_key(name), ..self.logs(name) }
    }

    /// The names of the refs that have a log, those that have no entries among them, in order.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Interrupted`].
    pub fn log_names(&self, interrupt: Interrupt<'_>) -> Result<Vec<Vec<u8>>> {
        let mut walk = LogWalk { shows_markers: true, ..self.logs(b"") };
        let mut names: Vec<Vec<u8>> = Vec::new();
        let mut count = 0_usize;
        while let Some(number) = self.next_log_unless(&mut walk, interrupt)? {
            let record = walk.cursor(number).and_then(LogCursor::record);
            let Some(record) = record.filter(|record| record.update.is_some()) else { continue };
            if names.last().is_none_or(|last| last != record.refname) {
                names.push(record.refname.to_vec());
            }
            count += 1;
            if count.is_multiple_of(BREATH) && !interrupt() {
                return Err(Error::Interrupted);
            }
        }
        Ok(names)
    }

    /// The next entry of a walk: the number of its table. The walk's cursor of that number stands on it.
    ///
    /// # Errors
    /// [`Error::Corrupt`], which names the table's file.
    pub fn next_log(&self, walk: &mut LogWalk) -> Result<Option<usize>> {
        self.next_log_unless(walk, &mut || true)
    }

    /// [`Self::next_log`], which a sea of tombstones can make long.
    ///
    /// # Errors
    /// [`Error::Interrupted`] besides.
    pub fn next_log_unless(&self, walk: &mut LogWalk, interrupt: Interrupt<'_>) -> Result<Option<usize>> {
        match walk.next(interrupt) {
            Ok(Next::Record(number)) => Ok(Some(number)),
            Ok(Next::End) => Ok(None),
            Ok(Next::Interrupted) => Err(Error::Interrupted),
            Err((number, damage)) => Err(self.damaged(number, damage)),
        }
    }

    /// Reads everything once: refs and log entries in order, and each block of each table.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for the first damage, [`Error::Interrupted`].
    pub fn check(&self, interrupt: Interrupt<'_>) -> Result<()> {
        self.count_all(interrupt)?;
        self.check_logs(interrupt)?;
        self.files.iter().try_for_each(|file| file.blocks(interrupt).map(|_| ()))
    }

    /// Reads every log entry once, in order.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for the first damage, [`Error::Interrupted`].
    pub fn check_logs(&self, interrupt: Interrupt<'_>) -> Result<()> {
        let mut walk = self.logs(b"");
        let mut count = 0_usize;
        while self.next_log_unless(&mut walk, interrupt)?.is_some() {
            count += 1;
            if count.is_multiple_of(BREATH) && !interrupt() {
                return Err(Error::Interrupted);
            }
        }
        Ok(())
    }

    /// Places a walk at its start: [`RefWalk::place`] then tells where that is.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn begin(&self, walk: &mut RefWalk) -> Result<()> {
        walk.begin().map(|_| ()).map_err(|(number, damage)| self.damaged(number, damage))
    }

    /// Whether one part of a walk ends where the next one begins: an index that leads astray, or blocks out of order, would
    /// have them pass something over.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn check_joint(&self, end: &[Option<usize>], start: &[Option<usize>]) -> Result<()> {
        match end.iter().zip(start).position(|(end, start)| end != start) {
            None => Ok(()),
            Some(number) => {
                let at = end.get(number).copied().flatten().unwrap_or_default();
                Err(self.damaged(number, Damage::at(at, Reason::OutOfOrder)))
            }
        }
    }

    fn damaged(&self, number: usize, damage: Damage) -> Error {
        damage.in_file(self.files.get(number).map(|file| file.path().to_owned()).unwrap_or_default())
    }
}

/// A walk over a table that follows ascending names.
struct Follower {
    cursor: RefCursor,
    is_placed: bool,
}

impl Follower {
    /// How many records it goes on before it rather seeks.
    const STEPS: usize = 64;

    fn new(file: &TableFile) -> Self {
        Self { cursor: RefCursor::new(file.table().clone()), is_placed: false }
    }

    /// Whether the table has a record of that name, which must not sort before the one asked for last.
    fn has(&mut self, name: &[u8]) -> std::result::Result<bool, Damage> {
        for _ in 0..Self::STEPS {
            match self.cursor.key() {
                Some(key) if key < name => self.cursor.advance()?,
                _ => break,
            }
        }
        if !self.is_placed || self.cursor.key().is_some_and(|key| key < name) {
            self.cursor.seek(name)?;
            self.is_placed = true;
        }
        Ok(self.cursor.key() == Some(name))
    }
}

/// Where a walk over refs stands.
#[derive(Debug)]
pub struct RefWalk {
    merge: Merge<RefCursor>,
    /// The ranges still to come, the next one last.
    ranges: Vec<KeyRange>,
    /// Where the current range ends, and the first bytes of that as a number, which mostly decides.
    end: Option<Vec<u8>>,
    end_head: u64,
    is_placed: bool,
    shows_deletions: bool,
}

impl RefWalk {
    /// The cursors, one a table; the one whose number came last stands on the record.
    #[inline]
    #[must_use]
    pub fn cursor(&self, number: usize) -> Option<&RefCursor> {
        self.merge.cursor(number)
    }

    /// Goes to its first range, if it stands nowhere yet.
    fn begin(&mut self) -> std::result::Result<bool, (usize, Damage)> {
        if !self.is_placed {
            let Some(range) = self.ranges.last() else { return Ok(false) };
            self.merge.seek(&range.start)?;
            self.end = self.ranges.pop().and_then(|range| range.end);
            self.end_head = self.end.as_deref().map_or(u64::MAX, head);
            self.is_placed = true;
        }
        Ok(true)
    }

    /// Where it stands in each table: the offset of a record, or none at the end.
    #[must_use]
    pub fn place(&self) -> Vec<Option<usize>> {
        let cursors = (0..).map_while(|number| self.merge.cursor(number));
        cursors.map(|cursor| cursor.record().map(|record| record.span().start)).collect()
    }

    #[inline]
    fn next(&mut self, interrupt: Interrupt<'_>) -> std::result::Result<Next, (usize, Damage)> {
        for skipped in 1_usize.. {
            if !self.begin()? {
                return Ok(Next::End);
            }
            let next = self.merge.step()?;
            let standing = next.and_then(|number| self.merge.cursor(number).map(|cursor| (number, cursor)));
            let Some((number, cursor, key)) = standing.and_then(|(n, cursor)| Some((n, cursor, cursor.key()?))) else {
                self.is_placed = false;
                continue;
            };
            // The bound comes before the tombstones: behind it there may be a great many.
            if head(key) >= self.end_head && self.end.as_ref().is_some_and(|end| key >= &end[..]) {
                self.is_placed = false;
                continue;
            }
            if self.shows_deletions || !cursor.record().is_some_and(RefRecord::is_deletion) {
                return Ok(Next::Record(number));
            }
            if skipped.is_multiple_of(BREATH) && !interrupt() {
                return Ok(Next::Interrupted);
            }
        }
        Ok(Next::End)
    }
}

/// The first bytes of a key as a number, filled up with zeros: of two keys the one with the lesser number sorts first.
#[inline]
fn head(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(head) => u64::from_be_bytes(*head),
        None => key.iter().fold(0, |head, &byte| head << 8 | u64::from(byte)) << (64 - 8 * key.len()).min(63),
    }
}

/// What a walk came to.
enum Next {
    /// A record, on which the cursor of that number stands.
    Record(usize),
    End,
    Interrupted,
}

/// Where a walk over reflog entries stands.
#[derive(Debug)]
pub struct LogWalk {
    merge: Merge<LogCursor>,
    range: KeyRange,
    is_placed: bool,
    shows_deletions: bool,
    /// Whether what only marks that a log exists is an entry too.
    shows_markers: bool,
}

impl LogWalk {
    /// The cursors, one a table; the one whose number came last stands on the entry.
    #[must_use]
    pub fn cursor(&self, number: usize) -> Option<&LogCursor> {
        self.merge.cursor(number)
    }

    fn next(&mut self, interrupt: Interrupt<'_>) -> std::result::Result<Next, (usize, Damage)> {
        if !self.is_placed {
            self.merge.seek(&self.range.start)?;
            self.is_placed = true;
        }
        for skipped in 1_usize.. {
            let Some(number) = self.merge.step()? else { return Ok(Next::End) };
            let Some(record) = self.merge.cursor(number).and_then(LogCursor::record) else { return Ok(Next::End) };
            if self.range.end.as_ref().is_some_and(|end| record.refname >= &end[..]) {
                return Ok(Next::End);
            }
            if record.refname < &self.range.start[..] {
                continue;
            }
            // A log that exists without entries has none to show either.
            let is_entry = record.update.is_some_and(|update| self.shows_markers || !update.is_existence_marker());
            if self.shows_deletions || is_entry {
                return Ok(Next::Record(number));
            }
            if skipped.is_multiple_of(BREATH) && !interrupt() {
                return Ok(Next::Interrupted);
            }
        }
        Ok(Next::End)
    }
}
