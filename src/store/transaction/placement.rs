//! What becomes of packed-refs: which of its records go, and, for a batch that is packed, which are new.

use std::time::SystemTime;

use super::held::{LooseStep, Update};
use super::loose::Loose;
use super::prepare::Work;
use super::rewrite::{self, Change};
use crate::model::{Result, Verb};
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
        rewrite::plan(&self.held.packed, base, changes, &self.repository.objects, self.interrupt)
    }

    /// Writes a file in which the loose refs that a batch changes are packed at the values that they have. It takes the place
    /// of packed-refs first, then those loose refs go: then one rename decides over all of the batch. Returns its time.
    pub(super) fn stage_old_values(
        &mut self,
        base: &Base,
        sites: &[Site],
        than: Option<SystemTime>,
    ) -> Result<Option<SystemTime>> {
        if !self.is_packed_placement() {
            return Ok(than);
        }
        let mut changes = Vec::new();
        for update in &mut self.held.refs.updates {
            let (site, edit) = (&sites[update.edit], &self.edits[update.edit]);
            let oid = match update.loose {
                Loose::Oid(oid) => Some(oid),
                Loose::Dangling => None,
                _ => continue,
            };
            let is_touched = match edit.verb {
                Verb::Delete => true,
                Verb::Create | Verb::Update => edit.new != oid,
                Verb::Verify => false,
            };
            if is_touched {
                update.step = LooseStep::Prune;
                // A null object id is no value to keep.
                if let Some(oid) = oid.filter(|oid| !oid.is_zero()) {
                    changes.push((Change { name: &edit.name, new: Some(oid) }, site));
                }
            }
        }
        if changes.is_empty() {
            return Ok(than);
        }
        let objects = &self.repository.objects;
        let plan = rewrite::plan(&self.held.packed, base, changes, objects, self.interrupt)?;
        let sync = self.syncs();
        self.held.packed.stage_old_values(base, &plan, than, sync, self.interrupt).map(Some)
    }
}
