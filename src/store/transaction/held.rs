//! What a prepared transaction holds: the locks, and what a commit does with each ref.

use std::path::PathBuf;
use std::sync::Arc;

use super::Planned;
use super::loose::{LockId, Loose, RefLocks};
use super::packed::PackedRefs;
use crate::fs;
use crate::packed::Plan;
use crate::store::view::Repository;

/// What holds the locks. Dropped, it gives everything back.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) repository: Arc<Repository>,
    /// In order of name.
    pub(super) updates: Vec<Update>,
    /// Given back in this order.
    pub(super) locks: RefLocks,
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
    pub(super) lock: Option<LockId>,
    pub(super) loose: Loose,
    pub(super) step: LooseStep,
}

/// What a commit does with a loose ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LooseStep {
    /// Nothing.
    Stay,
    /// Its lock takes its place.
    Publish(LockId),
    /// It is removed.
    Remove,
}

impl Prepared {
    pub(super) fn process(&self) -> u32 {
        self.process
    }

    pub(super) fn planned(&self) -> Planned {
        let mut planned = described(self.plan.as_ref());
        planned.locks = self.locks.paths().map(PathBuf::from).collect();
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
