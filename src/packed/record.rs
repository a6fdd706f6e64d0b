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
        match Self::read(data, start, hash) {
            Some(record) => Ok(record),
            None => Err(diagnose(data, start, hash)),
        }
    }

    /// [`Self::parse`] without the reason.
    #[inline(always)]
    pub(super) fn read(data: &[u8], start: usize, hash: HashKind) -> Option<Self> {
        let (name_len, has_peeled) = match hash {
            HashKind::Sha1 => measure::<40>(data, start),
            HashKind::Sha256 => measure::<64>(data, start),
        }?;
        Some(Self { start, name_len, hash, has_peeled })
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

    /// Hex digits of the object id.
    #[inline]
    #[must_use]
    pub fn hex_len(&self) -> u8 {
        match self.hash {
            HashKind::Sha1 => 40,
            HashKind::Sha256 => 64,
        }
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

/// The length of the refname and whether a `^` line follows; `None` if the record at `start` is not well-formed.
///
/// No more than that goes back, to stay in registers: a larger result would travel through memory, field by field.
#[inline(always)]
fn measure<const HEX: usize>(data: &[u8], start: usize) -> Option<(u32, bool)> {
    let (oid, [separator, rest @ ..]) = data.get(start..)?.split_first_chunk::<HEX>()? else { return None };
    let len = memchr(b'\n', rest)?;
    if !is_hex(oid) || !is_separator(*separator) || len == 0 {
        return None;
    }
    let has_peeled = match rest.get(len.wrapping_add(1)..) {
        Some([b'^', peeled @ ..]) => match peeled.split_first_chunk::<HEX>() {
            Some((oid, [b'\n', ..])) if is_hex(oid) => true,
            _ => return None,
        },
        _ => false,
    };
    Some((u32::try_from(len).ok()?, has_peeled))
}

#[inline]
fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// What keeps the record at `start` from being one.
#[cold]
#[inline(never)]
pub(super) fn diagnose(data: &[u8], start: usize, hash: HashKind) -> Damage {
    let rest = data.get(start..).unwrap_or_default();
    let line = memchr(b'\n', rest).and_then(|end| rest.get(..end));
    let reason = match line {
        None => Reason::Unterminated,
        Some([]) => Reason::BlankLine,
        Some([b'#', ..]) => Reason::LateHeader,
        Some([b'^', ..]) => Reason::OrphanPeeled,
        Some(line) => match line.split_at_checked(hash.hex_len()) {
            Some((oid, rest)) if oid.iter().all(u8::is_ascii_hexdigit) => match rest {
                [] => Reason::NoName,
                [separator] if is_separator(*separator) => Reason::NoName,
                [separator, name @ ..] if is_separator(*separator) => {
                    if u32::try_from(name.len()).is_err() {
                        Reason::LongName
                    } else {
                        return bad_peeled(data, start.wrapping_add(line.len()).wrapping_add(1), hash);
                    }
                }
                _ => Reason::BadSeparator,
            },
            _ => Reason::BadOid(hash),
        },
    };
    Damage::at(data, start, reason)
}

/// Damage in the `^` line that starts at `offset`; the line above it is sound.
fn bad_peeled(data: &[u8], offset: usize, hash: HashKind) -> Damage {
    let reason = match memchr(b'\n', data.get(offset..).unwrap_or_default()) {
        Some(_) => Reason::BadPeeled(hash),
        None => Reason::Unterminated,
    };
    Damage::at(data, offset, reason)
}
