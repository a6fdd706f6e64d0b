//! Refs and logs of tables as text, for the command line.
//!
//! ```text
//! stack  = as git show-ref -d: refs below refs/ only, symbolic ones by what they resolve to in the stack, dangling ones
//!          not at all (nor those to FETCH_HEAD and MERGE_HEAD, which are files beside it)
//! table  = one line a record: <hex> SP name | ref:<target> SP name | deleted SP name; peeled values as ever
//! log    = name SP old SP new SP committer SP <email> SP seconds SP zone TAB message   (as in a files reflog)
//! ```

use super::log_item::LogItem;
use super::{LogWalk, RefWalk, Tables};
use crate::model::{Broken, Result, Selection};
use crate::reftable::{LogCursor, LogRecord, RefBatch, RefRecord, Value};

/// Text is handed on in pieces of about this size.
const PIECE: usize = 256 << 10;
/// So many refs end a piece, too, whatever comes of them.
const VISITED: usize = 1 << 12;
/// And so many broken ones.
const BROKEN: usize = 1 << 10;
/// How many refs git follows, the one it starts from counted.
const MAX_DEPTH: usize = 5;

impl Tables {
    /// The walk whose text [`Self::write_text`] writes.
    #[must_use]
    pub fn select_text(&self) -> RefWalk {
        let prefix: &[u8] = if self.shows_deletions() { b"" } else { b"refs/" };
        self.select(&Selection { prefix, ..Selection::default() })
    }

    /// Appends the next refs of a walk to `text`, a piece at the most, and the names of broken ones to `broken`.
    /// Returns whether there may be more.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::model::Error::Corrupt) in the next record; what came before it has been appended.
    pub fn write_text(
        &self,
        walk: &mut RefWalk,
        text: &mut Vec<u8>,
        broken: &mut Vec<(Vec<u8>, Broken)>,
    ) -> Result<bool> {
        for _ in 0..VISITED {
            if text.len() >= PIECE || broken.len() >= BROKEN {
                break;
            }
            let Some(number) = self.next(walk)? else { return Ok(false) };
            let Some(cursor) = walk.cursor(number) else { return Ok(false) };
            let (batch, index, data) = (cursor.batch(), cursor.index(), cursor.table().data());
            let Some(record) = batch.get(index) else { return Ok(false) };
            let name = batch.name(index);
            if let Some(why) = batch.broken(index, data) {
                broken.push((name.to_vec(), why));
            } else if self.shows_deletions() {
                write_record(text, batch, record, data);
            } else {
                self.write_resolved(text, name, record.value(), data)?;
            }
        }
        Ok(true)
    }

    fn write_resolved(&self, text: &mut Vec<u8>, name: &[u8], value: Value, data: &[u8]) -> Result<()> {
        let bytes = |span| data.get(span).unwrap_or_default();
        let mut target = match value {
            Value::Symref(target) => bytes(target).to_vec(),
            value => {
                write_value(text, name, &value, data);
                return Ok(());
            }
        };
        for _ in 1..MAX_DEPTH {
            let Some(found) = self.find(&target)? else { return Ok(()) };
            let Some(file) = self.files().get(found.table) else { return Ok(()) };
            let data = file.table().data();
            match found.batch.get(found.index).map(RefRecord::value) {
                Some(Value::Symref(next)) => target = data.get(next).unwrap_or_default().to_vec(),
                Some(value) => {
                    write_value(text, name, &value, data);
                    return Ok(());
                }
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Appends the next log entries of a walk to `text`, a piece at the most. Returns whether there may be more.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::model::Error::Corrupt) in the next entry; what came before it has been appended.
    pub fn write_logs(&self, walk: &mut LogWalk, text: &mut Vec<u8>) -> Result<bool> {
        while text.len() < PIECE {
            let Some(number) = self.next_log(walk)? else { return Ok(false) };
            let Some(record) = walk.cursor(number).and_then(LogCursor::record) else { return Ok(false) };
            write_log(text, &record);
        }
        Ok(true)
    }
}

/// The lines of a direct ref: its value, and its peeled value.
fn write_value(text: &mut Vec<u8>, name: &[u8], value: &Value, data: &[u8]) {
    let bytes = |span: &crate::model::Span| data.get(span.clone()).unwrap_or_default();
    if let Value::Oid(oid) | Value::Peeled(oid, _) = value {
        write_line(text, hex::encode(bytes(oid)).as_bytes(), name, b"");
    }
    if let Value::Peeled(_, peeled) = value {
        write_line(text, hex::encode(bytes(peeled)).as_bytes(), name, b"^{}");
    }
}

fn write_record(text: &mut Vec<u8>, batch: &RefBatch, record: &RefRecord, data: &[u8]) {
    let name = batch.names().get(record.name()).unwrap_or_default();
    match record.value() {
        Value::Deletion => write_line(text, b"deleted", name, b""),
        Value::Symref(target) => {
            write_line(text, &[b"ref:", data.get(target).unwrap_or_default()].concat(), name, b"");
        }
        value => write_value(text, name, &value, data),
    }
}

fn write_log(text: &mut Vec<u8>, record: &LogRecord<'_>) {
    let Some(update) = record.update else {
        write_line(text, b"deleted", record.refname, format!(" {}", record.update_index).as_bytes());
        return;
    };
    LogItem::from(update).write(text, record.refname);
}

fn write_line(text: &mut Vec<u8>, value: &[u8], name: &[u8], suffix: &[u8]) {
    for part in [value, b" ", name, suffix, b"\n"] {
        text.extend_from_slice(part);
    }
}
