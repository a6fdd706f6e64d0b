//! Under the locks: what each ref holds against what was expected, and names in each other's way.

use std::path::Path;

use super::conflicts::{self, conflict};
use super::held::{LooseStep, Update};
use super::loose::Loose;
use super::prepare::Work;
use crate::fs;
use crate::model::{Error, Expected, Oid, Result, Verb};
use crate::packed::{Base, Reason, Site};

impl Work<'_> {
    /// Compares what each ref holds with what was expected, and decides what is done.
    pub(super) fn compare(&mut self, base: &Base, sites: &[Site]) -> Result<()> {
        let related = conflicts::among(self.edits, &self.order);
        let is_missing = |update: &&Update| !matches!(update.loose, Loose::Oid(_)) && sites[update.edit].copies == 0;
        let missing: Vec<_> = self.held.refs.updates.iter().filter(is_missing).map(|u| (u.edit, &u.name[..])).collect();
        let in_the_way = conflicts::with_packed(base, &missing, sites);
        let in_the_way = in_the_way.map_err(|unread| self.held.packed.unread(unread))?;
        // In the order in which they were given: the first error is the one that counts. And values before names: what is
        // rejected for its value is in nobody's way.
        let mut by_edit: Vec<_> = (0..self.held.refs.updates.len()).collect();
        by_edit.sort_by_key(|at| self.held.refs.updates[*at].edit);
        for at in by_edit.iter().copied() {
            let compared = self.compare_value(base, at, &sites[self.held.refs.updates[at].edit]);
            self.settle(at, compared)?;
        }
        // Before names in general, what lies in the place of a ref: who is rejected for that is in nobody's way either.
        for at in by_edit.iter().copied() {
            let number = self.held.refs.updates[at].edit;
            if !self.rejected.contains_key(&number) {
                let cleared = self.clear_place(at, &sites[number]);
                self.settle(at, cleared)?;
            }
        }
        for at in by_edit {
            let number = self.held.refs.updates[at].edit;
            if !self.rejected.contains_key(&number) {
                let others = related.get(&number).map(Vec::as_slice).unwrap_or_default();
                let compared = self.compare_names(at, &sites[number], in_the_way.get(&number), others);
                self.settle(at, compared)?;
            }
        }
        Ok(())
    }

    /// Takes note of what became of an edit.
    fn settle(&mut self, at: usize, done: Result<()>) -> Result<()> {
        let update = &mut self.held.refs.updates[at];
        match done {
            Err(error) if is_rejection(&error) => {
                // Its lock is in nobody's way from now on.
                update.lock = None;
                self.rejected.insert(update.edit, error);
                Ok(())
            }
            done => done,
        }
    }

    /// Compares what a ref holds with what was expected, and decides what is done with its loose file.
    fn compare_value(&mut self, base: &Base, at: usize, site: &Site) -> Result<()> {
        let update = &self.held.refs.updates[at];
        let edit = self.edit(update.edit);
        let name = &edit.name;
        if !matches!(update.loose, Loose::Oid(_))
            && site.copies > 1
            && (edit.verb != Verb::Delete || edit.old != Expected::Any)
        {
            let damage = base.damage(site.span.start, Reason::Duplicate);
            return Err(damage.in_file(self.held.packed.path().to_owned()));
        }
        let actual = actual(update, site);
        match (edit.old, actual) {
            (Expected::Absent, Some(_)) => return Err(Error::RefExists(name.clone())),
            (Expected::Oid(_), None) => return Err(Error::NoRef(name.clone())),
            (Expected::Oid(expected), Some(actual)) if expected != actual => {
                return Err(Error::Stale { name: name.clone(), expected, actual });
            }
            _ => {}
        }
        self.held.refs.updates[at].step = self.loose_step(update, site);
        Ok(())
    }

    /// What is done with the loose file of a ref.
    pub(super) fn loose_step(&self, update: &Update, site: &Site) -> LooseStep {
        let edit = self.edit(update.edit);
        match edit.verb {
            Verb::Create | Verb::Update if !self.is_packed_placement() && edit.new != actual(update, site) => {
                LooseStep::Publish
            }
            Verb::Delete if matches!(update.loose, Loose::Oid(_) | Loose::Dangling) => LooseStep::Remove,
            _ => LooseStep::Stay,
        }
    }

    /// Removes empty directories in the place of a ref, and refuses an edit where there are others: those may hold refs, or
    /// somebody's locks.
    fn clear_place(&self, at: usize, site: &Site) -> Result<()> {
        let update = &self.held.refs.updates[at];
        let edit = self.edit(update.edit);
        let actual = actual(update, site);
        let is_set = edit.new.is_some() && edit.new != actual;
        match &update.path {
            Some(path) if update.loose == Loose::Directory && (actual.is_none() || is_set) => clear(&edit.name, path),
            _ => Ok(()),
        }
    }

    /// Refuses an edit of a ref that does not exist and that another name is in the way of.
    fn compare_names(&self, at: usize, site: &Site, packed: Option<&Vec<u8>>, others: &[usize]) -> Result<()> {
        let update = &self.held.refs.updates[at];
        let name = &self.edit(update.edit).name;
        if actual(update, site).is_some() {
            return Ok(());
        }
        if let Some(other) = packed {
            return Err(conflict(name, other));
        }
        match others.iter().find(|other| !self.rejected.contains_key(other)) {
            Some(other) => Err(conflict(name, &self.edit(*other).name)),
            None => Ok(()),
        }
    }

    /// Forgets the edits that were rejected after they were locked.
    pub(super) fn drop_rejected(&mut self) {
        let rejected = &self.rejected;
        self.held.refs.updates.retain(|update| !rejected.contains_key(&update.edit));
    }
}

/// What a ref holds. The null object id is nothing, as it is for git.
fn actual(update: &Update, site: &Site) -> Option<Oid> {
    let oid = match update.loose {
        Loose::Oid(oid) => Some(oid),
        _ => site.oid,
    };
    oid.filter(|oid| !oid.is_zero())
}

/// Removes what is in the place of a ref, if it is nothing but empty directories.
///
/// # Errors
/// [`Error::Conflict`] with what lies there; [`Error::Io`].
pub(super) fn clear(name: &[u8], path: &Path) -> Result<()> {
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
