//! The layout of a table: its blocks in file order.

use std::sync::Arc;

use super::block::{next_key, read_key};
use super::number::varint_len;
use super::objects::{Positions, read_positions};
use super::{Block, Damage, Kind, LogCursor, Reason, RefBatch, Table};

/// A block and how many records it holds.
#[derive(Debug, Clone, Copy)]
pub struct BlockSummary {
    /// The block.
    pub block: Block,
    /// Its records.
    pub records: usize,
}

/// Every block of the table; `None` if `go_on`, asked for each, said so.
///
/// # Errors
/// [`Damage`] in any block, record heads included, or bytes between blocks that are no padding.
pub fn summaries(table: &Arc<Table>, go_on: &mut dyn FnMut() -> bool) -> Result<Option<Vec<BlockSummary>>, Damage> {
    let mut blocks = Vec::new();
    let mut ref_blocks = Vec::new();
    let mut logs = LogCursor::new(table.clone());
    let mut start = 0;
    while let Some(prologue) = table.prologue(start)? {
        let summary = if prologue.kind == Kind::Log {
            let Some(block) = logs.enter(start)? else { break };
            start = block.end;
            BlockSummary { block, records: count_logs(&mut logs)? }
        } else {
            let (block, image) = table.expect_block(start, prologue.kind)?;
            start = table.next_block(&block)?;
            BlockSummary { block, records: count_records(table, &block, image, &ref_blocks)? }
        };
        if summary.block.kind == Kind::Ref {
            ref_blocks.push(summary.block.start);
        }
        blocks.push(summary);
        if !go_on() {
            return Ok(None);
        }
    }
    Ok(Some(blocks))
}

fn count_logs(logs: &mut LogCursor) -> Result<usize, Damage> {
    let mut count = 0_usize;
    while logs.has_more_in_block() {
        logs.read(count == 0)?;
        count = count.saturating_add(1);
    }
    Ok(count)
}

/// `ref_blocks` are the starts of the ref blocks, which come before all others: the object index may point to them only.
fn count_records(table: &Table, block: &Block, image: &[u8], ref_blocks: &[usize]) -> Result<usize, Damage> {
    let damaged = |reason| block.damaged(reason);
    let mut count = 0_usize;
    if block.kind == Kind::Ref {
        let mut batch = RefBatch::default();
        let (mut pos, mut key, mut expanded) = (block.first, Vec::new(), 0);
        while pos < block.records_end {
            batch.clear();
            pos = batch.fill(table, block, pos, &key, &[], &mut expanded)?;
            count = count.saturating_add(batch.len());
            key = batch.name(batch.len().saturating_sub(1)).to_vec();
        }
        return Ok(count);
    }
    let mut rest = block.rest(image, block.first);
    let mut key = Vec::new();
    while !rest.is_empty() {
        let (prefix, suffix, extra) = read_key(&mut rest).ok_or_else(|| damaged(Reason::Record))?;
        next_key(&mut key, prefix, suffix, count == 0).map_err(damaged)?;
        let positions = if block.kind == Kind::Obj {
            read_positions(&mut rest, extra)
        } else {
            varint_len(&mut rest).map(|_| Positions::Anywhere)
        };
        if let Positions::Blocks(positions) = positions.ok_or_else(|| damaged(Reason::Record))?
            && positions.iter().any(|position| ref_blocks.binary_search(position).is_err())
        {
            return Err(damaged(Reason::IndexTarget));
        }
        count = count.saturating_add(1);
    }
    Ok(count)
}
