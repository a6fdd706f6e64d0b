//! What makes one set of refs another: one merge pass, in order of the names.
//!
//! What both have in the same bytes of packed-refs, or in the same tables, is not looked at ref by ref: the cost is that of
//! what changed. A packed-refs file that both share, and tables that both begin with, cannot differ; then only the
//! names in loose refs and in the other tables are looked up. Of two packed-refs files one is checked, and they are compared
//! as bytes up to the next difference.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::digest::counts;
use super::view::{Kept, View};
use super::walk::{Step, Walk};
use super::{Query, TableFile, Tables};
use crate::model::{Interrupt, RefValue, Result, Selection, Value, is_root_ref};

/// Fewer bytes are not worth passing over.
const LEAST_RUN: usize = 4 << 10;
/// Refs that are walked over, at the most, before it is tried again.
const LONGEST_PAUSE: usize = 1 << 10;

/// A ref that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its name.
    pub name: Vec<u8>,
    /// What the first side has.
    pub before: Option<RefValue>,
    /// What the second side has.
    pub after: Option<RefValue>,
}

/// The differences between two views, one after the other.
#[derive(Debug)]
pub struct Diff {
    sides: [Arc<View>; 2],
    pass: Pass,
}

#[derive(Debug)]
enum Pass {
    /// All refs of both.
    Merge(Box<Merge>),
    /// Only these names can differ.
    Names(VecDeque<Vec<u8>>),
}

#[derive(Debug)]
struct Merge {
    halves: [Half; 2],
    /// How many refs are walked over before it is tried again to pass over many at once, and how many after that: a try
    /// costs as much as some refs, and files that differ everywhere have no runs to pass over.
    wait: usize,
    pause: usize,
}

/// One side of a merge, and where it stands.
#[derive(Debug)]
struct Half {
    walk: Walk,
    at: Option<Step>,
    is_read: bool,
}

impl Diff {
    /// The differences from `before` to `after`. Without a repository on both sides, of what is below `refs/`.
    ///
    /// # Errors
    /// As [`View::walk`].
    pub fn new(before: Arc<View>, after: Arc<View>, interrupt: Interrupt<'_>) -> Result<Self> {
        let root_refs = before.repository().is_some() && after.repository().is_some();
        let query = Query::all(root_refs);
        check_order(&before, &after, interrupt)?;
        let pass = if let Some(names) = names_that_may_differ(&before, &after, root_refs, interrupt)? {
            Pass::Names(names.into_iter().collect())
        } else {
            let half = |view: &Arc<View>| Ok(Half { walk: view.walk(query.clone())?, at: None, is_read: false });
            Pass::Merge(Box::new(Merge { halves: [half(&before)?, half(&after)?], wait: 0, pause: 1 }))
        };
        Ok(Self { sides: [before, after], pass })
    }

    /// The next difference.
    ///
    /// # Errors
    /// [`Error::Corrupt`], an interrupt.
    pub fn next(&mut self, interrupt: Interrupt<'_>) -> Result<Option<Difference>> {
        match &mut self.pass {
            Pass::Names(names) => {
                while let Some(name) = names.front() {
                    let [before, after] = &self.sides;
                    let value = |view: &View| -> Result<Option<RefValue>> {
                        let entry = view.find_single(name)?.filter(|entry| counts(entry.item()));
                        Ok(entry.and_then(|entry| entry.item().value().to_owned()))
                    };
                    let (before, after) = (value(before)?, value(after)?);
                    let name = names.pop_front().unwrap_or_default();
                    if before != after {
                        return Ok(Some(Difference { name, before, after }));
                    }
                }
                Ok(None)
            }
            Pass::Merge(merge) => merge.next(interrupt),
        }
    }
}

impl Merge {
    fn next(&mut self, interrupt: Interrupt<'_>) -> Result<Option<Difference>> {
        let [a, b] = &mut self.halves;
        loop {
            if !a.is_read && !b.is_read {
                if self.wait > 0 {
                    self.wait -= 1;
                } else if pass_over_equals(&mut a.walk, &mut b.walk) {
                    self.pause = 1;
                } else {
                    self.wait = self.pause;
                    self.pause = LONGEST_PAUSE.min(self.pause * 2);
                }
            }
            a.read(interrupt)?;
            b.read(interrupt)?;
            let (left, right) =
                (a.at.as_ref().map(|step| a.walk.item(step)), b.at.as_ref().map(|step| b.walk.item(step)));
            let order = match (left, right) {
                (None, None) => return Ok(None),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(left), Some(right)) => left.name().cmp(right.name()),
            };
            a.is_read &= order.is_gt();
            b.is_read &= order.is_lt();
            let left = left.filter(|_| order.is_le());
            let right = right.filter(|_| order.is_ge());
            // Most refs are the same on both sides, whether they count or not.
            if let (Some(left), Some(right)) = (left, right)
                && left.value().is(right.value())
                && left.is_single()
                && right.is_single()
            {
                continue;
            }
            let (left, right) = (left.filter(|item| counts(*item)), right.filter(|item| counts(*item)));
            let (before, after) = (left.map(super::Item::value), right.map(super::Item::value));
            let differs = !before.unwrap_or(Value::Nothing).is(after.unwrap_or(Value::Nothing));
            let difference = differs.then(|| Difference {
                name: left.or(right).map(|item| item.name().to_vec()).unwrap_or_default(),
                before: before.and_then(Value::to_owned),
                after: after.and_then(Value::to_owned),
            });
            if difference.is_some() {
                return Ok(difference);
            }
        }
    }
}

