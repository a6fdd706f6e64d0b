//! The object index: in which ref blocks an object id stands.
//!
//! ```text
//! obj = key: the first obj_id_len bytes of an oid, extra: count (1-7), 0: varint count | varint position, varint delta*
//! ```
//!
//! Positions are of ref blocks, ascending. A count of 0 says that the id stands somewhere: all blocks must be read.
//! Peeled object ids are indexed too.

use super::block::{next_key, read_key};
use super::index::find_block;
use super::number::varint_len;
use super::{Damage, Kind, Reason, Table};

/// Where an object id may stand.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Positions {
    /// In these ref blocks, and in no other.
    Blocks(Vec<usize>),
    /// In any: there is no index, or it does not say.
    Anywhere,
}

/// The ref blocks that may hold the object id with these raw bytes.
pub(super) fn positions(table: &Table, oid: &[u8]) -> Result<Positions, Damage> {
    if table.footer().obj.is_none() {
        return Ok(Positions::Anywhere);
    }
    let Some(wanted) = oid.get(..table.footer().obj_id_len) else { return Ok(Positions::Anywhere) };
    let mut next = match find_block(table, Kind::Obj, wanted)?.block {
        Some(start) => Some(table.expect_block(start, Kind::Obj)?),
        None => None,
    };
    let mut key = Vec::new();
    let mut fresh = true;
    while let Some((block, image)) = next {
        let damaged = |reason| block.damaged(reason);
        let mut rest = block.rest(image, if fresh { block.seek(image, wanted)? } else { block.first });
        while !rest.is_empty() {
            let (prefix, suffix, count) = read_key(&mut rest).ok_or_else(|| damaged(Reason::Record))?;
            next_key(&mut key, prefix, suffix, fresh).map_err(damaged)?;
            fresh = false;
            let found = read_positions(&mut rest, count).ok_or_else(|| damaged(Reason::Record))?;
            if key[..] == *wanted {
                return Ok(found);
            }
            if &key[..] > wanted {
                return Ok(Positions::Blocks(Vec::new()));
            }
        }
        next = table.next_in_section(&block)?;
    }
    Ok(Positions::Blocks(Vec::new()))
}

pub(super) fn read_positions(rest: &mut &[u8], count: u8) -> Option<Positions> {
    let count = if count == 0 { varint_len(rest)? } else { usize::from(count) };
    if count == 0 {
        return Some(Positions::Anywhere);
    }
    // Grows as they are read: the count is only a claim.
    let mut blocks = vec![varint_len(rest)?];
    let mut last = blocks.first().copied()?;
    for _ in 1..count {
        last = last.checked_add(varint_len(rest).filter(|delta| *delta > 0)?)?;
        blocks.push(last);
    }
    Some(Positions::Blocks(blocks))
}
