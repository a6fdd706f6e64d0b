//! Structural damage: what makes the bytes from some offset on untrustworthy, and where.

use std::io::ErrorKind;
use std::path::PathBuf;

use memchr::memchr_iter;

use crate::model::{Error, HashKind};

/// Where reading had to stop, and why. Whoever opened the file adds its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// The start of the damaged line, in bytes from the start of the data.
    pub offset: usize,
    /// Its number, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: Reason,
}

impl Damage {
    /// Damage in the line that starts at `offset` of `data`. Counts the lines before it.
    #[cold]
    #[must_use]
    pub fn at(data: &[u8], offset: usize, reason: Reason) -> Self {
        let before = data.get(..offset).unwrap_or_default();
        Self { offset, line: memchr_iter(b'\n', before).count().saturating_add(1), reason }
    }

    /// The error that names the file.
    #[must_use]
    pub fn in_file(self, path: PathBuf) -> Error {
        let Self { offset, line, reason } = self;
        Error::Corrupt { path, offset, line: Some(line), reason: reason.to_string() }
    }
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// A first line that starts with `#` and is not git's header.
    #[error("header is not '# pack-refs with: ' and traits")]
    BadHeader,
    /// The last byte of the file is not LF: it was cut, or never finished.
    #[error("line is not terminated")]
    Unterminated,
    /// Nothing between two LFs.
    #[error("blank line")]
    BlankLine,
    /// A `#` line that is not the first.
    #[error("header or comment after line 1")]
    LateHeader,
    /// A `^` line that does not follow a record.
    #[error("peeled line without a ref line right above it")]
    OrphanPeeled,
    /// A record whose object id is too short, too long or not hex.
    #[error("line does not start with the {} hex digits of an object id ({})", .0.hex_len(), .0.name())]
    BadOid(HashKind),
    /// A record whose object id is followed by something else than a space.
    #[error("object id is not followed by a space")]
    BadSeparator,
    /// A record that ends behind its separator.
    #[error("line has no refname")]
    NoName,
    /// A refname no file system or protocol could carry; spans count its bytes in 32 bits.
    #[error("refname is longer than 4 GiB")]
    LongName,
    /// A `^` line that is not exactly one object id.
    #[error("peeled line is not '^' and the {} hex digits of an object id ({})", .0.hex_len(), .0.name())]
    BadPeeled(HashKind),
    /// A name that sorts before its predecessor under a header that claims `sorted`.
    #[error("refname sorts before the one above it, but the header claims 'sorted'")]
    OutOfOrder,
    /// A name that was looked up and stands in more than one record.
    #[error("refname stands in more than one line")]
    Duplicate,
}

/// Why a bulk operation ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The bytes are damaged.
    Damage(Damage),
    /// The caller's interrupt said so.
    Interrupted,
    /// There is no memory for what it needs.
    OutOfMemory,
}

impl Stop {
    /// The error that names the file.
    #[must_use]
    pub fn in_file(self, path: PathBuf) -> Error {
        match self {
            Self::Damage(damage) => damage.in_file(path),
            Self::Interrupted => Error::Interrupted,
            Self::OutOfMemory => Error::Io { path, source: ErrorKind::OutOfMemory.into() },
        }
    }
}

impl From<Damage> for Stop {
    fn from(damage: Damage) -> Self {
        Self::Damage(damage)
    }
}
