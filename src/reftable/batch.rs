//! Ref records, decoded: names in one arena, values where they lie in the file.
//!
//! ```text
//! ref   = key: refname, extra: value type | varint update_index - min_update_index | value
//! value = 0: nothing (deletion) | 1: oid | 2: oid, peeled oid | 3: varint length, target (symref)
//! ```

use super::block::read_key;
use super::number::{take, varint, varint_len};
use super::{Block, Damage, Reason, Table};
use crate::model::{Broken, Fault, Span, is_well_formed};

/// The names of a batch take about this much; a block of the usual size is one batch.
const BATCH: usize = 64 << 10;
/// How much larger than its block the names of a block may be. Tombstones of long names come to some dozen times that.
const EXPANSION: usize = 32;
/// What the names of a block may be in any case.
const LEAST_LIMIT: usize = 1 << 20;

/// Some records of one block.
#[derive(Debug, Default)]
pub struct RefBatch {
    names: Vec<u8>,
    records: Vec<RefRecord>,
}

/// One ref: spans of its batch's names and of the table's bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct RefRecord {
    name_start: u32,
    name_end: u32,
    /// Its first byte in the file.
    start: usize,
    value_start: usize,
    value_len: u32,
    kind: u8,
    /// The transaction that wrote it.
    pub update_index: u64,
}

/// What a ref holds, as spans of the table's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A tombstone: the ref is gone.
    Deletion,
    /// An object id.
    Oid(Span),
    /// The object id of an annotated tag, and what it points at in the end.
    Peeled(Span, Span),
    /// The name that a symbolic ref points at.
    Symref(Span),
}

impl RefRecord {
    /// Its name, in the names of its batch.
    #[must_use]
    pub fn name(&self) -> Span {
        self.name_start as usize..self.name_end as usize
    }

    /// The whole record, as it lies in the file: its name without what it shares with the one before.
    #[must_use]
    pub fn span(&self) -> Span {
        self.start..self.value_start.saturating_add(self.value_len as usize)
    }

    /// Whether it is a tombstone.
    #[must_use]
    pub fn is_deletion(&self) -> bool {
        self.kind == 0
    }

    /// What it holds.
    #[must_use]
    pub fn value(&self) -> Value {
        let end = self.value_start.saturating_add(self.value_len as usize);
        let middle = usize::midpoint(self.value_start, end);
        match self.kind {
            0 => Value::Deletion,
            1 => Value::Oid(self.value_start..end),
            2 => Value::Peeled(self.value_start..middle, middle..end),
            _ => Value::Symref(self.value_start..end),
        }
    }
}

impl RefBatch {
    /// The bytes that names are spans of.
    #[must_use]
    pub fn names(&self) -> &[u8] {
        &self.names
    }

    /// The `i`th record.
    #[inline]
    #[must_use]
    pub fn get(&self, i: usize) -> Option<&RefRecord> {
        self.records.get(i)
    }

    /// How many records it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Why the `i`th record cannot be used as a ref; `data` are the table's bytes.
    #[must_use]
    pub fn broken(&self, i: usize, data: &[u8]) -> Option<Broken> {
        if let Some(fault) = Fault::of(self.name(i)) {
            return Some(Broken::Name(fault));
        }
        let bytes = |span: Span| data.get(span).unwrap_or_default();
        match self.get(i)?.value() {
            Value::Oid(oid) | Value::Peeled(oid, _) => {
                bytes(oid).iter().all(|&byte| byte == 0).then_some(Broken::ZeroOid)
            }
            Value::Symref(target) => (!is_well_formed(bytes(target))).then_some(Broken::BadTarget),
            Value::Deletion => None,
        }
    }

    /// The `i`th name.
    #[inline]
    #[must_use]
    pub fn name(&self, i: usize) -> &[u8] {
        self.records.get(i).and_then(|record| self.names.get(record.name())).unwrap_or_default()
    }

    /// Drops all records, but keeps the memory.
    pub(super) fn clear(&mut self) {
        self.names.clear();
        self.records.clear();
    }

    /// Decodes records of a ref block from `pos` on, and returns where it stopped.
    ///
    /// `key` is the key of the record before `pos` in this block, empty if none was read; `floor` the last key of the
    /// blocks before, which the first record of this one must exceed; `expanded` counts the bytes of the block's names.
    pub(super) fn fill(
        &mut self,
        table: &Table,
        block: &Block,
        pos: usize,
        key: &[u8],
        floor: &[u8],
        expanded: &mut usize,
    ) -> Result<usize, Damage> {
        let data = table.data();
        let raw_len = table.header().hash.raw_len();
        let range = table.header().max_update_index.saturating_sub(table.header().min_update_index);
        let records_end = block.start.saturating_add(block.records_end);
        let whole = data.get(block.start.saturating_add(pos)..records_end).unwrap_or_default();
        let limit = block.records_end.saturating_mul(EXPANSION).max(LEAST_LIMIT);
        let mut rest = whole;
        // What a usual block needs, so that each vector is allocated once; bounded by the bytes that are there.
        self.names.reserve(whole.len().min(BATCH).saturating_add(key.len()));
        self.records.reserve(whole.len().min(BATCH).checked_div(raw_len).unwrap_or_default());
        self.names.extend_from_slice(key);
        let mut last = 0..key.len();
        let mut fresh = key.is_empty();
        let damaged = |reason| block.damaged(reason);
        while !rest.is_empty() && (self.names.len() < BATCH || self.records.is_empty()) {
            let record_start = records_end.saturating_sub(rest.len());
            let (prefix, suffix, kind) = read_key(&mut rest).ok_or_else(|| damaged(Reason::Record))?;
            if prefix > last.len() {
                return Err(damaged(Reason::Record));
            }
            let shared_end = last.start.saturating_add(prefix);
            let replaced = if fresh { floor } else { self.names.get(shared_end..last.end).unwrap_or_default() };
            if suffix <= replaced {
                let reason = if suffix.is_empty() && prefix == 0 { Reason::EmptyKey } else { Reason::OutOfOrder };
                return Err(damaged(reason));
            }
            let start = self.names.len();
            self.names.extend_from_within(last.start..shared_end);
            self.names.extend_from_slice(suffix);
            last = start..self.names.len();
            fresh = false;
            *expanded = expanded.saturating_add(last.len());
            if *expanded > limit {
                return Err(damaged(Reason::Expansion));
            }
            let delta = varint(&mut rest).filter(|delta| *delta <= range).ok_or_else(|| damaged(Reason::Record))?;
            let value_len = match kind {
                0 => 0,
                1 => raw_len,
                2 => raw_len.saturating_mul(2),
                3 => varint_len(&mut rest).ok_or_else(|| damaged(Reason::Record))?,
                _ => return Err(damaged(Reason::ValueType(kind))),
            };
            let value_start = records_end.saturating_sub(rest.len());
            take(&mut rest, value_len).ok_or_else(|| damaged(Reason::Record))?;
            let short = |len: usize| u32::try_from(len).map_err(|_| damaged(Reason::Expansion));
            self.records.push(RefRecord {
                name_start: short(last.start)?,
                name_end: short(last.end)?,
                start: record_start,
                value_start,
                value_len: short(value_len)?,
                kind,
                update_index: table.header().min_update_index.saturating_add(delta),
            });
        }
        Ok(block.records_end.saturating_sub(rest.len()))
    }
}
