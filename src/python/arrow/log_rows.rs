//! Reflog entries, from one log, from all of a repository, or from tables, batch by batch.

use std::sync::Arc;
use std::vec::IntoIter;

use super::log_columns::{LogColumns, Place};
use crate::model::{Interrupt, Result};
use crate::reftable::LogCursor;
use crate::store::{Log, LogItem, LogWalk, Lookup, Query, Tables};

/// Entries between two looks at how large the batch has become.
const STRIDE: usize = 1 << 10;

/// A walk over reflog entries.
pub(super) enum LogRows {
    /// One log after the other, newest entry first: the one that is being read, and how many of its entries were.
    Names { lookup: Lookup, names: IntoIter<Vec<u8>>, open: Option<(Vec<u8>, Log, u64)> },
    /// One log, oldest entry first: how many entries are still to come.
    Oldest { refname: Vec<u8>, log: Log, left: u64 },
    /// Tables: refs in order, newest entry first; the ref whose log is being read, and how many of its entries were. Of a
    /// repository nobody is told which transaction wrote an entry: it could not be in files.
    Tables { tables: Arc<Tables>, walk: LogWalk, query: Query, refname: Vec<u8>, read: u64, tells_index: bool },
}

impl LogRows {
    /// The log of one ref.
    pub(super) fn of_log(lookup: Lookup, name: &[u8], is_reverse: bool, interrupt: Interrupt<'_>) -> Result<Self> {
        if is_reverse {
            return Ok(Self::Names { lookup, names: vec![name.to_vec()].into_iter(), open: None });
        }
        let mut log = lookup.log(name, false, interrupt)?;
        let left = log.count(interrupt)?;
        Ok(Self::Oldest { refname: name.to_vec(), log, left })
    }

    /// All logs of a repository whose refs the query lets pass, by name.
    pub(super) fn of_store(lookup: Lookup, query: Query, interrupt: Interrupt<'_>) -> Result<Self> {
        if let Some(tables) = lookup.only_tables(interrupt)? {
            return Ok(Self::in_tables(tables, query, false));
        }
        let mut names = lookup.log_names(interrupt)?;
        names.retain(|name| query.matches(name));
        Ok(Self::Names { lookup, names: names.into_iter(), open: None })
    }

    /// The logs in tables whose refs the query lets pass.
    pub(super) fn of_tables(tables: Arc<Tables>, query: Query) -> Self {
        Self::in_tables(tables, query, true)
    }

    fn in_tables(tables: Arc<Tables>, query: Query, tells_index: bool) -> Self {
        let walk = tables.logs(&query.prefix);
        Self::Tables { tables, walk, query, refname: Vec::new(), read: 0, tells_index }
    }

    /// Adds the next entries, until there are `most` rows in all, or the batch is large. Returns whether there may be more.
    pub(super) fn fill(
        &mut self,
        columns: &mut LogColumns,
        most: usize,
        repository: Option<&[u8]>,
        interrupt: Interrupt<'_>,
    ) -> Result<bool> {
        while columns.rows() < most && !columns.is_large() {
            let stride = most.min(columns.rows() + STRIDE);
            while columns.rows() < stride {
                if !self.push_next(columns, repository, interrupt)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn push_next(
        &mut self,
        columns: &mut LogColumns,
        repository: Option<&[u8]>,
        interrupt: Interrupt<'_>,
    ) -> Result<bool> {
        match self {
            Self::Oldest { refname, log, left } => {
                // What was appended since it was counted is left for the next time.
                let Some(index) = left.checked_sub(1) else { return Ok(false) };
                let Some(item) = log.next_entry(interrupt)? else { return Ok(false) };
                *left = index;
                columns.push(Place { refname, index, update_index: None }, Some(&item), repository);
            }
            Self::Names { lookup, names, open } => loop {
                if open.is_none() {
                    let Some(name) = names.next() else { return Ok(false) };
                    let log = lookup.log(&name, true, interrupt)?;
                    *open = Some((name, log, 0));
                }
                let Some((refname, log, read)) = open else { continue };
                if let Some(item) = log.next_entry(interrupt)? {
                    let index = *read;
                    *read += 1;
                    columns.push(Place { refname, index, update_index: None }, Some(&item), repository);
                    break;
                }
                *open = None;
            },
            Self::Tables { tables, walk, query, refname, read, tells_index } => loop {
                let Some(number) = tables.next_log_unless(walk, interrupt)? else { return Ok(false) };
                let Some(record) = walk.cursor(number).and_then(LogCursor::record) else { return Ok(false) };
                if refname != record.refname {
                    refname.clear();
                    refname.extend_from_slice(record.refname);
                    *read = 0;
                }
                if !query.is_by_seeks() && !query.passes(refname) {
                    continue;
                }
                let update_index = tells_index.then_some(record.update_index);
                let place = Place { refname, index: *read, update_index };
                *read += 1;
                columns.push(place, record.update.map(LogItem::from).as_ref(), repository);
                break;
            },
        }
        Ok(true)
    }
}
