//! Committing: renames and removals, in an order in which no old value ever shows again.
//!
//! ```text
//! for each ref that is set: its lock is renamed to the loose ref
//! of a batch that is packed: packed-refs.refspan is renamed to packed-refs, loose refs that are packed in it are removed
//! packed-refs.new is renamed to packed-refs         so what is deleted goes from there first
//! for each ref that is deleted: its loose file is removed
//! locks are released, empty directories removed
//! ```
//!
//! Whoever reads meanwhile sees updates before deletions. Stopped at any instant, each ref holds its old or its new value.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use super::Durability;
use super::compare::clear;
use super::conflicts::conflict;
use super::held::{LooseStep, Prepared};
use crate::fs::{self, Temporary, sync_dir};
use crate::model::{Error, Result};

/// How often a directory in the place of a ref is removed that others make anew.
const TRIES: usize = 16;

impl Prepared {
    /// Makes the edits.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Conflict`] where somebody has put a directory in a ref's place since.
    pub(super) fn commit(mut self, durability: Durability) -> Result<()> {
        let sync = durability == Durability::Full;
        for update in &mut self.refs.updates {
            if let (LooseStep::Publish, Some(path), Some(lock)) = (update.step, &update.path, &mut update.lock) {
                publish(&update.name, path, lock)?;
            }
        }
        if sync {
            self.sync_dirs()?;
        }
        self.packed.publish_old_values(sync)?;
        self.remove(LooseStep::Prune, sync)?;
        self.packed.publish(sync)?;
        self.remove(LooseStep::Remove, sync)?;
        // What is left is dropped: the locks of refs first, then that of packed-refs.
        Ok(())
    }

    /// Removes the loose files for which that is the step.
    fn remove(&self, step: LooseStep, sync: bool) -> Result<()> {
        let mut is_any_removed = false;
        for update in self.refs.updates.iter().filter(|update| update.step == step) {
            if let Some(path) = &update.path {
                fs::remove(path).map_err(|source| Error::Io { path: path.clone(), source })?;
                is_any_removed = true;
            }
        }
        if sync && is_any_removed { self.sync_dirs() } else { Ok(()) }
    }

    /// Has the names of the refs that were locked written to disk, and those of their directories.
    fn sync_dirs(&self) -> Result<()> {
        let root = self.repository.location.shared();
        let mut dirs: BTreeSet<&Path> = BTreeSet::new();
        for parent in self.refs.parents() {
            let own = self.repository.location.own();
            let ends = |dir: &&Path| *dir == root || *dir == own;
            for dir in parent.ancestors() {
                dirs.insert(dir);
                if ends(&dir) {
                    break;
                }
            }
        }
        for dir in dirs.into_iter().rev() {
            match sync_dir(dir) {
                // Somebody has deleted what was in it since.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                done => done.map_err(|source| Error::Io { path: dir.to_owned(), source })?,
            }
        }
        Ok(())
    }
}

/// Puts a lock in the place of the ref, where others may make and remove directories meanwhile.
fn publish(name: &[u8], path: &Path, lock: &mut Temporary) -> Result<()> {
    for _ in 0..TRIES {
        match lock.rename(path) {
            Err(error) if is_directory(&error) => clear(name, path)?,
            done => return done.map_err(|source| Error::Io { path: path.to_owned(), source }),
        }
    }
    Err(conflict(name, &[name, b"/"].concat()))
}

/// Whether a file could not be renamed because a directory is in its place.
fn is_directory(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::IsADirectory | ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists)
}
