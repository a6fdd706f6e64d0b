//! Preparing: everything that can fail is done here, in git's order.
//!
//! ```text
//! refuse what is not supported              no lock is held yet
//! check new values against the objects
//! for each ref, in order of name:           lock it, read its loose value under the lock
//! packed-refs.lock, if a packed record goes or is to be written
//! look all names up in packed-refs
//! for each edit, in the order given:        compare, names in each other's way
//! packed-refs.new
//! ```

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::held::{Prepared, Update, described};
use super::locking::{LockedRefs, Locking};
use super::loose::Loose;
use super::packed::PackedRefs;
use super::refuse::refuse_repository;
use super::{Durability, Options, Placement, Planned, fault};
use crate::model::{Edit, Error, Interrupt, Place, Result, Scope, Verb};
use crate::packed::{Base, Locator, Site};
use crate::store::Store;
use crate::store::location::Location;
use crate::store::view::Repository;

/// Edits between two questions to the interrupt.
const BREATH: usize = 1 << 10;

/// Edits by name; no two of the same.
fn sorted(edits: &[Edit]) -> Result<Vec<usize>> {
    let name = |number: &usize| edits.get(*number).map(|edit| &edit.name[..]).unwrap_or_default();
    let mut order: Vec<_> = (0..edits.len()).collect();
    order.sort_by(|a, b| name(a).cmp(name(b)));
    match order.iter().zip(order.iter().skip(1)).find(|(a, b)| name(a) == name(b)) {
        None => Ok(order),
        Some((same, _)) => Err(Error::State(format!("{} is edited twice", name(same).escape_ascii()))),
    }
}

/// Refuses to edit one ref by two names: `HEAD` and `main-worktree/HEAD` are one file in the main worktree.
fn refuse_second_name(edits: &[Edit], location: &Location) -> Result<()> {
    let is_own = |edit: &&Edit| Place::of(&edit.name).scope != Scope::Shared;
    let mut paths = HashSet::new();
    for edit in edits.iter().filter(is_own) {
        if location.path_of_ref(&edit.name).is_some_and(|path| !paths.insert(path)) {
            return Err(Error::State(format!("{} is edited twice", edit.name.escape_ascii())));
        }
    }
    Ok(())
}

/// What a commit would do if every edit was made, as things are now.
pub(super) fn plan(store: &Store, edits: &[Edit], options: &Options, interrupt: Interrupt<'_>) -> Result<Planned> {
    let mut work = Work::new(store, edits, options, interrupt)?;
    let (base, _) = work.held.packed.open(store.repository().location.hash(), work.interrupt)?;
    let (sites, mut buffer) = (work.sites(&base)?, Vec::new());
    for number in work.order.clone() {
        let mut update = Update::of(number, work.edit(number), &work.repository.location);
        if let Some(path) = &update.path {
            update.loose = Loose::read(path, work.repository.location.hash(), &mut buffer)?;
        }
        update.step = work.loose_step(&update, &sites[number]);
        work.held.refs.updates.push(update);
    }
    let is_rewritten = work.is_rewritten(&sites);
    let plan = if is_rewritten { Some(work.plan(&base, &sites)?) } else { None };
    let mut planned = described(plan.as_ref());
    let paths = work.held.refs.updates.iter().filter_map(|update| update.path.as_deref());
    planned.locks = paths.map(super::loose::lock_path).collect();
    planned.locks.extend(work.takes_packed_lock().then(|| work.held.packed.lock_path()));
    Ok(planned)
}

/// Does all that is told above; also returns the edits that are rejected, if those do not stop the others.
pub(super) fn prepare(
    store: &Store,
    edits: &[Edit],
    options: &Options,
    interrupt: Interrupt<'_>,
) -> Result<(Prepared, Vec<(usize, Error)>)> {
    let mut work = Work::new(store, edits, options, interrupt)?;
    work.refuse()?;
    work.check_values()?;
    work.reject_case_conflicts();
    work.lock_refs()?;
    let takes_packed_lock = work.takes_packed_lock();
    if takes_packed_lock {
        let patience = options.patience.unwrap_or(work.repository.location.config.write.packed_patience);
        work.held.packed.lock(patience, work.interrupt)?;
    }
    // Loose refs were read before: what is packed meanwhile is in this file or a later one.
    let (base, last_change) = work.held.packed.open(work.repository.location.hash(), work.interrupt)?;
    let sites = work.sites(&base)?;
    work.compare(&base, &sites)?;
    if options.is_atomic
        && let Some(first) = work.rejected.keys().min().copied()
        && let Some(error) = work.rejected.remove(&first)
    {
        return Err(error);
    }
    work.drop_rejected();
    if takes_packed_lock && work.is_rewritten(&sites) {
        let plan = work.plan(&base, &sites)?;
        let than = work.stage_old_values(&base, &sites, last_change)?;
        let sync = work.syncs();
        work.held.packed.stage(&base, &plan, than, sync, work.interrupt)?;
        work.held.plan = Some(plan);
    }
    let mut rejected: Vec<_> = work.rejected.into_iter().collect();
    rejected.sort_by_key(|(number, _)| *number);
    Ok((work.held, rejected))
}

