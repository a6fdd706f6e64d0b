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

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use gix_object::Kind;

use super::conflicts::{self, conflict};
use super::loose::{LockId, Loose, RefLocks, Unlocked};
use super::packed::PackedRefs;
use super::refuse::{Refuser, refuse_repository};
use super::rewrite::{self, Change};
use super::{Durability, Options, Placement, Planned};
use crate::fs;
use crate::model::{Edit, Error, Expected, Interrupt, Oid, Place, Result, Scope, Value, Verb};
use crate::packed::{Base, Locator, Plan, Reason, Site};
use crate::store::Store;
use crate::store::known::Known;
use crate::store::view::Repository;

/// Edits between two questions to the interrupt.
const BREATH: usize = 1 << 10;

/// What holds the locks. Dropped, it gives everything back.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) repository: Arc<Repository>,
    /// In order of name.
    pub(super) updates: Vec<Update>,
    /// Given back in this order.
    pub(super) locks: RefLocks,
    pub(super) packed: PackedRefs,
    plan: Option<Plan>,
    process: u32,
}

/// What is done with the loose ref of one edit.
#[derive(Debug)]
pub(super) struct Update {
    /// The edit's number.
    pub(super) edit: usize,
    /// Where the loose ref is; `None` for a name that no path is built from.
    pub(super) path: Option<PathBuf>,
    pub(super) name: Vec<u8>,
    lock: Option<LockId>,
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
fn described(plan: Option<&Plan>) -> Planned {
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

/// What a commit would do if every edit was made, as things are now.
pub(super) fn plan(store: &Store, edits: &[Edit], options: &Options, interrupt: Interrupt<'_>) -> Result<Planned> {
    let mut work = Work::new(store, edits, options, interrupt)?;
    let (base, _) = work.held.packed.open(store.repository().location.hash(), work.interrupt)?;
    let sites = work.sites(&base)?;
    for number in work.order.clone() {
        let path = work.path(number);
        let name = work.edit(number).name.clone();
        let update = Update { edit: number, path, name, lock: None, loose: Loose::Absent, step: LooseStep::Stay };
        work.held.updates.push(update);
    }
    let is_rewritten = work.is_rewritten(&sites);
    let plan = if is_rewritten { Some(work.plan(&base, &sites)?) } else { None };
    let mut planned = described(plan.as_ref());
    let paths = work.held.updates.iter().filter_map(|update| update.path.as_deref());
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
    work.lock_refs()?;
    let takes_packed_lock = work.takes_packed_lock();
    if takes_packed_lock {
        let patience = options.patience.unwrap_or(work.repository.location.config.write.packed_patience);
        work.held.packed.lock(patience, work.interrupt)?;
    }
    // Loose refs were read before: what is packed meanwhile is in this file or a later one.
    let (mut base, mut last_change) = work.held.packed.open(work.repository.location.hash(), work.interrupt)?;
    let mut sites = work.sites(&base)?;
    work.compare(&base, &sites)?;
    if options.is_atomic
        && let Some(first) = work.rejected.keys().min().copied()
        && let Some(error) = work.rejected.remove(&first)
    {
        return Err(error);
    }
    work.drop_rejected();
    if takes_packed_lock && work.is_rewritten(&sites) {
        if work.pack_loose(&base, &sites, last_change)? {
            (base, last_change) = work.held.packed.open(work.repository.location.hash(), work.interrupt)?;
            sites = work.sites(&base)?;
        }
        let plan = work.plan(&base, &sites)?;
        let sync = work.syncs();
        work.held.packed.stage(&base, &plan, last_change, sync, work.interrupt)?;
        work.held.plan = Some(plan);
    }
    let mut rejected: Vec<_> = work.rejected.into_iter().collect();
    rejected.sort_by_key(|(number, _)| *number);
    Ok((work.held, rejected))
}

/// What is at hand while a transaction is prepared.
struct Work<'a> {
    repository: Arc<Repository>,
    edits: &'a [Edit],
    /// The edits' numbers, by name.
    order: Vec<usize>,
    options: &'a Options,
    interrupt: Interrupt<'a>,
    rejected: HashMap<usize, Error>,
    held: Prepared,
}

impl<'a> Work<'a> {
    fn new(store: &Store, edits: &'a [Edit], options: &'a Options, interrupt: Interrupt<'a>) -> Result<Self> {
        let repository = store.repository().clone();
        let location = &repository.location;
        refuse_repository(location)?;
        let config = &location.config.write;
        let held = Prepared {
            repository: repository.clone(),
            updates: Vec::with_capacity(edits.len()),
            packed: PackedRefs::below(location.shared(), config.sharing),
            locks: RefLocks::new(config.sharing, options.patience.unwrap_or(config.ref_patience)),
            plan: None,
            process: std::process::id(),
        };
        let order = sorted(edits)?;
        Ok(Self { repository, edits, order, options, interrupt, rejected: HashMap::new(), held })
    }

