//! A walk over the refs of one table, tombstones included, that borrows nothing.

use std::sync::Arc;

use super::index::{ends_with, find_block, last_below};
use super::merge::Keyed;
use super::{Block, Damage, Kind, Reason, RefBatch, RefRecord, Table};

/// Where a walk stands: on a record of a batch, or at the end.
#[derive(Debug)]
pub struct RefCursor {
    table: Arc<Table>,
    batch: Arc<RefBatch>,
    /// The record it stands on; past the batch's last at the end of the table.
    at: usize,
    /// The block that the batch is from, and where in it the next batch starts.
    block: Option<Block>,
    pos: usize,
    /// The last key read: of this block, or, at a block's start, of the one before.
    last_key: Vec<u8>,
    expanded: usize,
}

impl RefCursor {
    /// A walk over a table, to be placed by [`Keyed::seek`].
    #[must_use]
    pub fn new(table: Arc<Table>) -> Self {
        Self { table, batch: Arc::default(), at: 0, block: None, pos: 0, last_key: Vec::new(), expanded: 0 }
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// The batch that the walk stands in.
    #[inline]
    #[must_use]
    pub fn batch(&self) -> &Arc<RefBatch> {
        &self.batch
    }

    /// Which record of the batch it stands on.
    #[inline]
    #[must_use]
    pub fn index(&self) -> usize {
        self.at
    }

    /// The record it stands on.
    #[inline]
    #[must_use]
    pub fn record(&self) -> Option<&RefRecord> {
        self.batch.get(self.at)
    }

    /// Goes to the first record of the ref block at `start`.
    pub(super) fn enter_at(&mut self, start: usize) -> Result<(), Damage> {
        let table = self.table.clone();
        let (block, _) = table.expect_block(start, Kind::Ref)?;
        self.forget();
        self.enter(block);
        self.refill()
    }

    /// Whether the block that the batch is from has records behind it.
    pub(super) fn has_more_in_block(&self) -> bool {
        self.block.is_some_and(|block| self.pos < block.records_end)
    }

    /// Goes to the first record of the next batch.
    pub(super) fn next_batch(&mut self) -> Result<(), Damage> {
        self.refill()
    }

    /// Stands nowhere: what was read last is no floor for what comes.
    fn forget(&mut self) {
        self.last_key.clear();
        self.block = None;
        self.batch = Arc::default();
        self.at = 0;
    }

    /// Goes to the start of a block.
    fn enter(&mut self, block: Block) {
        self.pos = block.first;
        self.block = Some(block);
        self.expanded = 0;
    }

    /// Reads the next batch: the rest of the block, or the next block; leaves an empty one at the end of the refs.
    #[cold]
    fn refill(&mut self) -> Result<(), Damage> {
        if let Some(last) = self.batch.len().checked_sub(1) {
            self.last_key.clear();
            self.last_key.extend_from_slice(self.batch.name(last));
        }
        // Whoever holds a view of a name holds its batch; only one that nobody holds is filled again.
        match Arc::get_mut(&mut self.batch) {
            Some(batch) => batch.clear(),
            None => self.batch = Arc::default(),
        }
        self.at = 0;
        let Some(mut block) = self.block else { return Ok(()) };
        let mut starts_block = self.pos == block.first;
        if self.pos >= block.records_end {
            let Some((next, _)) = self.table.next_in_section(&block)? else {
                if let Some(root) = self.table.footer().ref_index {
                    ends_with(&self.table, root, Kind::Ref, &self.last_key, &block)?;
                }
                self.block = None;
                return Ok(());
            };
            self.enter(next);
            (block, starts_block) = (next, true);
        }
        let Some(batch) = Arc::get_mut(&mut self.batch) else { return Ok(()) };
        let (key, floor) = if starts_block { (&[][..], &self.last_key[..]) } else { (&self.last_key[..], &[][..]) };
        let filled = batch.fill(&self.table, &block, self.pos, key, floor, &mut self.expanded);
        if filled.is_err() {
            // Asked again, it shall say the same again.
            batch.clear();
        }
        self.pos = filled?;
        Ok(())
    }
}

impl Keyed for RefCursor {
    #[inline]
    fn key(&self) -> Option<&[u8]> {
        self.batch.get(self.at).map(|_| self.batch.name(self.at))
    }

    #[inline]
    fn advance(&mut self) -> Result<(), Damage> {
        self.at = self.at.saturating_add(1);
        if self.at >= self.batch.len() {
            self.refill()?;
        }
        Ok(())
    }

    /// An index is not believed that a name is absent: where it leads to a block that starts behind `key`, or to none,
    /// the block before must end in front of it.
    fn seek(&mut self, key: &[u8]) -> Result<(), Damage> {
        let table = self.table.clone();
        let place = find_block(&table, Kind::Ref, key)?;
        match (place.block, place.before) {
            (None, None) => {
                self.forget();
                Ok(())
            }
            (None, Some(before)) => self.land(last_below(&table, before, Kind::Ref)?, key).map(|_| ()),
            (Some(start), before) => {
                let is_exact = self.land(start, key)?;
                if is_exact || Some(start) == table.first_ref_block() || table.footer().ref_index.is_none() {
                    return Ok(());
                }
                let lies = Damage::at(start, Reason::IndexTarget);
                let before = last_below(&table, before.ok_or(lies)?, Kind::Ref)?;
                if self.land(before, key)? { Ok(()) } else { Err(lies) }
            }
        }
    }
}

impl RefCursor {
    /// Goes to the first record of the block at `start`, or behind it, that is not less than `key`. Returns whether no
    /// record before that block can be it.
    fn land(&mut self, start: usize, key: &[u8]) -> Result<bool, Damage> {
        let table = self.table.clone();
        self.forget();
        let (block, image) = table.expect_block(start, Kind::Ref)?;
        self.enter(block);
        self.pos = block.seek(image, key)?;
        // A restart's key is whole: nothing before it is needed.
        loop {
            self.refill()?;
            if self.batch.is_empty() {
                return Ok(true);
            }
            while self.at < self.batch.len() {
                let name = self.batch.name(self.at);
                if name >= key {
                    let first = block.start.saturating_add(block.first);
                    return Ok(name == key || self.record().is_some_and(|record| record.span().start != first));
                }
                self.at = self.at.saturating_add(1);
            }
        }
    }
}
