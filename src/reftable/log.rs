//! Log blocks and their records.
//!
//! ```text
//! log   = key: refname NUL u64 (2^64 - 1 - update_index), extra: 0 deletion | 1 update | value
//! value = old oid | new oid | string name | string email | varint seconds | tz i16 | string message   (update)
//! ```
//!
//! A string is a varint length and its bytes. Newer entries of a ref sort first. `tz` is the decimal number HHMM, as git
//! writes it (the format's document says minutes). An update of zero oids with empty strings and time 0 marks that a
//! log exists that has no entries; when git compacts it, its message becomes a LF.

use std::sync::Arc;

use flate2::{Decompress, FlushDecompress, Status};

use super::block::{Prologue, next_key, read_key};
use super::index::{descend, ends_with, last_below};
use super::merge::Keyed;
use super::number::{big_endian, take, varint, varint_len};
use super::{Block, Damage, Kind, Reason, Table};
use crate::model::Span;

/// No zlib stream is larger, inflated, than this many times its input.
const EXPANSION: usize = 1032;
/// NUL and the update index, behind the refname.
const SUFFIX: usize = 9;

/// One entry of a reflog, as it lies in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRecord<'a> {
    /// The ref whose log it is in.
    pub refname: &'a [u8],
    /// The transaction that wrote it.
    pub update_index: u64,
    /// What it says; `None` for a tombstone, which cancels the same entry in older tables.
    pub update: Option<LogUpdate<'a>>,
}

/// What an entry says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogUpdate<'a> {
    /// The object id before, raw.
    pub old: &'a [u8],
    /// The object id after, raw.
    pub new: &'a [u8],
    /// The committer's name.
    pub name: &'a [u8],
    /// The committer's address, without angle brackets.
    pub email: &'a [u8],
    /// Seconds since 1970.
    pub time: u64,
    /// The committer's zone as the decimal number HHMM: -330 is three and a half hours west.
    pub tz: i16,
    /// The message, with its LF.
    pub message: &'a [u8],
}

impl LogUpdate<'_> {
    /// Whether it only marks that the log exists.
    #[must_use]
    pub fn is_existence_marker(&self) -> bool {
        let is_zero = |oid: &[u8]| oid.iter().all(|&byte| byte == 0);
        is_zero(self.old)
            && is_zero(self.new)
            && self.time == 0
            && self.name.is_empty()
            && self.email.is_empty()
            // Compacting, git gives it the LF that every message has.
            && matches!(self.message, b"" | b"\n")
    }
}

/// A walk over the log entries of one table, tombstones and existence markers included, that borrows nothing.
#[derive(Debug)]
pub struct LogCursor {
    table: Arc<Table>,
    inflater: Decompress,
    /// The block it stands in, inflated; used again for the next one.
    image: Vec<u8>,
    block: Option<Block>,
    /// Where the record behind the current one starts.
    pos: usize,
    key: Vec<u8>,
    /// The current record's value, in the image; `None` at the end.
    value: Option<Span>,
    is_deletion: bool,
}

impl LogCursor {
    /// A walk over a table's logs, to be placed by [`Keyed::seek`].
    #[must_use]
    pub fn new(table: Arc<Table>) -> Self {
        Self {
            table,
            inflater: Decompress::new(true),
            image: Vec::new(),
            block: None,
            pos: 0,
            key: Vec::new(),
            value: None,
            is_deletion: false,
        }
    }

