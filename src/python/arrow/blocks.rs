//! The blocks of a table as a batch.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::cells::{Maker, Numbers, missing, numbers, text};
use super::field::Field;
use super::plan::Plan;
use crate::reftable::BlockSummary;

/// A row for each block.
pub(super) fn batch(plan: &Plan, blocks: &[BlockSummary]) -> Result<RecordBatch, ArrowError> {
    let make = Maker { plan, rows: blocks.len(), sources: &[] };
    let mut kinds = make.text(Field::Kind);
    let count = |field, number: fn(&BlockSummary) -> usize| -> Option<Numbers> {
        let mut column = make.numbers(field)?;
        for summary in blocks {
            column.push(Some(number(summary) as u64));
        }
        Some(column)
    };
    let mut offset = count(Field::Offset, |summary| summary.block.start);
    let mut length = count(Field::Length, |summary| summary.block.end.saturating_sub(summary.block.start));
    let mut records = count(Field::Records, |summary| summary.records);
    let mut restarts = count(Field::Restarts, |summary| summary.block.restarts);
    if let Some(column) = &mut kinds {
        for summary in blocks {
            column.push(summary.block.kind.name().as_bytes());
        }
    }
    plan.batch(blocks.len(), |field, data_type| match field {
        Field::Kind => text(kinds.as_mut(), data_type),
        Field::Offset => numbers(offset.as_mut()),
        Field::Length => numbers(length.as_mut()),
        Field::Records => numbers(records.as_mut()),
        Field::Restarts => numbers(restarts.as_mut()),
        _ => Err(missing()),
    })
}
