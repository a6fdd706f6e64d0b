//! Locking refs: each gets its lock file, and is read under it.
//!
//! The lock of `refs/heads/a` is `refs/heads/a.lock`. Directories that are missing are made for it, and removed again if they
//! are empty once it is gone. Locks are taken in order of name, by every writer of refspan's: of two that want the same ones, one
//! gets all.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process;

use super::conflicts::{self, conflict};
use super::folders::Folders;
use super::held::Update;
use super::loose::{Loose, held, lock_path};
use super::{Options, Placement};
use crate::fs::{self, Locker, Patience, Sharing, Temporary};
use crate::model::{Edit, Error, Expected, Interrupt, Place, Result};
use crate::store::location::Location;

/// How often a lock is tried whose directory others remove as soon as it is made.
const TRIES: usize = 16;
/// Edits between two questions to the interrupt.
const BREATH: usize = 1 << 8;

/// Refs that are locked, in order of name, and the directories that they lie in. Dropped, it gives all back.
#[derive(Debug, Default)]
pub(super) struct LockedRefs {
    pub(super) updates: Vec<Update>,
    /// Directories that may be empty once the locks are gone, and how many levels of each may go then.
    parents: Vec<(PathBuf, usize)>,
    /// Who holds them; 0 for nobody.
    process: u32,
}

impl LockedRefs {
    /// The directories of the refs that are locked.
    pub(super) fn parents(&self) -> impl Iterator<Item = &Path> {
        self.parents.iter().map(|(dir, _)| dir.as_path())
    }
}

impl Drop for LockedRefs {
    fn drop(&mut self) {
        self.updates.clear();
        // In a child that was forked they are its parent's, and so are the directories.
        if self.process == process::id() {
            remove_empty(std::mem::take(&mut self.parents));
        }
    }
}

/// Removes directories that are empty, and as many levels above as are by then.
fn remove_empty(mut dirs: Vec<(PathBuf, usize)>) {
    while !dirs.is_empty() {
        // Longer paths sort behind those that they lie in.
        dirs.sort_unstable_by(|(a, _), (b, _)| b.as_os_str().cmp(a.as_os_str()));
        dirs.dedup_by(|(a, _), (b, _)| a.as_os_str() == b.as_os_str());
        let mut above = Vec::new();
        for (dir, levels) in dirs {
            // What cannot be removed does no harm.
            if levels > 0
                && matches!(fs::remove_if_empty(&dir), Ok(true))
                && let Some(parent) = dir.parent()
            {
                above.push((parent.to_owned(), levels - 1));
            }
        }
        dirs = above;
    }
}

/// What all locks have in common.
pub(super) struct Locking<'a> {
    pub(super) location: &'a Location,
    pub(super) edits: &'a [Edit],
    pub(super) options: &'a Options,
    pub(super) rejected: &'a HashMap<usize, Error>,
    /// Whether what is written into a lock is to be on disk.
    pub(super) sync: bool,
}

/// What became of the refs: those that are locked, and those that could not be, by the edits' numbers.
type Locked = (LockedRefs, Vec<(usize, Error)>);

