//! Which refs of one table point at an object: by its object index where it has one, else by reading all refs.

use std::sync::Arc;

use super::index::find_block;
use super::objects::{Positions, positions};
use super::{Damage, Keyed, Kind, Reason, RefBatch, RefCursor, Table, Value};

/// A record of a batch.
pub type Hit = (Arc<RefBatch>, usize);

/// The records of the table whose object id or peeled object id has these raw bytes, names ascending; `go_on` is asked
/// now and then, and ends the search with `None` by being false.
///
/// # Errors
/// [`Damage`] in a block that was read, or an index that points elsewhere than to ref blocks.
pub fn points_at(table: &Arc<Table>, oid: &[u8], go_on: &mut dyn FnMut() -> bool) -> Result<Option<Vec<Hit>>, Damage> {
    let mut cursor = RefCursor::new(table.clone());
    let mut hits = Vec::new();
    match positions(table, oid)? {
        // Without a ref index nothing tells whether a position is one of a ref block.
        Positions::Blocks(blocks) if table.footer().ref_index.is_some() => {
            let mut end = 0;
            for start in blocks {
                let (block, _) = table.expect_block(start, Kind::Ref)?;
                cursor.enter_at(start)?;
                let is_indexed = find_block(table, Kind::Ref, cursor.batch().name(0))?.block == Some(start);
                if !is_indexed || start < end {
                    return Err(Damage::at(start, Reason::IndexTarget));
                }
                end = block.end;
                collect(&cursor, oid, &mut hits);
                while cursor.has_more_in_block() {
                    cursor.next_batch()?;
                    collect(&cursor, oid, &mut hits);
                }
                if !go_on() {
                    return Ok(None);
                }
            }
        }
        Positions::Blocks(_) | Positions::Anywhere => {
            cursor.seek(b"")?;
            while !cursor.batch().is_empty() {
                collect(&cursor, oid, &mut hits);
                cursor.next_batch()?;
                if !go_on() {
                    return Ok(None);
                }
            }
        }
    }
    Ok(Some(hits))
}

/// The hits among the records of the cursor's batch.
fn collect(cursor: &RefCursor, oid: &[u8], hits: &mut Vec<Hit>) {
    let (batch, data) = (cursor.batch(), cursor.table().data());
    let is_hit = |value: Value| match value {
        Value::Oid(span) => data.get(span) == Some(oid),
        Value::Peeled(span, peeled) => data.get(span) == Some(oid) || data.get(peeled) == Some(oid),
        Value::Deletion | Value::Symref(_) => false,
    };
    for i in 0..batch.len() {
        if batch.get(i).is_some_and(|record| is_hit(record.value())) {
            hits.push((batch.clone(), i));
        }
    }
}
