//! The digest: one number for all refs, and logs, that is the same in both formats.
//!
//! ```text
//! text  = *ref [LF *log]                          SHA-256 of it, in hex
//! ref   = refname SP (oid | "ref:" target) LF     in byte order; root refs too, broken ones not
//! log   = refname SP line                         oldest first; line as in a files reflog; none of time 0
//! ```

use sha2::{Digest, Sha256};

use super::log_item::write_hex;
use super::lookup::Lookup;
use super::{Item, Query};
use crate::model::{Interrupt, Result, Value, is_pseudoref};

/// Text is hashed in pieces of about this size.
const PIECE: usize = 64 << 10;

/// What two sets of refs are compared by: everything that can be used as a ref.
pub(super) fn counts(item: Item<'_>) -> bool {
    item.value() != Value::Nothing && item.broken().is_none() && !is_pseudoref(item.name())
}

impl Lookup {
    /// The digest of all refs, with `logs` of all reflogs too.
    ///
    /// # Errors
    /// As [`Store::snapshot`](super::Store::snapshot) and [`Self::log`].
    pub fn digest(&self, logs: bool, interrupt: Interrupt<'_>) -> Result<String> {
        let query = Query::all(true);
        let view = if logs { self.snapshot(interrupt)? } else { self.view(&query, interrupt)? };
        let mut walk = view.walk(query)?;
        let mut hasher = Sha256::new();
        let mut text = Vec::with_capacity(PIECE.saturating_add(PIECE));
        while let Some(step) = walk.next(interrupt)? {
            let item = walk.item(&step);
            if counts(item) {
                text.extend_from_slice(item.name());
                text.push(b' ');
                match item.value() {
                    Value::Symref(target) => {
                        text.extend_from_slice(b"ref:");
                        text.extend_from_slice(target);
                    }
                    oid => write_hex(&mut text, oid),
                }
                text.push(b'\n');
                flush(&mut hasher, &mut text, PIECE);
            }
        }
        if logs {
            text.push(b'\n');
            let frozen = Self::Frozen(view);
            for name in frozen.log_names(interrupt)? {
                let mut log = frozen.log(&name, false, interrupt)?.dated();
                while let Some(entry) = log.next_entry()? {
                    entry.write(&mut text, &name);
                    flush(&mut hasher, &mut text, PIECE);
                }
            }
        }
        flush(&mut hasher, &mut text, 0);
        Ok(hex::encode(hasher.finalize()))
    }
}

fn flush(hasher: &mut Sha256, text: &mut Vec<u8>, least: usize) {
    if text.len() >= least {
        hasher.update(&text);
        text.clear();
    }
}
