//! A walk over a view's refs, in byte order of their names, each name once: root refs and those below `refs/`.
//!
//! What else packed-refs or a table holds can be no ref of git's. If its name is unsafe, it is shown as broken; other names
//! (`foo`) are just not listed.
//!
//! Loose refs are merged on packed ones and win; a linked worktree's tables are merged with those of all worktrees, which
//! have other names.

use std::sync::Arc;
use std::vec::IntoIter;

use super::files_walk::FilesWalk;
use super::view::{Kept, View};
use super::{Entry, Found, Item, LooseRefs, PackedFile, Query, RefWalk, Tables};
use crate::model::{Error, Fault, Interrupt, OWN_NAMESPACES, Place, Result, Scope, Selection, is_root_ref};
use crate::packed::Record;
use crate::reftable::RefCursor;

/// Refs between two questions to an interrupt: a power of two.
const BREATH: u32 = 1 << 16;

/// Where a walk stands.
#[derive(Debug)]
pub struct Walk {
    view: Arc<View>,
    query: Query,
    /// What comes before and behind the refs below `refs/`.
    front: IntoIter<Entry>,
    back: IntoIter<Entry>,
    below: Below,
    steps: u32,
    /// Whether root refs are done with, and all others are wanted.
    is_plain: bool,
}

/// What a walk came to.
#[derive(Debug)]
pub enum Step {
    /// A ref outside `refs/`.
    Outside(Entry),
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
#[expect(clippy::large_enum_variant, reason = "there is one a walk, and every step looks into it")]
enum Below {
    Files(FilesWalk),
    Tables(Vec<Side>),
}

impl Walk {
    pub(super) fn new(view: Arc<View>, query: Query) -> Result<Self> {
        let (front, back) = outside(&view, &query)?;
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
        Ok(Self { view, query, front: front.into_iter(), back: back.into_iter(), below, steps: 0, is_plain: false })
    }

    /// This walk as several, one after the other, of about so many bytes each of the file that holds most of it. Where one
    /// ends the next one must begin: see [`Self::place`].
    #[must_use]
    pub fn split(mut self, bytes: usize) -> Vec<Self> {
        let below = match self.below {
            Below::Files(files) => files.split(&self.query, bytes).into_iter().map(Below::Files).collect(),
            Below::Tables(sides) => split_sides(sides, &self.query, bytes),
        };
        let last = below.len().saturating_sub(1);
        let mut parts = Vec::with_capacity(below.len());
        for (i, below) in below.into_iter().enumerate() {
            let front = if i == 0 { std::mem::take(&mut self.front) } else { IntoIter::default() };
            let back = if i == last { std::mem::take(&mut self.back) } else { IntoIter::default() };
            let (view, query) = (self.view.clone(), self.query.clone());
            parts.push(Self { view, query, front, back, below, steps: 0, is_plain: false });
        }
        parts
    }

    /// Goes to where it begins, if it has not begun: [`Self::place`] then tells where that is.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn begin(&mut self) -> Result<()> {
        match &mut self.below {
            Below::Tables(sides) => sides.iter_mut().try_for_each(|side| side.tables.begin(&mut side.walk)),
            Below::Files(_) => Ok(()),
        }
    }