    fn edit(&self, number: usize) -> &'a Edit {
        &self.edits[number]
    }

    fn path(&self, number: usize) -> Option<PathBuf> {
        self.repository.location.path_of_ref(&self.edit(number).name)
    }

    fn breathe(&mut self, count: usize) -> Result<()> {
        if count.is_multiple_of(BREATH) && !(self.interrupt)() { Err(Error::Interrupted) } else { Ok(()) }
    }

    fn is_packed_placement(&self) -> bool {
        self.options.placement == Placement::Packed
    }

    fn syncs(&self) -> bool {
        match self.options.durability {
            Durability::Full => true,
            Durability::Git => self.repository.location.config.write.syncs_refs,
            Durability::Nothing => false,
        }
    }

    /// Refuses what is not supported yet, and names that are one file.
    fn refuse(&mut self) -> Result<()> {
        let repository = self.repository.clone();
        let mut refuser = Refuser::new(&repository.location)?;
        for (count, number) in self.order.clone().into_iter().enumerate() {
            self.breathe(count)?;
            let edit = self.edit(number);
            refuser.refuse(edit)?;
            if self.is_packed_placement() && Place::of(&edit.name).scope != Scope::Shared {
                let reason = format!("refs of one worktree's own are never packed: {}", edit.name.escape_ascii());
                return Err(Error::Unsupported { path: repository.location.git_dir().to_owned(), reason });
            }
        }
        if repository.location.config.write.ignores_case {
            self.reject_case_conflicts();
        }
        Ok(())
    }

    /// Where the file system does not tell case, two locks would be one file.
    fn reject_case_conflicts(&mut self) {
        let mut seen: HashMap<Vec<u8>, &[u8]> = HashMap::new();
        for (number, edit) in self.edits.iter().enumerate() {
            // `a` and `A/b` are in each other's way as much as `a` and `A`.
            let lower = edit.name.to_ascii_lowercase();
            let names = conflicts::prefixes(&lower).map(<[u8]>::len).chain([lower.len()]);
            for len in names {
                let (part, whole) = (&lower[..len], &edit.name[..len]);
                match seen.get(part) {
                    Some(other) if *other != whole => {
                        let error = Error::CaseConflict { name: edit.name.clone(), other: other.to_vec() };
                        self.rejected.entry(number).or_insert(error);
                    }
                    _ => drop(seen.insert(part.to_vec(), whole)),
                }
            }
        }
    }

    /// New values must be objects, and commits below `refs/heads/`.
    fn check_values(&mut self) -> Result<()> {
        if !self.options.checks_objects {
            return Ok(());
        }
        let repository = self.repository.clone();
        let mut asker = None;
        let (mut commits, mut objects) = (Known::new(), Known::new());
        for number in 0..self.edits.len() {
            self.breathe(number)?;
            let edit = self.edit(number);
            let Some(new) = edit.new else { continue };
            let asker = match &mut asker {
                Some(asker) => asker,
                None => asker.insert(repository.objects.asker()?),
            };
            let name = Place::of(&edit.name).name;
            let is_branch = name.starts_with(b"refs/heads/") || name == b"HEAD";
            let oid = Value::Raw(new.as_raw());
            let mut reason = "no such object";
            let is_good = if is_branch {
                commits.holds(oid, || {
                    let kind = asker.kind(&new);
                    if kind.is_some() {
                        reason = "a branch holds commits only";
                    }
                    kind == Some(Kind::Commit)
                })
            } else {
                objects.holds(oid, || asker.kind(&new).is_some())
            };
            if !is_good {
                self.rejected.insert(number, Error::InvalidValue { name: edit.name.clone(), value: new, reason });
            }
        }
        Ok(())
    }

