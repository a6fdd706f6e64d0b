//! What a prepared transaction holds: the locks, and what a commit does with each ref.

use std::path::PathBuf;
use std::sync::Arc;

use super::Planned;
use super::fault;
use super::locking::LockedRefs;
use super::loose::Loose;
use super::packed::PackedRefs;
use crate::fs::{self, Temporary};
use crate::model::Edit;
use crate::packed::Plan;
use crate::store::location::Location;
use crate::store::view::Repository;

/// What holds the locks. Dropped, it gives everything back.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) repository: Arc<Repository>,
    /// Given back in this order.
    pub(super) refs: LockedRefs,
    pub(super) packed: PackedRefs,
    pub(super) plan: Option<Plan>,
    pub(super) process: u32,
}

/// What is done with the loose ref of one edit.
#[derive(Debug)]
pub(super) struct Update {
    /// The edit's number.
    pub(super) edit: usize,
    /// Where the loose ref is; `None` for a name that no path is built from.
    pub(super) path: Option<PathBuf>,
    pub(super) name: Vec<u8>,
    pub(super) lock: Option<Temporary>,
    pub(super) loose: Loose,
    pub(super) step: LooseStep,
}

/// What a commit does with a loose ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LooseStep {
    /// Nothing.
    Stay,
    /// Its lock takes its place.
    Publish,
    /// It is removed.
    Remove,
    /// The same, before packed-refs gets its new values: the one that it has is packed.
    Prune,
}

impl Update {
    /// That of an edit, which is not locked yet.
    pub(super) fn of(number: usize, edit: &Edit, location: &Location) -> Self {
        // A name that is no ref's is only removed from packed-refs.
        let path = if fault(edit, location).is_some() { None } else { location.path_of_ref(&edit.name) };
        let name = edit.name.clone();
        Self { edit: number, path, name, lock: None, loose: Loose::Absent, step: LooseStep::Stay }
    }
}

impl Prepared {
    pub(super) fn planned(&self) -> Planned {
        let mut planned = described(self.plan.as_ref());
        let locks = self.refs.updates.iter().filter_map(|update| update.lock.as_ref());
        planned.locks = locks.map(|lock| lock.path().to_owned()).collect();
        planned.locks.extend(self.packed.is_locked().then(|| self.packed.lock_path()));
        planned
    }
}

/// What a plan says, for who asks.
pub(super) fn described(plan: Option<&Plan>) -> Planned {
    let Some(plan) = plan else { return Planned::default() };
    let (mut kept, mut put) = (Vec::new(), Vec::new());
    for step in plan.steps() {
        match step {
            fs::Step::Keep(span) => kept.push(span),
            fs::Step::Put(text) => put.push(text.to_vec()),
        }
    }
    Planned { kept, put, traits: plan.traits().to_vec(), locks: Vec::new() }
}
