//! What is found out before any lock is taken: what is not supported, and new values that no ref can hold.

use std::collections::HashMap;

use gix_object::Kind;

use super::conflicts;
use super::prepare::Work;
use super::refuse::Refuser;
use crate::model::{Error, Place, Result, Scope, Value};
use crate::store::known::Known;

impl Work<'_> {
    /// Refuses what is not supported yet, and names that are one file.
    pub(super) fn refuse(&mut self) -> Result<()> {
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
    pub(super) fn reject_case_conflicts(&mut self) {
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
}