impl Half {
    /// Goes to the next ref, if the one it stands on was compared.
    #[inline]
    fn read(&mut self, interrupt: Interrupt<'_>) -> Result<()> {
        if !self.is_read {
            self.at = self.walk.next(interrupt)?;
            self.is_read = true;
        }
        Ok(())
    }
}

/// Reads packed-refs files once, in full, in which names will be sought or equal runs passed over: a seek into one that is
/// falsely sorted would lead astray, and nobody would see it. What was read so before is not read again.
fn check_order(before: &View, after: &View, interrupt: Interrupt<'_>) -> Result<()> {
    if let (Kept::Files { packed: Some(a), loose: loose_a, .. }, Kept::Files { packed: Some(b), loose: loose_b, .. }) =
        (before.kept(), after.kept())
    {
        a.count(interrupt)?;
        // The equal runs of the other one are then sound, too; loose refs are sought in all of it.
        if !(loose_a.is_empty() && loose_b.is_empty()) {
            b.count(interrupt)?;
        }
    }
    Ok(())
}

/// Passes over the packed records that both have next, byte for byte. Returns whether there were many.
fn pass_over_equals(a: &mut Walk, b: &mut Walk) -> bool {
    let (Some(a), Some(b)) = (a.files(), b.files()) else { return false };
    let (Some((left, stretch)), Some((right, others))) = (a.run(), b.run()) else { return false };
    if left.snapshot().hash() != right.snapshot().hash() {
        return false;
    }
    let common = left.snapshot().common_records(&stretch, right.snapshot(), &others);
    // A few records are walked over sooner than passed.
    let is_worth_it = common > LEAST_RUN;
    if is_worth_it {
        a.land(stretch.start.saturating_add(common));
        b.land(others.start.saturating_add(common));
    }
    is_worth_it
}

/// The only names that can differ, where both views share most of what they were read from.
fn names_that_may_differ(
    before: &View,
    after: &View,
    root_refs: bool,
    interrupt: Interrupt<'_>,
) -> Result<Option<BTreeSet<Vec<u8>>>> {
    let mut names = BTreeSet::new();
    match (before.kept(), after.kept()) {
        (
            Kept::Files { roots: roots_a, loose: loose_a, packed: packed_a, .. },
            Kept::Files { roots: roots_b, loose: loose_b, packed: packed_b, .. },
        ) => {
            let is_shared = match (packed_a, packed_b) {
                (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                (None, None) => true,
                _ => false,
            };
            if !is_shared {
                return Ok(None);
            }
            for refs in [loose_a, loose_b] {
                names.extend((0..refs.len()).map(|i| refs.name(i).to_vec()));
            }
            for refs in [roots_a, roots_b].into_iter().filter(|_| root_refs) {
                names.extend((0..refs.len()).map(|i| refs.name(i).to_vec()));
            }
        }
        (Kept::Tables { own: own_a, shared: shared_a }, Kept::Tables { own: own_b, shared: shared_b }) => {
            let own = match (own_a, own_b) {
                (Some(a), Some(b)) => Some((a, b)),
                (None, None) => None,
                _ => return Ok(None),
            };
            for (a, b) in own.into_iter().chain([(shared_a, shared_b)]) {
                let Some(other) = Tables::not_shared(a, b) else { return Ok(None) };
                let mut walk = other.select(&Selection::default());
                while let Some(number) = other.next_unless(&mut walk, interrupt)? {
                    let Some(cursor) = walk.cursor(number) else { break };
                    let name = cursor.batch().name(cursor.index());
                    if name.starts_with(b"refs/") || (root_refs && is_root_ref(name)) {
                        names.insert(name.to_vec());
                    }
                }
            }
        }
        _ => return Ok(None),
    }
    Ok(Some(names))
}

impl Tables {
    /// The tables that only one of two stacks has, if both begin with the same ones and those are most of them: tombstones
    /// show, so that every name in them does.
    fn not_shared(a: &Self, b: &Self) -> Option<Self> {
        let (a, b) = (a.files(), b.files());
        let is_same = |(a, b): &(&Arc<TableFile>, &Arc<TableFile>)| Arc::ptr_eq(a, b) || a.is_same_file(b);
        let shared = a.iter().zip(b).take_while(is_same).count();
        let others: Vec<_> = a.iter().skip(shared).chain(b.iter().skip(shared)).cloned().collect();
        let size = |files: &[Arc<TableFile>]| -> usize { files.iter().map(|file| file.table().data().len()).sum() };
        let is_most = size(a.get(..shared).unwrap_or_default()) >= size(&others);
        (is_most || others.is_empty()).then(|| Self::unmerged(others))
    }
}
