//! One entry of a reflog, whichever format it was read from.

use crate::loose::LogLine;
use crate::model::{Span, Value, spell};
use crate::reftable::{LogRecord, LogUpdate};

/// What an entry says, borrowed from where it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogItem<'a> {
    /// The object id before.
    pub old: Value<'a>,
    /// The object id after.
    pub new: Value<'a>,
    /// The committer's name.
    pub name: &'a [u8],
    /// The committer's address.
    pub email: &'a [u8],
    /// Seconds since 1970.
    pub time: u64,
    /// The committer's zone as the decimal number HHMM.
    pub tz: i16,
    /// The message, without its LF.
    pub message: &'a [u8],
}

impl<'a> From<LogLine<'a>> for LogItem<'a> {
    fn from(line: LogLine<'a>) -> Self {
        let LogLine { old, new, name, email, time, tz, message } = line;
        Self { old: Value::Hex(old), new: Value::Hex(new), name, email, time, tz, message }
    }
}

impl<'a> From<LogUpdate<'a>> for LogItem<'a> {
    fn from(update: LogUpdate<'a>) -> Self {
        let LogUpdate { old, new, name, email, time, tz, message } = update;
        let message = message.strip_suffix(b"\n").unwrap_or(message);
        Self { old: Value::Raw(old), new: Value::Raw(new), name, email, time, tz, message }
    }
}

impl LogItem<'_> {
    /// Appends the entry as a line of a files reflog, with the refname and a space in front.
    pub fn write(&self, text: &mut Vec<u8>, refname: &[u8]) {
        let line = text.len();
        text.extend_from_slice(refname);
        text.push(b' ');
        for oid in [self.old, self.new] {
            write_hex(text, oid);
            text.push(b' ');
        }
        text.extend_from_slice(self.name);
        text.extend_from_slice(b" <");
        text.extend_from_slice(self.email);
        text.extend_from_slice(format!("> {} {:+05}", self.time, self.tz).as_bytes());
        if !self.message.is_empty() {
            text.push(b'\t');
            text.extend_from_slice(self.message);
        }
        // A LF within a field would make up lines of its own.
        text.iter_mut().skip(line).filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        text.push(b'\n');
    }

    /// The entry as a line of a files reflog, without its LF.
    #[must_use]
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.write(&mut text, b"");
        // The space behind no refname, and the LF.
        text.pop();
        text.remove(0);
        text
    }

    /// Whether both say the same, however their object ids are spelled.
    #[must_use]
    pub fn is(&self, other: &LogItem<'_>) -> bool {
        self.old.is(other.old)
            && self.new.is(other.new)
            && (self.name, self.email, self.message) == (other.name, other.email, other.message)
            && (self.time, self.tz) == (other.time, other.tz)
    }
}

/// Appends an object id as lower-case hex digits.
pub(super) fn write_hex(text: &mut Vec<u8>, oid: Value<'_>) {
    match oid {
        // Of known width the compiler makes whole-vector operations of it.
        Value::Hex(digits) => match digits.try_into() {
            Ok(digits) => text.extend_from_slice(&<[u8; 40]>::map(digits, |digit| digit.to_ascii_lowercase())),
            Err(_) => text.extend(digits.iter().map(u8::to_ascii_lowercase)),
        },
        Value::Raw(bytes) => text.extend_from_slice(spell(bytes, &mut [0; 64]).unwrap_or_default()),
        Value::Symref(_) | Value::Nothing => {}
    }
}

/// Entries read from tables, kept in one arena.
#[derive(Debug, Default)]
pub(super) struct LogArena {
    bytes: Vec<u8>,
    entries: Vec<Kept>,
}

#[derive(Debug)]
struct Kept {
    /// Old and new object id, name, address and message end here, one after the other.
    ends: [usize; 5],
    start: usize,
    time: u64,
    tz: i16,
}

impl LogArena {
    pub(super) fn push(&mut self, record: &LogRecord<'_>) {
        let Some(update) = record.update else { return };
        let start = self.bytes.len();
        let fields = [update.old, update.new, update.name, update.email, update.message];
        let ends = fields.map(|field| {
            self.bytes.extend_from_slice(field);
            self.bytes.len()
        });
        self.entries.push(Kept { ends, start, time: update.time, tz: update.tz });
    }

    pub(super) fn keep_dated(&mut self) {
        self.entries.retain(|entry| entry.time != 0);
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, i: usize) -> Option<LogItem<'_>> {
        let Kept { ends: [old, new, name, email, message], start, time, tz } = *self.entries.get(i)?;
        let field = |span: Span| self.bytes.get(span).unwrap_or_default();
        Some(LogItem::from(LogUpdate {
            old: field(start..old),
            new: field(old..new),
            name: field(new..name),
            email: field(name..email),
            time,
            tz,
            message: field(email..message),
        }))
    }
}
