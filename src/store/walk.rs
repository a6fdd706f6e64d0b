//! A walk over a view's refs, in byte order of their names, each name once: root refs, then those below `refs/`.
//!
//! Loose refs are merged on packed ones and win; a linked worktree's tables are merged with those of all worktrees, which
//! have other names.

use std::sync::Arc;
use std::vec::IntoIter;

use super::files_walk::FilesWalk;
use super::view::{Kept, View};
use super::{Entry, Found, Item, LooseRefs, Query, RefWalk, Tables};
use crate::model::{Error, Interrupt, OWN_NAMESPACES, Result, Selection, is_root_ref};
use crate::packed::Record;
use crate::reftable::RefCursor;

/// Refs between two questions to an interrupt: a power of two.
const BREATH: u32 = 1 << 16;

/// Where a walk stands.
#[derive(Debug)]
pub struct Walk {
    view: Arc<View>,
    query: Query,
    roots: IntoIter<Entry>,
    below: Below,
    steps: u32,
    /// Whether root refs are done with, and all others are wanted.
    is_plain: bool,
}

/// What a walk came to.
#[derive(Debug)]
pub enum Step {
    /// A ref outside `refs/`.
    Root(Entry),
    /// A packed ref; whether its name stands in another record too.
    Packed(Record, bool),
    /// A loose ref.
    Loose(usize),
    /// A record of a table, on which the walk's cursor stands.
    Table {
        /// The number of the tables: see [`Walk::tables`].
        side: usize,
        /// The number of the table among them.
        number: usize,
    },
}

#[derive(Debug)]
enum Below {
    Files(FilesWalk),
    Tables(Vec<Side>),
}

impl Walk {
    pub(super) fn new(view: Arc<View>, query: Query) -> Result<Self> {
        let roots = if query.root_refs { roots(&view, &query)? } else { Vec::new() };
        let prefix = query.refs_prefix().map(<[u8]>::to_vec);
        let below = match view.kept() {
            Kept::Files { loose, packed, .. } => {
                let packed = packed.clone().filter(|_| prefix.is_some());
                Below::Files(FilesWalk::new(loose.clone(), packed, &query)?)
            }
            Kept::Tables { own, shared } => {
                let side = |tables: &Arc<Tables>, hidden: &[&[u8]]| {
                    let mut exclude: Vec<&[u8]> = query.exclude.iter().map(Vec::as_slice).collect();
                    exclude.extend(hidden);
                    let prefix = prefix.as_deref()?;
                    let start_after = query.start_after.as_deref();
                    if prefix == b"refs/" && start_after.is_none() && query.exclude.is_empty() {
                        tables.expect_scan(true);
                    }
                    let walk = tables.select(&Selection { prefix, start_after, exclude: &exclude });
                    Some(Side { tables: tables.clone(), walk, at: At::Behind })
                };
                let hidden: &[&[u8]] = if own.is_some() { &OWN_NAMESPACES } else { &[] };
                let sides = [side(shared, hidden), own.as_ref().and_then(|own| side(own, &[]))];
                Below::Tables(sides.into_iter().flatten().collect())
            }
        };
        Ok(Self { view, query, roots: roots.into_iter(), below, steps: 0, is_plain: false })
    }

    /// What it walks over.
    #[must_use]
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// The tables of that side.
    #[must_use]
    pub fn tables(&self, side: usize) -> Option<&Arc<Tables>> {
        match &self.below {
            Below::Tables(sides) => sides.get(side).map(|side| &side.tables),
            Below::Files(_) => None,
        }
    }

    /// The cursor that stands on a table's record.
    #[must_use]
    pub fn cursor(&self, side: usize, number: usize) -> Option<&RefCursor> {
        match &self.below {
            Below::Tables(sides) => sides.get(side)?.walk.cursor(number),
            Below::Files(_) => None,
        }
    }

    /// The next ref.
    ///
    /// # Errors
    /// [`Error::Corrupt`]; asked again, it says the same again. [`Error::Interrupted`].
    #[inline]
    pub fn next(&mut self, interrupt: Interrupt<'_>) -> Result<Option<Step>> {
        if let Some((record, is_duplicate)) = self.next_packed() {
            return Ok(Some(Step::Packed(record, is_duplicate)));
        }
        self.steps = self.steps.wrapping_add(1);
        self.next_of_any(interrupt)
    }

    /// The next ref if it is a packed one, which most are, and nothing else comes into question; whether its name stands in
    /// another record too. `None` does not mean the end.
    #[inline(always)]
    pub fn next_packed(&mut self) -> Option<(Record, bool)> {
        let Below::Files(files) = &mut self.below else { return None };
        if !self.is_plain || self.steps.wrapping_add(1).is_multiple_of(BREATH) {
            return None;
        }
        let next = files.next_plain()?;
        self.steps = self.steps.wrapping_add(1);
        Some(next)
    }

