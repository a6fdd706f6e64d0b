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

/// More entries of an index than these are not looked at to find where to cut.
const MOST_ENTRIES: usize = 1 << 16;

/// Keys that cut the refs of a table into about so many parts of about one size, as far as its index tells; fewer if it is
/// damaged, which whoever reads the refs finds.
#[must_use]
pub fn split_keys(table: &Table, parts: usize) -> Vec<Vec<u8>> {
    let Some(root) = table.footer().ref_index.filter(|_| parts > 1) else { return Vec::new() };
    let mut last_keys = Vec::new();
    let mut level = vec![root];
    while let Some(first) = level.first().copied() {
        let Ok(below) = entries(table, &level, first == root) else { break };
        last_keys = below;
        let targets: Vec<_> = last_keys.iter().map(|(_, target)| *target).collect();
        // Each level lies before the one above it.
        let is_index = |start: usize| table.prologue(start).is_ok_and(|p| p.is_some_and(|p| p.kind == Kind::Index));
        let goes_down = targets.first().is_some_and(|target| *target < first && is_index(*target));
        if last_keys.len() >= parts || !goes_down {
            break;
        }
        level = targets;
    }
    // Behind the last key there is nothing.
    last_keys.pop();
    let step = last_keys.len().checked_div(parts).unwrap_or_default().max(1);
    let behind = |(mut key, _): (Vec<u8>, usize)| {
        key.push(0);
        key
    };
    last_keys.into_iter().skip(step.saturating_sub(1)).step_by(step).map(behind).collect()
}

/// The last keys of what the index blocks at these offsets point to, and where that is; `with_siblings` those behind them.
fn entries(table: &Table, level: &[usize], with_siblings: bool) -> Result<Vec<(Vec<u8>, usize)>, Damage> {
    let mut entries = Vec::new();
    for start in level {
        let mut next = Some(table.expect_block(*start, Kind::Index)?);
        while let Some((block, image)) = next {
            let mut rest = block.rest(image, block.first);
            let (mut key, mut fresh) = (Vec::new(), true);
            while !rest.is_empty() {
                let (prefix, suffix, _) = read_key(&mut rest).ok_or_else(|| block.damaged(Reason::Record))?;
                next_key(&mut key, prefix, suffix, fresh).map_err(|reason| block.damaged(reason))?;
                fresh = false;
                let target = varint_len(&mut rest).ok_or_else(|| block.damaged(Reason::Record))?;
                entries.push((key.clone(), target));
                // Blocks that point at one another would multiply.
                if entries.len() > MOST_ENTRIES {
                    return Err(block.damaged(Reason::IndexTarget));
                }
            }
            next = if with_siblings { table.block_if(table.next_block(&block)?, Kind::Index)? } else { None };
        }
    }
    Ok(entries)
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
