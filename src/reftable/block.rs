//! One block: where it lies, and its restart table.
//!
//! ```text
//! block   = type u8 | block_len u24 | record* | restart_offset u24 * restart_count | restart_count u16
//! record  = varint prefix_len | varint (suffix_len << 3 | extra) | suffix | value
//! restart = the offset of a record whose prefix_len is 0
//! ```
//!
//! Offsets count from the block's start; the block at the start of the file counts the file header in. `block_len`
//! reaches through `restart_count`. A log block's records and restarts are one zlib stream, which is inflated behind a
//! copy of what precedes it, so that offsets mean the same there.

use super::number::{big_endian, take, varint_len};
use super::{Damage, Header, Reason};

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Ref records.
    Ref,
    /// Index records.
    Index,
    /// Object records.
    Obj,
    /// Log records.
    Log,
}

impl Kind {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ref => "ref",
            Self::Index => "index",
            Self::Obj => "obj",
            Self::Log => "log",
        }
    }

    fn of(byte: u8) -> Option<Self> {
        match byte {
            b'r' => Some(Self::Ref),
            b'i' => Some(Self::Index),
            b'o' => Some(Self::Obj),
            b'g' => Some(Self::Log),
            _ => None,
        }
    }
}

/// Where a block lies and how its inside is divided. Its bytes are its *image*: of a log block, inflated.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// What it holds.
    pub kind: Kind,
    /// Its first byte in the file.
    pub start: usize,
    /// The byte behind it in the file; padding not included.
    pub end: usize,
    /// Offset of the first record in the image.
    pub(super) first: usize,
    /// Offset of the restart table in the image: the records end there.
    pub(super) records_end: usize,
    /// Records that are stored with their whole key.
    pub restarts: usize,
}

/// Type and length of the block at `start`, if its kind is known.
pub(super) struct Prologue {
    pub(super) kind: Kind,
    /// Of the image, through `restart_count`.
    pub(super) len: usize,
    /// Offset of the first record, in the image.
    pub(super) first: usize,
}

impl Prologue {
    /// Reads it; `None` where the blocks end.
    pub(super) fn read(data: &[u8], header: &Header, start: usize, limit: usize) -> Result<Option<Self>, Damage> {
        let skipped = if start == 0 { header.size() } else { 0 };
        let at = start.saturating_add(skipped);
        let mut rest = data.get(at..limit).unwrap_or_default();
        let Some(kind) = rest.first().copied() else { return Ok(None) };
        let kind = Kind::of(kind).ok_or_else(|| Damage::at(start, Reason::BlockKind))?;
        let damaged = || Damage::at(start, Reason::BlockLength);
        take(&mut rest, 1).ok_or_else(damaged)?;
        let len = big_endian::<3>(&mut rest).and_then(|len| usize::try_from(len).ok()).ok_or_else(damaged)?;
        let first = skipped.saturating_add(4);
        if len < first.saturating_add(2) {
            return Err(damaged());
        }
        Ok(Some(Self { kind, len, first }))
    }

    /// The block whose image this is.
    pub(super) fn block(&self, image: &[u8], start: usize, end: usize) -> Result<Block, Damage> {
        let damaged = || Damage::at(start, Reason::Restarts);
        let count_at = image.len().checked_sub(2).ok_or_else(damaged)?;
        let mut count = image.get(count_at..).unwrap_or_default();
        let restarts = big_endian::<2>(&mut count).and_then(|n| usize::try_from(n).ok()).ok_or_else(damaged)?;
        let records_end = count_at.checked_sub(restarts.saturating_mul(3)).ok_or_else(damaged)?;
        if restarts == 0 || records_end <= self.first {
            return Err(damaged());
        }
        Ok(Block { kind: self.kind, start, end, first: self.first, records_end, restarts })
    }
}

impl Block {
    /// The offset of the `i`th restart's record.
    pub(super) fn restart(&self, image: &[u8], i: usize) -> Result<usize, Damage> {
        let at = self.records_end.saturating_add(i.saturating_mul(3));
        let mut rest = image.get(at..).unwrap_or_default();
        big_endian::<3>(&mut rest)
            .and_then(|offset| usize::try_from(offset).ok())
            .filter(|offset| (self.first..self.records_end).contains(offset))
            .ok_or_else(|| self.damaged(Reason::Restarts))
    }

    /// Where to start reading so as to meet the first record whose key is not less than `key`.
    ///
    /// Bisects the restarts, whose keys are whole: the last one that is less than `key`, or the first record.
    pub(super) fn seek(&self, image: &[u8], key: &[u8]) -> Result<usize, Damage> {
        let (mut low, mut high) = (0, self.restarts);
        while low < high {
            let middle = usize::midpoint(low, high);
            let mut rest = self.rest(image, self.restart(image, middle)?);
            let (prefix, suffix, _) = read_key(&mut rest).ok_or_else(|| self.damaged(Reason::Record))?;
            if prefix != 0 {
                return Err(self.damaged(Reason::Restarts));
            }
            if suffix < key {
                low = middle.saturating_add(1);
            } else {
                high = middle;
            }
        }
        match low.checked_sub(1) {
            None => Ok(self.first),
            Some(before) => self.restart(image, before),
        }
    }

    /// The records from `pos` on.
    pub(super) fn rest<'a>(&self, image: &'a [u8], pos: usize) -> &'a [u8] {
        image.get(pos..self.records_end).unwrap_or_default()
    }

    /// Damage in this block.
    #[cold]
    pub(super) fn damaged(&self, reason: Reason) -> Damage {
        Damage::at(self.start, reason)
    }
}

/// Takes the head of a record off the front: bytes shared with the key before, the other bytes, the extra bits.
#[inline]
pub(super) fn read_key<'a>(rest: &mut &'a [u8]) -> Option<(usize, &'a [u8], u8)> {
    let prefix = varint_len(rest)?;
    let packed = varint_len(rest)?;
    let suffix = take(rest, packed >> 3)?;
    Some((prefix, suffix, u8::try_from(packed & 7).ok()?))
}

/// Makes `key` the key of the next record, which must sort after it; `fresh` if there is none before.
#[inline]
pub(super) fn next_key(key: &mut Vec<u8>, prefix: usize, suffix: &[u8], fresh: bool) -> Result<(), Reason> {
    let shared_end = key.get(prefix..).ok_or(Reason::Record)?;
    if prefix == 0 && suffix.is_empty() {
        return Err(Reason::EmptyKey);
    }
    if !fresh && suffix <= shared_end {
        return Err(Reason::OutOfOrder);
    }
    key.truncate(prefix);
    key.extend_from_slice(suffix);
    Ok(())
}
