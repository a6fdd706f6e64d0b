//! Damage: what makes a table untrustworthy, and where.

use std::path::PathBuf;

use crate::model::Error;

/// Where reading had to stop, and why. Whoever opened the file adds its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// The damaged structure's first byte, from the start of the file.
    pub offset: usize,
    /// What is wrong with it.
    pub reason: Reason,
}

impl Damage {
    /// Damage in what starts at `offset`.
    #[cold]
    #[must_use]
    pub fn at(offset: usize, reason: Reason) -> Self {
        Self { offset, reason }
    }

    /// The error that names the file.
    #[must_use]
    pub fn in_file(self, path: PathBuf) -> Error {
        Error::Corrupt { path, offset: self.offset, line: None, reason: self.reason.to_string() }
    }
}

/// What is wrong with a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Too short for header and footer.
    #[error("file is too short for a reftable")]
    Short,
    /// Not a table.
    #[error("file does not start with REFT")]
    Magic,
    /// Neither version 1 nor 2.
    #[error("unknown reftable version {0}")]
    Version(u8),
    /// Version 2 names a hash that git does not know.
    #[error("unknown hash id {0:#010x}")]
    HashId(u32),
    /// The table's hash is not the one that was asked for.
    #[error("table is of another hash than asked for")]
    OtherHash,
    /// The copy of the header in the footer is no copy.
    #[error("footer does not repeat the header")]
    FooterHeader,
    /// The footer's CRC-32 is wrong.
    #[error("checksum of the footer is wrong")]
    Checksum,
    /// A section is said to start where none can.
    #[error("footer points outside the table")]
    FooterPosition,
    /// Objects, but no length of their abbreviated ids.
    #[error("footer gives no length for object ids")]
    ObjectIdLength,
    /// The file's update indices run backwards.
    #[error("min_update_index is greater than max_update_index")]
    UpdateIndexRange,
    /// A block of another type than its place asks for.
    #[error("block is not of the type expected here")]
    BlockKind,
    /// A block that reaches past the blocks' end, or is too short to be one.
    #[error("block length is impossible")]
    BlockLength,
    /// No restart, more than the block holds, or one outside its records.
    #[error("restart table is impossible")]
    Restarts,
    /// A record that ends outside its block, or holds a number that does not fit.
    #[error("record is cut short or holds an impossible number")]
    Record,
    /// A record without a key.
    #[error("record has no name")]
    EmptyKey,
    /// A key that does not sort after the one before it.
    #[error("record does not sort after the one before it")]
    OutOfOrder,
    /// A value type that the format reserves.
    #[error("reserved value type {0}")]
    ValueType(u8),
    /// A block whose names are far larger than itself.
    #[error("names of the block expand beyond all reason")]
    Expansion,
    /// An index record that does not point backwards, to a lower level.
    #[error("index does not point to an earlier block")]
    IndexTarget,
    /// A log block that is not one zlib stream of the length it claims.
    #[error("log block does not inflate to its length")]
    Inflate,
    /// A log record whose key does not end with an update index.
    #[error("log record has no update index")]
    LogKey,
}
