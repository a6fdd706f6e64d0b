//! The digest: one number for all refs, and logs, that is the same in both formats.
//!
//! ```text
//! text  = *ref [LF *log]                          SHA-256 of it, in hex
//! ref   = refname SP (oid | "ref:" target) LF     in byte order; root refs too, broken ones not
//! log   = refname SP line                         oldest first; line as in a files reflog; none of time 0
//! ```

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope, ScopedJoinHandle};

use sha2::{Digest, Sha256};

use super::log_item::write_hex;
use super::lookup::Lookup;
use super::{Item, Query};
use crate::model::{Interrupt, Result, Value, is_pseudoref};

/// Text is hashed in pieces of about this size; from the second on by a thread of its own.
const PIECE: usize = 256 << 10;
/// Pieces that may wait for it.
const WAITING: usize = 4;

/// What two sets of refs are compared by: everything that can be used as a ref.
pub(super) fn counts(item: Item<'_>) -> bool {
    item.value() != Value::Nothing && item.broken().is_none() && !is_pseudoref(item.name())
}

impl Lookup {
    /// The digest of all refs, with `logs` of all reflogs too.
    ///
    /// # Errors
    /// As [`Self::snapshot`] and [`Self::log`].
    pub fn digest(&self, logs: bool, interrupt: Interrupt<'_>) -> Result<String> {
        let query = Query::all(true);
        let view = if logs { self.snapshot(interrupt)? } else { self.view(&query, interrupt)? };
        let mut walk = view.walk(query)?;
        thread::scope(|scope| {
            let mut text = Text::new(scope);
            while let Some(step) = walk.next(interrupt)? {
                let item = walk.item(&step);
                if counts(item) {
                    write_ref(text.bytes(), item);
                }
            }
            if logs {
                text.bytes().push(b'\n');
                let frozen = Self::Frozen(view);
                for name in frozen.log_names(interrupt)? {
                    let mut log = frozen.log(&name, false, interrupt)?.dated();
                    while let Some(entry) = log.next_entry(interrupt)? {
                        entry.write(text.bytes(), &name);
                    }
                }
            }
            Ok(hex::encode(text.digest()))
        })
    }
}

fn write_ref(text: &mut Vec<u8>, item: Item<'_>) {
    text.extend_from_slice(item.name());
    text.push(b' ');
    match item.value() {
        Value::Symref(target) => {
            text.extend_from_slice(b"ref:");
            text.extend_from_slice(target);
        }
        oid => write_hex(text, oid),
    }
    text.push(b'\n');
}

/// Text that is hashed while it is written.
struct Text<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    bytes: Vec<u8>,
    hashed: Hashed<'scope>,
}

/// Who has hashed what was written before.
enum Hashed<'scope> {
    Here(Sha256),
    There { worker: ScopedJoinHandle<'scope, Sha256>, full: SyncSender<Vec<u8>>, empty: Receiver<Vec<u8>> },
}

impl<'scope, 'env> Text<'scope, 'env> {
    fn new(scope: &'scope Scope<'scope, 'env>) -> Self {
        Self { scope, bytes: Vec::new(), hashed: Hashed::Here(Sha256::new()) }
    }

    /// Where to append.
    #[inline]
    fn bytes(&mut self) -> &mut Vec<u8> {
        if self.bytes.len() >= PIECE {
            self.hand_on();
        }
        &mut self.bytes
    }

    #[cold]
    fn hand_on(&mut self) {
        if let Hashed::Here(hasher) = &mut self.hashed {
            hasher.update(&self.bytes);
            self.bytes.clear();
            if let Some(there) = spawn(self.scope, hasher) {
                self.hashed = there;
            }
            return;
        }
        if let Hashed::There { full, empty, .. } = &mut self.hashed {
            let next = empty.try_recv().unwrap_or_default();
            // It only ends when this end is dropped.
            let _ = full.send(std::mem::replace(&mut self.bytes, next));
        }
    }

    fn digest(self) -> Vec<u8> {
        let mut hasher = match self.hashed {
            Hashed::Here(hasher) => hasher,
            Hashed::There { worker, full, .. } => {
                drop(full);
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
        };
        hasher.update(&self.bytes);
        hasher.finalize().to_vec()
    }
}

/// A thread that goes on hashing; `None` if there is none to be had.
fn spawn<'scope>(scope: &'scope Scope<'scope, '_>, hasher: &Sha256) -> Option<Hashed<'scope>> {
    let (full, pieces) = sync_channel::<Vec<u8>>(WAITING);
    let (done, empty) = sync_channel(WAITING);
    let mut hasher = hasher.clone();
    let work = move || {
        for mut piece in pieces {
            hasher.update(&piece);
            piece.clear();
            // Where nobody wants it back in time, another one is made.
            let _ = done.try_send(piece);
        }
        hasher
    };
    let worker = thread::Builder::new().spawn_scoped(scope, work).ok()?;
    Some(Hashed::There { worker, full, empty })
}
