//! Records as the lines that `git show-ref -d` prints.
//!
//! ```text
//! ref  = hex SP refname LF [ hex SP refname "^{}" LF ]      hex in lower case; the second line: the peeled value
//! ```

use super::{Cursor, Damage, Record, Snapshot};
use crate::model::{Broken, Span, is_well_formed};

/// Text is handed on in pieces of about this size.
const PIECE: usize = 256 << 10;
/// So many broken refs end a piece, too.
const BROKEN: usize = 1 << 10;

impl Snapshot {
    /// Appends the next records of a walk to `text`, a piece at the most, and those that are broken to `broken`.
    ///
    /// Broken or not, what git prints is written out: it has no line for an ill-formed name or a zero object id.
    /// Returns whether there may be more.
    ///
    /// # Errors
    /// [`Damage`] in the next record; what came before it has been appended.
    pub fn write_text(
        &self,
        cursor: &mut Cursor,
        text: &mut Vec<u8>,
        broken: &mut Vec<(Record, Broken)>,
    ) -> Result<bool, Damage> {
        while text.len() < PIECE && broken.len() < BROKEN {
            let Some(record) = self.next(cursor)? else { return Ok(false) };
            broken.extend(self.broken(&record).map(|why| (record, why)));
            if is_well_formed(self.bytes(record.name())) && !self.is_zero(record.oid()) {
                self.write_line(text, record.oid(), record.name(), b"");
                if let Some(peeled) = self.peeled(&record) {
                    self.write_line(text, peeled, record.name(), b"^{}");
                }
            }
        }
        Ok(true)
    }

    fn write_line(&self, text: &mut Vec<u8>, hex: Span, name: Span, suffix: &[u8]) {
        text.extend(self.bytes(hex).iter().map(u8::to_ascii_lowercase));
        text.push(b' ');
        text.extend_from_slice(self.bytes(name));
        text.extend_from_slice(suffix);
        text.push(b'\n');
    }
}