    /// Where it stands in the tables of each side: see [`Tables::check_joint`].
    #[must_use]
    pub fn place(&self) -> Vec<Option<usize>> {
        match &self.below {
            Below::Tables(sides) => sides.iter().flat_map(|side| side.walk.place()).collect(),
            Below::Files(_) => Vec::new(),
        }
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
        if self.is_plain
            && !self.steps.is_multiple_of(BREATH)
            && let Below::Tables(sides) = &mut self.below
            && let [side] = &mut sides[..]
            && let Some(number) = side.tables.next_unless(&mut side.walk, interrupt)?
        {
            return Ok(Some(Step::Table { side: 0, number }));
        }
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
        if let Some(entry) = self.front.next() {
            return Ok(Some(Step::Outside(entry)));
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
            let Some(step) = step else { return Ok(self.back.next().map(Step::Outside)) };
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
            (Step::Outside(entry), _) => entry.item(),
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
            (Step::Outside(entry), _) => Some(entry),
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

    /// What it reads below `refs/`, where that is files: loose refs and packed ones.
    #[must_use]
    pub fn in_files(&self) -> Option<(&Arc<LooseRefs>, Option<&Arc<PackedFile>>)> {
        match &self.below {
            Below::Files(files) => Some((files.loose(), files.packed())),
            Below::Tables(_) => None,
        }
    }

    /// The part below `refs/`, if that comes next, all of it is wanted, and it is in one stack.
    pub fn stack(&mut self) -> Option<(&Tables, &mut RefWalk)> {
        match &mut self.below {
            Below::Tables(sides) if self.front.as_slice().is_empty() && self.query.is_by_seeks() => {
                match &mut sides[..] {
                    [side] => Some((&side.tables, &mut side.walk)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The part below `refs/`, if that comes next and is in files.
    pub(super) fn files(&mut self) -> Option<&mut FilesWalk> {
        match &mut self.below {
            Below::Files(files) if self.front.as_slice().is_empty() => Some(files),
            _ => None,
        }
    }
}

/// What a query selects outside `refs/`: before it, root refs and unsafe names; behind it, unsafe names.
fn outside(view: &Arc<View>, query: &Query) -> Result<(Vec<Entry>, Vec<Entry>)> {
    const REFS: &[u8] = b"refs/";
    let (mut front, mut back) = (Vec::new(), Vec::new());
    let is_wanted = |name: &[u8]| {
        let is_root = query.root_refs && is_root_ref(name);
        (is_root || Fault::of(name) == Some(Fault::UnsafeName)) && query.matches(name)
    };
    // Where names behind `refs/` begin, but for those below it that only look so.
    let behind = Selection { start_after: Some(b"refs/\xff"), ..Selection::default() };
    match view.kept() {
        Kept::Files { roots, packed, .. } => {
            let wanted = (0..roots.len()).filter(|&i| is_wanted(roots.name(i)));
            front.extend(wanted.map(|i| Entry::Loose(roots.clone(), i)));
            let Some(packed) = packed.as_ref().filter(|_| !query.prefix.starts_with(REFS)) else {
                return Ok((front, back));
            };
            for (selection, found) in [(Selection::default(), &mut front), (behind, &mut back)] {
                let mut cursor = packed.snapshot().select(selection).map_err(|damage| packed.damaged(damage))?;
                while let Some(record) = packed.next(&mut cursor)? {
                    let name = packed.snapshot().bytes(record.name());
                    if selection.start_after.is_none() && name >= REFS {
                        break;
                    }
                    if is_wanted(name) && !name.starts_with(REFS) && !is_root_ref(name) {
                        found.push(Entry::Packed(packed.clone(), record));
                    }
                }
            }
        }
        Kept::Tables { own, shared } => {
            let tables = own.as_ref().unwrap_or(shared);
            if query.prefix.starts_with(REFS) {
                return Ok((front, back));
            }
            for (selection, found) in [(Selection::default(), &mut front), (behind, &mut back)] {
                let mut walk = tables.select(&selection);
                while let Some(number) = tables.next(&mut walk)? {
                    let Some(cursor) = walk.cursor(number) else { break };
                    let name = cursor.batch().name(cursor.index());
                    if selection.start_after.is_none() && name >= REFS {
                        break;
                    }
                    if is_wanted(name) && !name.starts_with(REFS) {
                        let place = Found { table: number, batch: cursor.batch().clone(), index: cursor.index() };
                        found.push(Entry::Table(tables.clone(), place));
                    }
                }
            }
        }
    }
    front.sort_by(|a, b| a.item().name().cmp(b.item().name()));
    Ok((front, back))
}

/// A walk over one stack as several; over two it stays one.
fn split_sides(sides: Vec<Side>, query: &Query, bytes: usize) -> Vec<Below> {
    let ([side], true) = (&sides[..], query.start_after.is_none() && query.exclude.is_empty()) else {
        return vec![Below::Tables(sides)];
    };
    let prefix = query.refs_prefix().unwrap_or_default();
    let walks = side.tables.select_parts(&Selection { prefix, ..Selection::default() }, bytes);
    let side = |walk| Below::Tables(vec![Side { tables: side.tables.clone(), walk, at: At::Behind }]);
    walks.into_iter().map(side).collect()
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
    for (i, side) in sides.iter_mut().enumerate() {
        while side.at == At::Behind {
            side.at = side.tables.next_unless(&mut side.walk, interrupt)?.map_or(At::End, At::On);
            // A worktree's own tables have nothing to say of the refs of all.
            if let (1, At::On(number)) = (i, side.at)
                && let Some(cursor) = side.walk.cursor(number)
                && Place::of(cursor.batch().name(cursor.index())).scope != Scope::Current
            {
                side.at = At::Behind;
            }
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