    /// The record it stands on; `None` at the end.
    #[must_use]
    pub fn record(&self) -> Option<LogRecord<'_>> {
        let value = self.image.get(self.value.clone()?)?;
        let (refname, mut index) = self.key.split_at_checked(self.key.len().checked_sub(SUFFIX)?)?;
        take(&mut index, 1)?;
        let update_index = u64::MAX.wrapping_sub(big_endian::<8>(&mut index)?);
        let update =
            if self.is_deletion { None } else { Some(parse_update(value, self.table.header().hash.raw_len())?) };
        Some(LogRecord { refname, update_index, update })
    }

    /// Inflates the block at `start` and goes to its start; `None` where the logs end.
    pub(super) fn enter(&mut self, start: usize) -> Result<Option<Block>, Damage> {
        let footer = self.table.footer();
        let Some(prologue) = self.table.prologue(start)? else { return Ok(None) };
        match prologue.kind {
            Kind::Log => {}
            Kind::Index if footer.log_index.is_some_and(|root| start <= root) => return Ok(None),
            _ => return Err(Damage::at(start, Reason::BlockKind)),
        }
        let end = self.inflate(start, &prologue)?;
        let block = prologue.block(&self.image, start, end)?;
        self.pos = block.first;
        self.block = Some(block);
        Ok(self.block)
    }

    /// Makes the image: what precedes the stream as it is, and the stream inflated. Returns where the stream ends.
    fn inflate(&mut self, start: usize, prologue: &Prologue) -> Result<usize, Damage> {
        let table = self.table.clone();
        let damaged = || Damage::at(start, Reason::Inflate);
        let stored = table.data().get(start..table.footer().start).unwrap_or_default();
        let (head, stream) = stored.split_at_checked(prologue.first).ok_or_else(damaged)?;
        let len = prologue.len.checked_sub(prologue.first).ok_or_else(damaged)?;
        // The length is only a claim: no memory for more than the stream can hold.
        if len > stream.len().saturating_mul(EXPANSION) {
            return Err(damaged());
        }
        self.image.clear();
        self.image.extend_from_slice(head);
        self.image.resize(prologue.len, 0);
        self.inflater.reset(true);
        let output = self.image.get_mut(prologue.first..).unwrap_or_default();
        let status = self.inflater.decompress(stream, output, FlushDecompress::Finish).map_err(|_| damaged())?;
        let (consumed, produced) = (self.inflater.total_in(), self.inflater.total_out());
        if status != Status::StreamEnd || usize::try_from(produced) != Ok(len) {
            return Err(damaged());
        }
        Ok(usize::try_from(consumed).map_err(|_| damaged())?.saturating_add(prologue.first).saturating_add(start))
    }

    /// Whether the block it stands in has records that were not read.
    pub(super) fn has_more_in_block(&self) -> bool {
        self.block.is_some_and(|block| self.pos < block.records_end)
    }

    /// Reads the record at `pos`; `fresh` if the key before it is not known.
    pub(super) fn read(&mut self, fresh: bool) -> Result<(), Damage> {
        let Some(block) = self.block else { return Ok(()) };
        let damaged = |reason| block.damaged(reason);
        let mut rest = block.rest(&self.image, self.pos);
        let (prefix, suffix, kind) = read_key(&mut rest).ok_or_else(|| damaged(Reason::Record))?;
        let start = block.records_end.saturating_sub(rest.len());
        let is_deletion = match kind {
            0 => true,
            1 => false,
            _ => return Err(damaged(Reason::ValueType(kind))),
        };
        if !is_deletion {
            let raw_len = self.table.header().hash.raw_len();
            skip_update(&mut rest, raw_len).ok_or_else(|| damaged(Reason::Record))?;
        }
        // NUL and the update index must be there; nothing is changed before all is known to be sound.
        let key_len = prefix.saturating_add(suffix.len());
        let nul = key_len.checked_sub(SUFFIX).filter(|at| *at > 0).and_then(|at| match at.checked_sub(prefix) {
            Some(at) => suffix.get(at),
            None => self.key.get(at),
        });
        if nul != Some(&0) {
            return Err(damaged(Reason::LogKey));
        }
        if prefix != 0 && self.pos == block.first {
            return Err(damaged(Reason::Record));
        }
        next_key(&mut self.key, prefix, suffix, fresh).map_err(damaged)?;
        self.is_deletion = is_deletion;
        self.pos = block.records_end.saturating_sub(rest.len());
        self.value = Some(start..self.pos);
        Ok(())
    }
}

impl Keyed for LogCursor {
    fn key(&self) -> Option<&[u8]> {
        self.value.as_ref().map(|_| &self.key[..])
    }

    fn advance(&mut self) -> Result<(), Damage> {
        self.value = None;
        let Some(block) = self.block else { return Ok(()) };
        if self.pos < block.records_end {
            return self.read(false);
        }
        // The last key stays: the next block's first one must exceed it.
        match self.enter(block.end)? {
            Some(_) => self.read(false),
            None => match self.table.footer().log_index {
                Some(root) => ends_with(&self.table, root, Kind::Log, &self.key, &block),
                None => Ok(()),
            },
        }
    }

    fn seek(&mut self, key: &[u8]) -> Result<(), Damage> {
        self.value = None;
        self.block = None;
        self.key.clear();
        let table = self.table.clone();
        let start = match (table.footer().log_index, table.first_log_block()) {
            (_, None) => return Ok(()),
            (None, Some(first)) => first,
            (Some(root), Some(first)) => {
                let place = descend(&table, root, Kind::Log, key)?;
                match (place.block, place.before) {
                    (None, None) => return Ok(()),
                    (None, Some(before)) => last_below(&table, before, Kind::Log)?,
                    (Some(start), before) => {
                        if self.land(start, key)? || start == first {
                            return Ok(());
                        }
                        let lies = Damage::at(start, Reason::IndexTarget);
                        let before = last_below(&table, before.ok_or(lies)?, Kind::Log)?;
                        return if self.land(before, key)? { Ok(()) } else { Err(lies) };
                    }
                }
            }
        };
        self.land(start, key).map(|_| ())
    }
}

impl LogCursor {
    /// As of a walk over refs: whether no record before the block at `start` can be the first not less than `key`.
    fn land(&mut self, start: usize, key: &[u8]) -> Result<bool, Damage> {
        self.value = None;
        self.block = None;
        self.key.clear();
        let Some(block) = self.enter(start)? else { return Ok(true) };
        self.pos = block.seek(&self.image, key)?;
        let is_first = self.pos == block.first;
        self.read(true)?;
        if is_first && self.key().is_some_and(|here| here > key) {
            return Ok(false);
        }
        while self.key().is_some_and(|here| here < key) {
            self.advance()?;
        }
        Ok(true)
    }
}

fn skip_update(rest: &mut &[u8], raw_len: usize) -> Option<()> {
    take(rest, raw_len.saturating_mul(2))?;
    string(rest)?;
    string(rest)?;
    varint(rest)?;
    take(rest, 2)?;
    string(rest)?;
    Some(())
}

fn parse_update(mut rest: &[u8], raw_len: usize) -> Option<LogUpdate<'_>> {
    let rest = &mut rest;
    let (old, new) = (take(rest, raw_len)?, take(rest, raw_len)?);
    let (name, email) = (string(rest)?, string(rest)?);
    let time = varint(rest)?;
    let tz = i16::from_be_bytes(take(rest, 2)?.try_into().ok()?);
    let message = string(rest)?;
    Some(LogUpdate { old, new, name, email, time, tz, message })
}

fn string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = varint_len(rest)?;
    take(rest, len)
}
