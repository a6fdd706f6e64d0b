//! Header and footer.
//!
//! ```text
//! header = "REFT" | version u8 | block_size u24 | min_update_index u64 | max_update_index u64 [ hash id u32 ]
//! footer = header | ref_index u64 | obj << 5 + obj_id_len u64 | obj_index u64 | log u64 | log_index u64 | crc32 u32
//! ```
//!
//! Version 1 is SHA-1 without a hash id; version 2 has one. Positions are from the start of the file; 0 is "no such
//! section", except that a file which starts with log blocks has `log` = 0.

use super::number::{big_endian, take};
use super::{Damage, Reason};
use crate::model::HashKind;

/// What the first bytes of a table say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// 1 or 2.
    pub version: u8,
    /// The size that blocks are padded to; 0 means that they are not.
    pub block_size: u32,
    /// The smallest update index of a ref.
    pub min_update_index: u64,
    /// The greatest update index of a ref.
    pub max_update_index: u64,
    /// The hash of all object ids.
    pub hash: HashKind,
}

/// Where the sections start; `None` where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footer {
    /// The top level of the ref index.
    pub ref_index: Option<usize>,
    /// The object blocks.
    pub obj: Option<usize>,
    /// How many bytes of an object id are a key there.
    pub obj_id_len: usize,
    /// The top level of the object index.
    pub obj_index: Option<usize>,
    /// The log blocks, unless the file starts with them.
    pub log: Option<usize>,
    /// The top level of the log index.
    pub log_index: Option<usize>,
    /// Where the footer itself starts: no block reaches beyond.
    pub start: usize,
}

const MAGIC: u64 = 0x5245_4654;
const SHA1: u32 = 0x7368_6131;
const SHA256: u32 = 0x7332_3536;

impl Header {
    /// Bytes of a header of this version.
    #[must_use]
    pub fn size(&self) -> usize {
        if self.version == 1 { 24 } else { 28 }
    }

    fn parse(data: &[u8]) -> Result<Self, Damage> {
        let damaged = |reason| Damage::at(0, reason);
        let short = || damaged(Reason::Short);
        let rest = &mut &*data;
        if big_endian::<4>(rest).ok_or_else(short)? != MAGIC {
            return Err(damaged(Reason::Magic));
        }
        let version = take(rest, 1).and_then(|byte| byte.first().copied()).ok_or_else(short)?;
        if !matches!(version, 1 | 2) {
            return Err(damaged(Reason::Version(version)));
        }
        let block_size = big_endian::<3>(rest).and_then(|size| u32::try_from(size).ok()).ok_or_else(short)?;
        let min_update_index = big_endian::<8>(rest).ok_or_else(short)?;
        let max_update_index = big_endian::<8>(rest).ok_or_else(short)?;
        let hash = match version {
            1 => HashKind::Sha1,
            _ => match big_endian::<4>(rest).and_then(|id| u32::try_from(id).ok()).ok_or_else(short)? {
                SHA1 => HashKind::Sha1,
                SHA256 => HashKind::Sha256,
                id => return Err(damaged(Reason::HashId(id))),
            },
        };
        Ok(Self { version, block_size, min_update_index, max_update_index, hash })
    }
}

/// Header and footer of a whole table, checked against each other.
pub(super) fn parse(data: &[u8]) -> Result<(Header, Footer), Damage> {
    let header = Header::parse(data)?;
    let short = || Damage::at(0, Reason::Short);
    // The header again, five positions and the checksum.
    let footer_len = header.size().saturating_add(5 * 8 + 4);
    let start = data.len().checked_sub(footer_len).filter(|start| *start >= header.size()).ok_or_else(short)?;
    let damaged = |reason| Damage::at(start, reason);
    let footer = data.get(start..).ok_or_else(short)?;
    let (checked, mut crc) = footer.split_at_checked(footer.len().saturating_sub(4)).ok_or_else(short)?;
    if checked.get(..header.size()) != data.get(..header.size()) {
        return Err(damaged(Reason::FooterHeader));
    }
    if big_endian::<4>(&mut crc) != Some(u64::from(crc32fast::hash(checked))) {
        return Err(damaged(Reason::Checksum));
    }
    if header.min_update_index > header.max_update_index {
        return Err(Damage::at(0, Reason::UpdateIndexRange));
    }
    let rest = &mut checked.get(header.size()..).unwrap_or_default();
    let mut raw = || big_endian::<8>(rest).ok_or_else(short);
    let position = |raw: u64| match usize::try_from(raw) {
        Ok(0) => Ok(None),
        Ok(position) if position >= header.size() && position < start => Ok(Some(position)),
        _ => Err(damaged(Reason::FooterPosition)),
    };
    let ref_index = position(raw()?)?;
    let packed = raw()?;
    let obj = position(packed >> 5)?;
    let obj_id_len = usize::try_from(packed & 0x1f).unwrap_or_default();
    if obj.is_some() && obj_id_len == 0 {
        return Err(damaged(Reason::ObjectIdLength));
    }
    let obj_index = position(raw()?)?;
    let log = position(raw()?)?;
    let log_index = position(raw()?)?;
    Ok((header, Footer { ref_index, obj, obj_id_len, obj_index, log, log_index, start }))
}