    #[inline(never)]
    fn next_of_any(&mut self, interrupt: Interrupt<'_>) -> Result<Option<Step>> {
        if let Some(root) = self.roots.next() {
            return Ok(Some(Step::Root(root)));
        }
        self.is_plain = self.query.is_by_seeks();
        loop {
            if self.steps.is_multiple_of(BREATH) && !interrupt() {
                return Err(Error::Interrupted);
            }
            let step = match &mut self.below {
                Below::Files(files) => files.next(&self.query)?,
                Below::Tables(sides) => next_of(sides, interrupt)?,
            };
            let Some(step) = step else { return Ok(None) };
            if self.query.is_by_seeks() || self.query.passes(self.item(&step).name()) {
                return Ok(Some(step));
            }
            self.steps = self.steps.wrapping_add(1);
        }
    }

    /// What it came to, borrowed.
    #[inline]
    #[must_use]
    pub fn item<'a>(&'a self, step: &'a Step) -> Item<'a> {
        match (step, &self.below) {
            (Step::Root(entry), _) => entry.item(),
            (Step::Packed(record, is_duplicate), Below::Files(files)) => match files.packed() {
                Some(packed) => Item::Packed(packed.snapshot(), *record, *is_duplicate),
                None => Item::Loose(LooseRefs::none(), 0),
            },
            (Step::Loose(i), Below::Files(files)) => Item::Loose(files.loose(), *i),
            (Step::Table { side, number }, _) => match self.cursor(*side, *number) {
                Some(cursor) => Item::Table(cursor.batch(), cursor.index(), cursor.table().data()),
                None => Item::Loose(LooseRefs::none(), 0),
            },
            _ => Item::Loose(LooseRefs::none(), 0),
        }
    }

    /// What it came to, to keep.
    #[must_use]
    pub fn entry(&self, step: Step) -> Option<Entry> {
        match (step, &self.below) {
            (Step::Root(entry), _) => Some(entry),
            (Step::Packed(record, _), Below::Files(files)) => Some(Entry::Packed(files.packed()?.clone(), record)),
            (Step::Loose(i), Below::Files(files)) => Some(Entry::Loose(files.loose().clone(), i)),
            (Step::Table { side, number }, Below::Tables(_)) => {
                let cursor = self.cursor(side, number)?;
                let found = Found { table: number, batch: cursor.batch().clone(), index: cursor.index() };
                Some(Entry::Table(self.tables(side)?.clone(), found))
            }
            _ => None,
        }
    }

    /// The part below `refs/`, if that comes next and is in files.
    pub(super) fn files(&mut self) -> Option<&mut FilesWalk> {
        match &mut self.below {
            Below::Files(files) if self.roots.as_slice().is_empty() => Some(files),
            _ => None,
        }
    }
}

/// The root refs of a view that a query selects.
fn roots(view: &Arc<View>, query: &Query) -> Result<Vec<Entry>> {
    let mut found = Vec::new();
    match view.kept() {
        Kept::Files { roots, .. } => {
            let wanted = (0..roots.len()).filter(|&i| query.matches(roots.name(i)));
            found.extend(wanted.map(|i| Entry::Loose(roots.clone(), i)));
        }
        Kept::Tables { own, shared } => {
            let tables = own.as_ref().unwrap_or(shared);
            let mut walk = tables.select(&Selection::default());
            while let Some(number) = tables.next(&mut walk)? {
                let Some(cursor) = walk.cursor(number) else { break };
                let name = cursor.batch().name(cursor.index());
                if name >= &b"refs/"[..] {
                    break;
                }
                if is_root_ref(name) && query.matches(name) {
                    let place = Found { table: number, batch: cursor.batch().clone(), index: cursor.index() };
                    found.push(Entry::Table(tables.clone(), place));
                }
            }
        }
    }
    Ok(found)
}

/// A walk over some tables.
#[derive(Debug)]
struct Side {
    tables: Arc<Tables>,
    walk: RefWalk,
    at: At,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// On a record that was handed out, or in front of the first.
    Behind,
    /// On a record of that table.
    On(usize),
    End,
}

fn next_of(sides: &mut [Side], interrupt: Interrupt<'_>) -> Result<Option<Step>> {
    if let [side] = sides {
        let number = side.tables.next_unless(&mut side.walk, interrupt)?;
        return Ok(number.map(|number| Step::Table { side: 0, number }));
    }
    for side in &mut *sides {
        if side.at == At::Behind {
            side.at = side.tables.next_unless(&mut side.walk, interrupt)?.map_or(At::End, At::On);
        }
    }
    let mut least: Option<(usize, usize, &[u8])> = None;
    for (i, side) in sides.iter().enumerate() {
        let At::On(number) = side.at else { continue };
        let Some(cursor) = side.walk.cursor(number) else { continue };
        let name = cursor.batch().name(cursor.index());
        if least.is_none_or(|(.., other)| name < other) {
            least = Some((i, number, name));
        }
    }
    let Some((side, number, _)) = least else { return Ok(None) };
    if let Some(side) = sides.get_mut(side) {
        side.at = At::Behind;
    }
    Ok(Some(Step::Table { side, number }))
}