    /// Locks every ref that is not rejected already, and reads what it holds as a loose one.
    fn lock_refs(&mut self) -> Result<()> {
        let sync = self.syncs();
        let mut buffer = Vec::new();
        for (count, number) in self.order.clone().into_iter().enumerate() {
            self.breathe(count)?;
            if self.rejected.contains_key(&number) {
                continue;
            }
            let edit = self.edit(number);
            let mut update = Update {
                edit: number,
                path: self.path(number),
                name: edit.name.clone(),
                lock: None,
                loose: Loose::Absent,
                step: LooseStep::Stay,
            };
            if let Some(path) = &update.path {
                // Written at once: a lock is closed again before the next is taken, however many there are.
                let content = edit.new.filter(|_| !self.is_packed_placement()).map(|new| format!("{}\n", new.to_hex()));
                let content = content.as_ref().map(|content| (content.as_bytes(), sync));
                let name = Place::of(&edit.name).name;
                match self.held.locks.lock(path, name, content, self.interrupt) {
                    Ok(lock) => update.lock = Some(lock),
                    Err(Unlocked::FileInTheWay) => {
                        drop(self.rejected.insert(number, self.file_in_the_way(edit)));
                        continue;
                    }
                    Err(Unlocked::Failed(error @ Error::Locked { .. })) if !self.options.is_atomic => {
                        drop(self.rejected.insert(number, error));
                        continue;
                    }
                    Err(Unlocked::Failed(error)) => return Err(error),
                }
                update.loose = Loose::read(path, self.repository.location.hash(), &mut buffer)?;
                if update.loose == Loose::Symref {
                    let reason = format!("symbolic refs cannot be changed yet: {}", edit.name.escape_ascii());
                    return Err(Error::Unsupported { path: path.clone(), reason });
                }
            }
            self.held.updates.push(update);
        }
        Ok(())
    }

    /// The error for a ref that a loose one is a directory of, or would have to be.
    fn file_in_the_way(&self, edit: &Edit) -> Error {
        if let Expected::Oid(_) = edit.old {
            return Error::NoRef(edit.name.clone());
        }
        let is_file = |prefix: &&[u8]| {
            let path = self.repository.location.path_of_ref(prefix);
            path.is_some_and(|path| path.symlink_metadata().is_ok() && !path.is_dir())
        };
        let other = conflicts::prefixes(&edit.name).find(is_file).unwrap_or(b"refs");
        conflict(&edit.name, other)
    }

    /// Whether the lock of packed-refs is needed: for every deletion, as git takes it.
    fn takes_packed_lock(&self) -> bool {
        let is_live = |number: &usize| !self.rejected.contains_key(number);
        let verbs = (0..self.edits.len()).filter(is_live).map(|number| self.edit(number).verb);
        let mut verbs = verbs.filter(|verb| *verb != Verb::Verify);
        if self.is_packed_placement() { verbs.next().is_some() } else { verbs.any(|verb| verb == Verb::Delete) }
    }

    /// Where each edit's name stands in packed-refs, by the edit's number.
    fn sites(&mut self, base: &Base) -> Result<Vec<Site>> {
        let start = base.body().start;
        let nowhere = Site { span: start..start, copies: 0, oid: None, is_continued: false };
        let mut sites = vec![nowhere; self.edits.len()];
        let mut locator = Locator::new(base);
        for (count, number) in self.order.clone().into_iter().enumerate() {
            self.breathe(count)?;
            let name = &self.edit(number).name;
            // Those of another worktree are not in the file.
            if matches!(Place::of(name).scope, Scope::Main | Scope::Other(_)) {
                continue;
            }
            sites[number] = locator.locate(name).map_err(|unread| self.held.packed.unread(unread))?;
        }
        Ok(sites)
    }

