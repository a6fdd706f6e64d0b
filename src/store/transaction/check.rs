//! What is found out before any lock is taken: what is not supported, and new values that no ref can hold.

use std::collections::HashMap;

use gix_object::Kind;

use super::conflicts;
use super::fault;
use super::prepare::Work;
use super::refuse::Refuser;
use crate::model::{Error, Place, Result, Scope, Value, Verb};
use crate::store::known::Known;

/// Bytes of a path.
const LONGEST_PATH: usize = 4 << 10;

impl Work<'_> {
    /// Refuses what is not supported yet, and names that have become none that may be written.
    pub(super) fn refuse(&mut self) -> Result<()> {
        let repository = self.repository.clone();
        let mut refuser = Refuser::new(&repository.location)?;
        for (count, number) in self.order.clone().into_iter().enumerate() {
            self.breathe(count)?;
            let edit = self.edit(number);
            // What could be known when it was given may have changed: a worktree may be gone.
            if let Some(reason) = fault(edit, &repository.location).filter(|_| edit.verb != Verb::Delete) {
                return Err(Error::RefName { name: edit.name.clone(), reason });
            }
            refuser.refuse(edit)?;
            if self.is_packed_placement() && Place::of(&edit.name).scope != Scope::Shared {
                let reason = format!("refs of one worktree's own are never packed: {}", edit.name.escape_ascii());
                return Err(Error::Unsupported { path: repository.location.git_dir().to_owned(), reason });
            }
        }
        Ok(())
    }

    /// Where the file system does not tell case, two locks can be one file, and `a` is in the way of `A/b`. What is rejected
    /// already is in nobody's way.
    pub(super) fn reject_case_conflicts(&mut self) {
        if !self.repository.location.config.write.ignores_case {
            return;
        }
        let mut names: HashMap<Vec<u8>, &[u8]> = HashMap::new();
        let mut dirs: HashMap<Vec<u8>, &[u8]> = HashMap::new();
        for (number, edit) in self.edits.iter().enumerate() {
            // A longer name than any path fails by itself.
            if self.rejected.contains_key(&number) || edit.name.len() > LONGEST_PATH {
                continue;
            }
            let lower = edit.name.to_ascii_lowercase();
            let above = || conflicts::prefixes(&lower);
            let met =
                above().find_map(|prefix| names.get(prefix)).or_else(|| names.get(&lower)).or_else(|| dirs.get(&lower));
            // One that is in its way in any case is found later.
            let spelled = |other: &[u8]| other.iter().zip(&edit.name).all(|(a, b)| a == b);
            if let Some(other) = met.filter(|other| !spelled(other)) {
                let error = Error::CaseConflict { name: edit.name.clone(), other: other.to_vec() };
                self.rejected.insert(number, error);
                continue;
            }
            for prefix in above() {
                dirs.entry(prefix.to_vec()).or_insert(&edit.name);
            }
            names.insert(lower, &edit.name);
        }
    }

    /// New values must be objects, and commits below `refs/heads/`.
    pub(super) fn check_values(&mut self) -> Result<()> {
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
            let mut is_sound = |wanted: Option<Kind>| {
                let kind = asker.kind(&new);
                if kind.is_some_and(|kind| wanted.is_some_and(|wanted| kind != wanted)) {
                    reason = "not a commit, as branches hold,";
                    return false;
                }
                if kind.is_some() {
                    reason = "the object cannot be read";
                }
                kind.is_some() && asker.is_sound(&new, kind)
            };
            let is_good = if is_branch {
                commits.holds(oid, || is_sound(Some(Kind::Commit)))
            } else {
                objects.holds(oid, || is_sound(None))
            };
            if !is_good {
                self.rejected.insert(number, Error::InvalidValue { name: edit.name.clone(), value: new, reason });
            }
        }
        Ok(())
    }
}
