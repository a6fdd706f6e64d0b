//! Reflogs of a repository, in both formats.
//!
//! Git hides an entry of time 0 in a file, and shows one in a table; so do these.

use std::sync::Arc;

use memchr::memchr;

use super::log_files::{self, LogFiles};
use super::log_item::{LogArena, LogItem};
use super::lookup::Lookup;
use super::ref_store::Refs;
use super::view::Kept;
use super::{LogWalk, Tables};
use crate::fs::Backing;
use crate::loose::{LogLine, last_line};
use crate::model::{Error, HashKind, Interrupt, Place, Result, Scope, Span};
use crate::reftable::LogCursor;

/// Entries that are read between two questions to an interrupt.
pub(super) const BREATH: usize = 1 << 14;

/// The entries of one ref's log, to be walked over once.
#[derive(Debug)]
pub struct Log {
    walk: Walk,
    skipped: u64,
}

#[derive(Debug)]
enum Walk {
    /// There is no log.
    None,
    /// A file: the part that is still to come, and from which of its ends.
    Text { bytes: Arc<Backing>, rest: Span, is_reverse: bool, hash: HashKind },
    /// Tables, newest first.
    Newest(Arc<Tables>, Box<LogWalk>),
    /// Tables, oldest first: the number of entries still to come.
    Oldest(LogArena, usize),
}

impl Log {
    /// How many malformed lines were passed over.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The next entry.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::model::Error::Corrupt) in a table.
    pub fn next_entry(&mut self) -> Result<Option<LogItem<'_>>> {
        match &mut self.walk {
            Walk::None => Ok(None),
            Walk::Text { bytes, rest, is_reverse, hash } => loop {
                let text = bytes.get(rest.clone()).unwrap_or_default();
                if text.is_empty() {
                    return Ok(None);
                }
                let line = if *is_reverse {
                    let start = rest.start.saturating_add(last_line(text));
                    let line = start..rest.end;
                    rest.end = start;
                    line
                } else {
                    let len = memchr(b'\n', text).map_or(text.len(), |lf| lf.saturating_add(1));
                    let line = rest.start..rest.start.saturating_add(len);
                    rest.start = line.end;
                    line
                };
                let line = bytes.get(line).unwrap_or_default();
                if let Some(line) = LogLine::parse(line, *hash) {
                    return Ok(Some(line.into()));
                }
                self.skipped = self.skipped.saturating_add(1);
            },
            Walk::Newest(tables, walk) => {
                let Some(number) = tables.next_log(walk)? else { return Ok(None) };
                let record = walk.cursor(number).and_then(LogCursor::record);
                Ok(record.and_then(|record| record.update).map(LogItem::from))
            }
            Walk::Oldest(arena, left) => match left.checked_sub(1) {
                Some(i) => {
                    *left = i;
                    Ok(arena.get(i))
                }
                None => Ok(None),
            },
        }
    }

    /// The same without entries of time 0, which are not in every format. Only oldest first.
    #[must_use]
    pub fn dated(mut self) -> Self {
        if let Walk::Oldest(arena, left) = &mut self.walk {
            arena.keep_dated();
            *left = arena.len();
        }
        self
    }

    fn none() -> Self {
        Self { walk: Walk::None, skipped: 0 }
    }

    fn text(bytes: Arc<Backing>, len: usize, is_reverse: bool, hash: HashKind) -> Self {
        Self { walk: Walk::Text { bytes, rest: 0..len, is_reverse, hash }, skipped: 0 }
    }

    fn tables(tables: Arc<Tables>, name: &[u8], is_reverse: bool, interrupt: Interrupt<'_>) -> Result<Self> {
        let mut walk = tables.log_of(name);
        if is_reverse {
            return Ok(Self { walk: Walk::Newest(tables, Box::new(walk)), skipped: 0 });
        }
        let mut arena = LogArena::default();
        while let Some(number) = tables.next_log(&mut walk)? {
            if let Some(record) = walk.cursor(number).and_then(LogCursor::record) {
                arena.push(&record);
            }
            if arena.len().is_multiple_of(BREATH) && !interrupt() {
                return Err(Error::Interrupted);
            }
        }
        let len = arena.len();
        Ok(Self { walk: Walk::Oldest(arena, len), skipped: 0 })
    }
}

impl Lookup {
    /// The log of a ref, oldest entry first or, reversed, newest first. A ref without a log has no entries.
    ///
    /// # Errors
    /// [`Error::Io`](crate::model::Error::Io), [`Error::Corrupt`](crate::model::Error::Corrupt), an interrupt.
    pub fn log(&self, name: &[u8], is_reverse: bool, interrupt: Interrupt<'_>) -> Result<Log> {
        let place = Place::of(name);
        match self {
            Self::Live(live) => live.ask(|store| {
                let location = &store.repository().location;
                if let Some(tables) = store.tables_of(&place, interrupt)? {
                    return Log::tables(tables, place.name, is_reverse, interrupt);
                }
                match store.refs() {
                    Refs::Files(_) => match log_files::open_log(location, name, interrupt)? {
                        Some(bytes) => {
                            let len = bytes.len();
                            Ok(Log::text(bytes, len, is_reverse, location.hash()))
                        }
                        None => location.check_head().map(|()| Log::none()),
                    },
                    Refs::Tables { .. } => Ok(Log::none()),
                }
            }),
            Self::Frozen(view) => {
                view.refuse_other_worktrees(name)?;
                match view.kept() {
                    Kept::Files { logs: None, .. } => Ok(Log::none()),
                    Kept::Files { logs: Some(logs), .. } => {
                        let Some((bytes, len)) = logs.open(name, interrupt)? else { return Ok(Log::none()) };
                        Ok(Log::text(bytes, len, is_reverse, view.hash().unwrap_or(HashKind::Sha1)))
                    }
                    Kept::Tables { own, shared } => {
                        let tables = own.as_ref().filter(|_| place.scope == Scope::Current).unwrap_or(shared);
                        Log::tables(tables.clone(), name, is_reverse, interrupt)
                    }
                }
            }
        }
    }

    /// The names of the refs that have a log, in order.
    ///
    /// # Errors
    /// As [`Self::log`].
    pub fn log_names(&self, interrupt: Interrupt<'_>) -> Result<Vec<Vec<u8>>> {
        match self {
            Self::Live(live) => live.ask(|store| match store.refs() {
                Refs::Files(_) => log_files::names(&store.repository().location),
                Refs::Tables { .. } => Self::Frozen(store.snapshot(interrupt)?).log_names(interrupt),
            }),
            Self::Frozen(view) => match view.kept() {
                Kept::Files { logs, .. } => Ok(logs.as_ref().map(LogFiles::names).unwrap_or_default()),
                Kept::Tables { own, shared } => {
                    let mut names = shared.log_names(interrupt)?;
                    if let Some(own) = own {
                        names.retain(|name| Place::of(name).scope != Scope::Current);
                        names.append(&mut own.log_names(interrupt)?);
                        names.sort_unstable();
                    }
                    Ok(names)
                }
            },
        }
    }
}
