//! Reflogs of a repository, in both formats.
//!
//! Git hides an entry of time 0 in a file, and shows one in a table; so do these.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use super::log_files::{self, LogFiles};
use super::log_item::{LogArena, LogItem};
use super::lookup::Lookup;
use super::ref_store::Refs;
use super::view::Kept;
use super::{LogWalk, Tables};
use crate::fs::{LineStep, Lines};
use crate::loose::LogLine;
use crate::model::{Error, HashKind, Interrupt, Place, Result, Scope};
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
    /// A file.
    Text { lines: Box<Lines>, path: PathBuf, hash: HashKind },
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

    /// The next entry. Interrupted, it can be asked again.
    ///
    /// # Errors
    /// [`Error::Corrupt`] in a table, [`Error::Io`], an interrupt.
    pub fn next_entry(&mut self, interrupt: Interrupt<'_>) -> Result<Option<LogItem<'_>>> {
        match &mut self.walk {
            Walk::None => Ok(None),
            Walk::Text { lines, path, hash } => {
                let (line, shape) = loop {
                    match lines.step().map_err(|source| Error::Io { path: path.clone(), source })? {
                        LineStep::Line(line) => {
                            let text = lines.bytes(line.clone());
                            if let Some(shape) = LogLine::parse(text, *hash).map(|parsed| parsed.shape(text)) {
                                break (line, shape);
                            }
                        }
                        LineStep::TooLong => {}
                        LineStep::Read if interrupt() => continue,
                        LineStep::Read => return Err(Error::Interrupted),
                        LineStep::End => return Ok(None),
                    }
                    self.skipped = self.skipped.saturating_add(1);
                    if self.skipped.is_multiple_of(BREATH as u64) && !interrupt() {
                        return Err(Error::Interrupted);
                    }
                };
                Ok(Some(shape.of(lines.bytes(line)).into()))
            }
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

    /// How many entries are still to come; they stay to come. Reads a file to its end.
    ///
    /// # Errors
    /// As [`Self::next_entry`].
    pub fn count(&mut self, interrupt: Interrupt<'_>) -> Result<u64> {
        if let Walk::Oldest(_, left) = &self.walk {
            return Ok(*left as u64);
        }
        let (skipped, rest) = match &self.walk {
            Walk::Text { lines, .. } => (self.skipped, lines.rest()),
            _ => return Ok(0),
        };
        let mut count = 0;
        while self.next_entry(interrupt)?.is_some() {
            count += 1;
        }
        self.skipped = skipped;
        if let Walk::Text { lines, .. } = &mut self.walk {
            lines.rewind(rest);
        }
        Ok(count)
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

    fn is_none(&self) -> bool {
        matches!(self.walk, Walk::None)
    }

    fn none() -> Self {
        Self { walk: Walk::None, skipped: 0 }
    }

    fn text(file: File, len: u64, is_reverse: bool, path: PathBuf, hash: HashKind) -> Self {
        let lines = Box::new(Lines::new(file, len, is_reverse));
        Self { walk: Walk::Text { lines, path, hash }, skipped: 0 }
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
            Self::Live(live) => live.ask(
                interrupt,
                |log: &Log| !log.is_none(),
                |store, interrupt| {
                    let location = &store.repository().location;
                    if let Some(tables) = store.tables_of(&place, interrupt)? {
                        location.check_head()?;
                        return Log::tables(tables, place.name, is_reverse, interrupt);
                    }
                    match store.refs() {
                        Refs::Files(_) => match log_files::open_log(location, name)? {
                            Some((file, len)) => {
                                let path = location.path_of_log(name).unwrap_or_default();
                                Ok(Log::text(file, len, is_reverse, path, location.hash()))
                            }
                            None => location.check_head().map(|()| Log::none()),
                        },
                        Refs::Tables { .. } => Ok(Log::none()),
                    }
                },
            ),
            Self::Frozen(view) => {
                view.refuse_other_worktrees(name)?;
                match view.kept() {
                    Kept::Files { logs: None, .. } => Ok(Log::none()),
                    Kept::Files { logs: Some(logs), .. } => {
                        let Some((file, len)) = logs.open(name)? else { return Ok(Log::none()) };
                        let location = view.repository().map(|repository| &repository.location);
                        let path = location.and_then(|location| location.path_of_log(name)).unwrap_or_default();
                        Ok(Log::text(file, len, is_reverse, path, view.hash().unwrap_or(HashKind::Sha1)))
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
            Self::Live(live) => live.ask(
                interrupt,
                |_| false,
                |store, interrupt| match store.refs() {
                    Refs::Files(_) => log_files::names(&store.repository().location),
                    Refs::Tables { .. } => Self::Frozen(store.snapshot(interrupt)?).log_names(interrupt),
                },
            ),
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
