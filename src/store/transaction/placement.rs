//! What becomes of packed-refs: which of its records go, and, for a batch that is packed, which are new.

use std::time::SystemTime;

use super::Durability;
use super::held::{LooseStep, Update};
use super::loose::Loose;
use super::prepare::Work;
use super::rewrite::{self, Change};
use crate::fs;
use crate::model::{Error, Oid, Result, Verb};
use crate::packed::{Base, Plan, Site};

impl<'a> Work<'a> {
    /// Whether an edit changes what is packed under its name.
    pub(super) fn change(&self, update: &Update, site: &Site) -> Option<Change<'a>> {
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
    pub(super) fn is_rewritten(&self, sites: &[Site]) -> bool {
        let changes = |update: &Update| {
            self.change(update, &sites[update.edit]).is_some()
                || (self.is_packed_placement() && update.step == LooseStep::Remove)
        };
        self.held.refs.updates.iter().any(changes)
    }

    pub(super) fn plan(&mut self, base: &Base, sites: &[Site]) -> Result<Plan> {
        let changes: Vec<_> = self
            .held
            .refs
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
    pub(super) fn pack_loose(&mut self, base: &Base, sites: &[Site], last_change: Option<SystemTime>) -> Result<bool> {
        if !self.is_packed_placement() {
            return Ok(false);
        }
        let is_touched =
            |update: &&Update| update.step == LooseStep::Remove || self.change(update, &sites[update.edit]).is_some();
        let touched: Vec<_> =
            self.held.refs.updates.iter().enumerate().filter(|(_, update)| is_touched(update)).collect();
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
            // A null object id is no value to keep.
            .filter(|(_, oid)| !oid.is_zero())
            .map(|(at, oid)| {
                let update = &self.held.refs.updates[*at];
                (Change { name: &self.edits[update.edit].name[..], new: Some(*oid) }, &sites[update.edit])
            })
            .collect();
        let objects = &self.repository.objects;
        let plan = rewrite::plan(&self.held.packed, base, changes.into_iter(), objects, self.interrupt)?;
        let sync = self.syncs();
        self.held.packed.stage(base, &plan, last_change, sync, self.interrupt)?;
        self.held.packed.publish(self.options.durability == Durability::Full)?;
        for (at, _) in loose {
            let update = &mut self.held.refs.updates[at];
            if let Some(path) = &update.path {
                fs::remove(path).map_err(|source| Error::Io { path: path.clone(), source })?;
            }
            (update.loose, update.step) = (Loose::Absent, LooseStep::Stay);
        }
        Ok(true)
    }
}