    /// Compares what each ref holds with what was expected, and decides what is done.
    fn compare(&mut self, base: &Base, sites: &[Site]) -> Result<()> {
        let related = conflicts::among(self.edits, &self.order);
        let is_missing = |update: &&Update| {
            matches!(update.loose, Loose::Absent | Loose::Directory) && sites[update.edit].copies == 0
        };
        let missing: Vec<_> = self.held.updates.iter().filter(is_missing).map(|u| (u.edit, &u.name[..])).collect();
        let in_the_way = conflicts::with_packed(base, &missing, sites);
        let in_the_way = in_the_way.map_err(|unread| self.held.packed.unread(unread))?;
        // In the order in which they were given: the first error is the one that counts.
        let mut by_edit: Vec<_> = (0..self.held.updates.len()).collect();
        by_edit.sort_by_key(|at| self.held.updates[*at].edit);
        for at in by_edit {
            let number = self.held.updates[at].edit;
            let others = related.get(&number).map(Vec::as_slice).unwrap_or_default();
            let compared = self.compare_one(base, at, &sites[number], in_the_way.get(&number), others);
            match compared {
                Ok(step) => self.held.updates[at].step = step,
                Err(error) if is_rejection(&error) => drop(self.rejected.insert(number, error)),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn compare_one(
        &self,
        base: &Base,
        at: usize,
        site: &Site,
        in_the_way: Option<&Vec<u8>>,
        others: &[usize],
    ) -> Result<LooseStep> {
        let update = &self.held.updates[at];
        let edit = self.edit(update.edit);
        let name = &edit.name;
        let actual = match update.loose {
            Loose::Oid(oid) => Some(oid),
            _ if site.copies > 1 && (edit.verb != Verb::Delete || edit.old != Expected::Any) => {
                let damage = base.damage(site.span.start, Reason::Duplicate);
                return Err(damage.in_file(self.held.packed.path().to_owned()));
            }
            _ => site.oid,
        };
        match (edit.old, actual) {
            (Expected::Absent, Some(_)) => return Err(Error::RefExists(name.clone())),
            (Expected::Oid(_), None) => return Err(Error::NoRef(name.clone())),
            (Expected::Oid(expected), Some(actual)) if expected != actual => {
                return Err(Error::Stale { name: name.clone(), expected, actual });
            }
            _ => {}
        }
        if actual.is_none() {
            if let Some(other) = in_the_way {
                return Err(conflict(name, other));
            }
            if let Some(other) = others.iter().find(|other| !self.rejected.contains_key(other)) {
                return Err(conflict(name, &self.edit(*other).name));
            }
        }
        // A directory in the place of a file may hold refs, or somebody's locks.
        if update.loose == Loose::Directory
            && (actual.is_none() || edit.new.is_some())
            && let Some(path) = &update.path
        {
            clear(name, path)?;
        }
        Ok(match (edit.verb, update.lock) {
            (Verb::Create | Verb::Update, Some(lock)) if !self.is_packed_placement() && edit.new != actual => {
                LooseStep::Publish(lock)
            }
            (Verb::Delete, _) if matches!(update.loose, Loose::Oid(_)) => LooseStep::Remove,
            _ => LooseStep::Stay,
        })
    }

    /// Forgets the edits that were rejected after they were locked, and gives their locks back.
    fn drop_rejected(&mut self) {
        let (rejected, locks) = (&self.rejected, &mut self.held.locks);
        self.held.updates.retain(|update| {
            let stays = !rejected.contains_key(&update.edit);
            if !stays && let Some(lock) = update.lock {
                locks.release(lock);
            }
            stays
        });
    }

    /// Whether an edit changes what is packed under its name.
    fn change(&self, update: &Update, site: &Site) -> Option<Change<'a>> {
        let edit = self.edit(update.edit);
        let name = &edit.name[..];
        match edit.verb {
            Verb::Delete if site.copies > 0 => Some(Change { name, new: None }),
            Verb::Create | Verb::Update if self.is_packed_placement() => {
                let is_same = match update.loose {
                    Loose::Oid(oid) => edit.new == Some(oid),
                    _ => site.copies == 1 && edit.new == site.oid,
                };
                (!is_same).then_some(Change { name, new: edit.new })
            }
            _ => None,
        }
    }

    /// Whether anything changes in packed-refs.
    fn is_rewritten(&self, sites: &[Site]) -> bool {
        let changes = |update: &Update| {
            self.change(update, &sites[update.edit]).is_some()
                || (self.is_packed_placement() && update.step == LooseStep::Remove)
        };
        self.held.updates.iter().any(changes)
    }

    fn plan(&mut self, base: &Base, sites: &[Site]) -> Result<Plan> {
        let changes: Vec<_> = self
            .held
            .updates
            .iter()
            .filter_map(|update| {
                let site = &sites[update.edit];
                self.change(update, site).map(|change| (change, site))
            })
            .collect();
        rewrite::plan(&self.held.packed, base, changes.into_iter(), &self.repository.objects, self.interrupt)
    }

    /// Packs the loose refs that a batch changes at the values that they have, and removes them: then the one rename that
    /// follows decides over all of the batch. Returns whether there were any.
    fn pack_loose(&mut self, base: &Base, sites: &[Site], last_change: Option<std::time::SystemTime>) -> Result<bool> {
        if !self.is_packed_placement() {
            return Ok(false);
        }
        let is_touched =
            |update: &&Update| update.step == LooseStep::Remove || self.change(update, &sites[update.edit]).is_some();
        let touched: Vec<_> = self.held.updates.iter().enumerate().filter(|(_, update)| is_touched(update)).collect();
        let loose: Vec<(usize, Oid)> = touched
            .into_iter()
            .filter_map(|(at, update)| match update.loose {
                Loose::Oid(oid) => Some((at, oid)),
                _ => None,
            })
            .collect();
        if loose.is_empty() {
            return Ok(false);
        }
        let changes: Vec<_> = loose
            .iter()
            .map(|(at, oid)| {
                let update = &self.held.updates[*at];
                (Change { name: &self.edits[update.edit].name[..], new: Some(*oid) }, &sites[update.edit])
            })
            .collect();
        let objects = &self.repository.objects;
        let plan = rewrite::plan(&self.held.packed, base, changes.into_iter(), objects, self.interrupt)?;
        let sync = self.syncs();
        self.held.packed.stage(base, &plan, last_change, sync, self.interrupt)?;
        self.held.packed.publish(self.options.durability == Durability::Full)?;
        for (at, _) in loose {
            let update = &mut self.held.updates[at];
            if let Some(path) = &update.path {
                fs::remove(path).map_err(|source| Error::Io { path: path.clone(), source })?;
            }
            (update.loose, update.step) = (Loose::Absent, LooseStep::Stay);
        }
        Ok(true)
    }
}

/// Removes what is in the place of a ref, if it is nothing but empty directories.
///
/// # Errors
/// [`Error::Conflict`] with what lies there; [`Error::Io`].
pub(super) fn clear(name: &[u8], path: &std::path::Path) -> Result<()> {
    let failed = |source| Error::Io { path: path.to_owned(), source };
    if fs::remove_empty_tree(path).map_err(failed)? {
        return Ok(());
    }
    let file = fs::first_file(path).map_err(failed)?;
    let below = file.as_deref().and_then(|file| file.strip_prefix(path).ok());
    let below = below.map(|below| below.as_os_str().as_encoded_bytes()).unwrap_or_default();
    Err(conflict(name, &[name, b"/", below].concat()))
}

/// Whether an error is about one edit, and the others can be made all the same.
fn is_rejection(error: &Error) -> bool {
    matches!(
        error,
        Error::Conflict { .. } | Error::RefExists(_) | Error::NoRef(_) | Error::Stale { .. } | Error::Locked { .. }
    )
}