/// What is at hand while a transaction is prepared.
pub(super) struct Work<'a> {
    pub(super) repository: Arc<Repository>,
    pub(super) edits: &'a [Edit],
    /// The edits' numbers, by name.
    pub(super) order: Vec<usize>,
    pub(super) options: &'a Options,
    pub(super) interrupt: Interrupt<'a>,
    pub(super) rejected: HashMap<usize, Error>,
    pub(super) held: Prepared,
}

impl<'a> Work<'a> {
    pub(super) fn new(
        store: &Store,
        edits: &'a [Edit],
        options: &'a Options,
        interrupt: Interrupt<'a>,
    ) -> Result<Self> {
        let repository = store.repository().clone();
        let location = &repository.location;
        refuse_repository(location)?;
        let config = &location.config.write;
        let held = Prepared {
            repository: repository.clone(),
            refs: LockedRefs::default(),
            packed: PackedRefs::below(location.shared(), config.sharing),
            plan: None,
            process: std::process::id(),
        };
        let order = sorted(edits)?;
        refuse_second_name(edits, location)?;
        Ok(Self { repository, edits, order, options, interrupt, rejected: HashMap::new(), held })
    }

    pub(super) fn edit(&self, number: usize) -> &'a Edit {
        &self.edits[number]
    }

    pub(super) fn breathe(&mut self, count: usize) -> Result<()> {
        if count.is_multiple_of(BREATH) && !(self.interrupt)() { Err(Error::Interrupted) } else { Ok(()) }
    }

    pub(super) fn is_packed_placement(&self) -> bool {
        self.options.placement == Placement::Packed
    }

    pub(super) fn syncs(&self) -> bool {
        match self.options.durability {
            Durability::Full => true,
            Durability::Git => self.repository.location.config.write.syncs_refs,
            Durability::Nothing => false,
        }
    }

    /// Locks every ref that is not rejected already, and reads what it holds as a loose one.
    pub(super) fn lock_refs(&mut self) -> Result<()> {
        let locking = Locking {
            location: &self.repository.location,
            edits: self.edits,
            options: self.options,
            rejected: &self.rejected,
            sync: self.syncs(),
        };
        let (refs, rejected) = locking.lock(&self.order, self.interrupt)?;
        self.held.refs = refs;
        self.rejected.extend(rejected);
        Ok(())
    }

    /// Whether the lock of packed-refs is needed: for every deletion, as git takes it.
    pub(super) fn takes_packed_lock(&self) -> bool {
        let is_live = |number: &usize| !self.rejected.contains_key(number);
        let verbs = (0..self.edits.len()).filter(is_live).map(|number| self.edit(number).verb);
        let mut verbs = verbs.filter(|verb| *verb != Verb::Verify);
        if self.is_packed_placement() { verbs.next().is_some() } else { verbs.any(|verb| verb == Verb::Delete) }
    }

    /// Where each edit's name stands in packed-refs, by the edit's number.
    pub(super) fn sites(&mut self, base: &Base) -> Result<Vec<Site>> {
        let start = base.body().start;
        let nowhere = Site { span: start..start, copies: 0, oid: None, is_continued: false };
        let mut sites = vec![nowhere; self.edits.len()];
        let mut locator = Locator::new(base);
        for (count, number) in self.order.clone().into_iter().enumerate() {
            self.breathe(count)?;
            let name = &self.edit(number).name;
            // Those of another worktree are not in the file; a name that is as if it were one may be.
            if matches!(Place::of(name).scope, Scope::Main | Scope::Other(_))
                && fault(self.edit(number), &self.repository.location).is_none()
            {
                continue;
            }
            sites[number] = locator.locate(name).map_err(|unread| self.held.packed.unread(unread))?;
        }
        Ok(sites)
    }
}