impl Locking<'_> {
    /// Locks the refs of the edits with these numbers, which are in order of name.
    ///
    /// # Errors
    /// What is wrong with more than one edit; one that is locked by somebody else, if that stops all; an interrupt.
    pub(super) fn lock(&self, order: &[usize], interrupt: Interrupt<'_>) -> Result<Locked> {
        let config = &self.location.config.write;
        let patience = self.options.patience.unwrap_or(config.ref_patience);
        let mut locker = RefLocker::new(config.sharing, patience);
        let mut found =
            LockedRefs { updates: Vec::with_capacity(order.len()), parents: Vec::new(), process: process::id() };
        let (mut rejected, mut buffer) = (Vec::new(), Vec::new());
        for (count, number) in order.iter().copied().enumerate() {
            if count.is_multiple_of(BREATH) && !interrupt() {
                return Err(Error::Interrupted);
            }
            let Some(edit) = self.edits.get(number).filter(|_| !self.rejected.contains_key(&number)) else { continue };
            let mut update = Update::of(number, edit, self.location);
            if let Some(path) = &update.path {
                // Written at once: a lock is closed again before the next is taken, however many there are.
                let content = edit.new.filter(|_| self.options.placement == Placement::Loose);
                let content = content.map(|new| format!("{}\n", new.to_hex()));
                let content = content.as_ref().map(|content| (content.as_bytes(), self.sync));
                found.note(path.parent().unwrap_or(path), Place::of(&edit.name).name);
                match locker.lock(path, content, interrupt) {
                    Ok(lock) => update.lock = Some(lock),
                    Err(Unlocked::FileInTheWay) => {
                        rejected.push((number, self.file_in_the_way(edit)));
                        continue;
                    }
                    Err(Unlocked::Failed(error @ Error::Locked { .. })) if !self.options.is_atomic => {
                        rejected.push((number, error));
                        continue;
                    }
                    Err(Unlocked::Failed(error)) => return Err(error),
                }
                update.loose = Loose::read(path, self.location.hash(), &mut buffer)?;
                if update.loose == Loose::Symref {
                    let reason = format!("symbolic refs cannot be changed yet: {}", edit.name.escape_ascii());
                    return Err(Error::Unsupported { path: path.clone(), reason });
                }
            }
            found.updates.push(update);
        }
        Ok((found, rejected))
    }

    /// The error for a ref that a loose one is a directory of, or would have to be.
    fn file_in_the_way(&self, edit: &Edit) -> Error {
        if let Expected::Oid(_) = edit.old {
            return Error::NoRef(edit.name.clone());
        }
        let is_file = |prefix: &&[u8]| {
            let path = self.location.path_of_ref(prefix);
            path.is_some_and(|path| path.symlink_metadata().is_ok() && !path.is_dir())
        };
        let other = conflicts::prefixes(&edit.name).find(is_file).unwrap_or(b"refs");
        conflict(&edit.name, other)
    }
}

impl LockedRefs {
    /// Remembers a directory that may be left empty. As in git `refs/` stays, and what lies right in it.
    fn note(&mut self, parent: &Path, name: &[u8]) {
        if self.parents.last().is_none_or(|(last, _)| last.as_os_str() != parent.as_os_str()) {
            let levels = name.split(|byte| *byte == b'/').skip(1).count().saturating_sub(2);
            self.parents.push((parent.to_owned(), levels));
        }
    }
}

/// Makes locks of refs, and the directories for them.
struct RefLocker {
    locker: Locker,
    sharing: Sharing,
    patience: Patience,
    folders: Folders,
}

/// Why a lock could not be had.
enum Unlocked {
    /// A file is where a directory would have to be.
    FileInTheWay,
    /// Anything else.
    Failed(Error),
}

impl RefLocker {
    fn new(sharing: Sharing, patience: Patience) -> Self {
        Self { locker: Locker::new(sharing), sharing, patience, folders: Folders::default() }
    }

    /// Locks the ref whose file is at `path`. With `content` the lock can take its place later.
    fn lock(
        &mut self,
        path: &Path,
        content: Option<(&[u8], bool)>,
        interrupt: Interrupt<'_>,
    ) -> std::result::Result<Temporary, Unlocked> {
        let lock = lock_path(path);
        let failed = |path: &Path, source| Unlocked::Failed(Error::Io { path: path.to_owned(), source });
        let parent = path.parent().unwrap_or(path);
        // A directory that is not there is made before it is missed.
        let mut is_missing = !self.folders.has(parent);
        for _ in 0..TRIES {
            if is_missing {
                match fs::make_dirs(parent, self.sharing) {
                    Ok(()) => self.folders.made(parent),
                    Err(error) if error.kind() == ErrorKind::NotADirectory => return Err(Unlocked::FileInTheWay),
                    // Gone again: the next try tells.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => return Err(failed(parent, error)),
                }
            }
            let made = self.patience.try_for(interrupt, || match content {
                Some((content, sync)) => self.locker.fill(&lock, content, sync),
                None => self.locker.mark(&lock),
            });
            match made {
                Ok(lock) => return Ok(lock),
                Err(error) => match error.kind() {
                    ErrorKind::AlreadyExists => return Err(Unlocked::Failed(held(&lock))),
                    ErrorKind::Interrupted => return Err(Unlocked::Failed(Error::Interrupted)),
                    ErrorKind::NotADirectory => return Err(Unlocked::FileInTheWay),
                    ErrorKind::NotFound => is_missing = true,
                    _ => return Err(failed(&lock, error)),
                },
            }
        }
        Err(failed(&lock, ErrorKind::NotFound.into()))
    }
}
