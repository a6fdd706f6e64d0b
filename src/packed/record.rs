//! One record, as spans.
//!
//! ```text
//! record = hex SEP refname LF [ "^" hex LF ]
//!          |        |           |
//!          start    name        peeled, only if a "^" line follows
//! ```

use memchr::memchr;

use super::{Damage, Reason};
use crate::model::{HashKind, Span, is_hex};

/// Where one well-formed record lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    start: usize,
    name_len: u32,
    hash: HashKind,
    has_peeled: bool,
}

impl Record {
    /// Reads the record that starts at `start`, and checks all of it.
    ///
    /// # Errors
    /// [`Damage`] at its first or second line, as git dies of it.
    #[inline(always)]
    pub fn parse(data: &[u8], start: usize, hash: HashKind) -> Result<Self, Damage> {
        match hash {
            HashKind::Sha1 => parse::<40>(data, start, hash),
            HashKind::Sha256 => parse::<64>(data, start, hash),
        }
    }

    /// The record of these parts, as one was found before.
    #[inline]
    #[must_use]
    pub(super) fn from_parts(start: usize, name_len: u32, hash: HashKind, has_peeled: bool) -> Self {
        Self { start, name_len, hash, has_peeled }
    }

    /// Offset of its first byte.
    #[inline]
    #[must_use]
    pub fn start(&self) -> usize {
        self.start
    }

    /// Bytes of the refname.
    #[inline]
    #[must_use]
    pub fn name_len(&self) -> u32 {
        self.name_len
    }

    /// Whether a `^` line follows.
    #[inline]
    #[must_use]
    pub fn has_peeled(&self) -> bool {
        self.has_peeled
    }

    /// Offset behind its last LF.
    #[inline]
    #[must_use]
    pub fn end(&self) -> usize {
        let line_end = self.name().end.wrapping_add(1);
        if self.has_peeled { line_end.wrapping_add(self.hash.hex_len()).wrapping_add(2) } else { line_end }
    }

    /// The whole record, as it lies on disk.
    #[must_use]
    pub fn span(&self) -> Span {
        self.start..self.end()
    }

    /// The hex digits of the object id.
    #[must_use]
    pub fn oid(&self) -> Span {
        self.start..self.start.wrapping_add(self.hash.hex_len())
    }

    /// The refname.
    #[inline]
    #[must_use]
    pub fn name(&self) -> Span {
        let start = self.start.wrapping_add(self.hash.hex_len()).wrapping_add(1);
        start..start.wrapping_add(self.name_len as usize)
    }

    /// The hex digits of the peeled object id, if a `^` line gives one.
    #[must_use]
    pub fn peeled(&self) -> Option<Span> {
        self.has_peeled.then(|| {
            let start = self.name().end.wrapping_add(2);
            start..start.wrapping_add(self.hash.hex_len())
        })
    }
}

#[inline(always)]
fn parse<const HEX: usize>(data: &[u8], start: usize, hash: HashKind) -> Result<Record, Damage> {
    let Some((oid, [separator, rest @ ..])) = data.get(start..).and_then(|line| line.split_first_chunk::<HEX>()) else {
        return Err(diagnose(data, start, hash));
    };
    let Some(len) = memchr(b'\n', rest) else { return Err(diagnose(data, start, hash)) };
    if !is_hex(oid) || !is_separator(*separator) || len == 0 {
        return Err(diagnose(data, start, hash));
    }
    let Ok(name_len) = u32::try_from(len) else { return Err(Damage::at(data, start, Reason::LongName)) };
    let mut has_peeled = false;
    if let Some([b'^', peeled @ ..]) = rest.get(len.wrapping_add(1)..) {
        match peeled.split_first_chunk::<HEX>() {
            Some((oid, [b'\n', ..])) if is_hex(oid) => has_peeled = true,
            _ => return Err(bad_peeled(data, start, hash)),
        }
    }
    Ok(Record { start, name_len, hash, has_peeled })
}

#[inline]
fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// What keeps the line at `start` from being the first line of a record.
#[cold]
fn diagnose(data: &[u8], start: usize, hash: HashKind) -> Damage {
    let rest = data.get(start..).unwrap_or_default();
    let line = memchr(b'\n', rest).and_then(|end| rest.get(..end));
    let reason = match line {
        None => Reason::Unterminated,
        Some([]) => Reason::BlankLine,
        Some([b'#', ..]) => Reason::LateHeader,
        Some([b'^', ..]) => Reason::OrphanPeeled,
        Some(line) => match line.split_at_checked(hash.hex_len()) {
            Some((oid, rest)) if is_hex(oid) => match rest {
                [] => Reason::NoName,
                [separator] if is_separator(*separator) => Reason::NoName,
                _ => Reason::BadSeparator,
            },
            _ => Reason::BadOid(hash),
        },
    };
    Damage::at(data, start, reason)
}

/// Damage at the `^` line of the record at `start`, whose own line is sound.
#[cold]
fn bad_peeled(data: &[u8], start: usize, hash: HashKind) -> Damage {
    let rest = data.get(start..).unwrap_or_default();
    let offset = memchr(b'\n', rest).map_or(start, |end| start.wrapping_add(end).wrapping_add(1));
    let reason = match memchr(b'\n', data.get(offset..).unwrap_or_default()) {
        Some(_) => Reason::BadPeeled(hash),
        None => Reason::Unterminated,
    };
    Damage::at(data, offset, reason)
}
