//! Finding the block that may hold a key.
//!
//! ```text
//! index = key: the last key of a block, extra: 0 | varint the block's offset
//! ```
//!
//! Levels are written lowest first, so each record points backwards. The footer points to the first block of the top
//! level, which may have siblings.

use super::block::{next_key, read_key};
use super::number::varint_len;
use super::{Block, Damage, Kind, Reason, Table};

/// The block of that kind which holds the first key not less than `key`, if any does; in a section without index, one
/// from which that key is not far. `kind` is refs or objects.
pub(super) fn find_block(table: &Table, kind: Kind, key: &[u8]) -> Result<Place, Damage> {
    let footer = table.footer();
    let (root, first) = match kind {
        Kind::Ref => (footer.ref_index, table.first_ref_block()),
        _ => (footer.obj_index, footer.obj),
    };
    match (root, first) {
        (_, None) => Ok(Place::default()),
        (Some(root), _) => descend(table, root, kind, key),
        (None, Some(first)) => Ok(Place { block: walk(table, first, kind, key)?, before: Some(0) }),
    }
}

/// Where an index says that a key is.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Place {
    /// The block that holds the first key not less than it.
    pub(super) block: Option<usize>,
    /// A block, maybe of the index, whose last record is the one before.
    pub(super) before: Option<usize>,
}

/// Whether the index ends with this last key of the section's last block.
pub(super) fn ends_with(table: &Table, root: usize, kind: Kind, key: &[u8], block: &Block) -> Result<(), Damage> {
    let last = descend(table, root, kind, key)?.block;
    let behind = descend(table, root, kind, &[key, b"\0"].concat())?.block;
    if last == Some(block.start) && behind.is_none() { Ok(()) } else { Err(Damage::at(root, Reason::IndexTarget)) }
}

/// Follows last records down to the last block of `kind` below the block at `start`.
pub(super) fn last_below(table: &Table, mut start: usize, kind: Kind) -> Result<usize, Damage> {
    loop {
        match table.prologue(start)? {
            Some(prologue) if prologue.kind == kind => return Ok(start),
            _ => {}
        }
        let (block, image) = table.expect_block(start, Kind::Index)?;
        let (mut rest, mut last) = (block.rest(image, block.first), None);
        while !rest.is_empty() {
            read_key(&mut rest).ok_or_else(|| block.damaged(Reason::Record))?;
            last = varint_len(&mut rest);
        }
        start = last.filter(|last| *last < start).ok_or_else(|| block.damaged(Reason::IndexTarget))?;
    }
}

/// Follows an index from its top level down to a block of `kind`.
pub(super) fn descend(table: &Table, root: usize, kind: Kind, key: &[u8]) -> Result<Place, Damage> {
    let (mut block, mut image) = table.expect_block(root, Kind::Index)?;
    let mut is_top = true;
    let mut before = None;
    loop {
        let (target, previous) = target(&block, image, key)?;
        if previous.is_some_and(|previous| previous >= block.start) {
            return Err(block.damaged(Reason::IndexTarget));
        }
        before = previous.or(before);
        let Some(target) = target else {
            if !is_top {
                // The level above says that the key is here.
                return Err(block.damaged(Reason::IndexTarget));
            }
            match table.block_if(table.next_block(&block)?, Kind::Index)? {
                Some(sibling) => (block, image) = sibling,
                None => return Ok(Place { block: None, before }),
            }
            continue;
        };
        if target >= block.start {
            return Err(block.damaged(Reason::IndexTarget));
        }
        match table.prologue(target)? {
            Some(prologue) if prologue.kind == kind => return Ok(Place { block: Some(target), before }),
            _ => (block, image) = table.expect_block(target, Kind::Index)?,
        }
        is_top = false;
    }
}

/// Where the first record that is not less than `key` points, `None` if all are less; and where the one before it does.
fn target(block: &Block, image: &[u8], key: &[u8]) -> Result<(Option<usize>, Option<usize>), Damage> {
    let mut previous = None;
    let mut rest = block.rest(image, block.seek(image, key)?);
    let mut last = Vec::new();
    let mut fresh = true;
    while !rest.is_empty() {
        let (prefix, suffix, _) = read_key(&mut rest).ok_or_else(|| block.damaged(Reason::Record))?;
        next_key(&mut last, prefix, suffix, fresh).map_err(|reason| block.damaged(reason))?;
        fresh = false;
        let offset = varint_len(&mut rest).ok_or_else(|| block.damaged(Reason::Record))?;
        if &last[..] >= key {
            return Ok((Some(offset), previous));
        }
        previous = Some(offset);
    }
    Ok((None, previous))
}

/// Walks over the blocks of a section without index: the last one whose first key is not greater than `key`.
fn walk(table: &Table, first: usize, kind: Kind, key: &[u8]) -> Result<Option<usize>, Damage> {
    let (mut block, _) = table.expect_block(first, kind)?;
    while let Some((next, image)) = table.next_in_section(&block)? {
        let mut rest = next.rest(image, next.first);
        let (_, first_key, _) = read_key(&mut rest).ok_or_else(|| next.damaged(Reason::Record))?;
        if first_key > key {
            break;
        }
        block = next;
    }
    Ok(Some(block.start))
}
