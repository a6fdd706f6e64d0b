//! Loose refs under their locks.
//!
//! The lock of `refs/heads/a` is the file `refs/heads/a.lock`. Who holds it alone may replace or remove `refs/heads/a`, so
//! what is read under it stays true as long as it is held.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, SystemTime};

use super::folders::Folders;
use crate::fs::{self, Locker, Patience, Sharing, Temporary, There, look, look_through};
use crate::loose::Content;
use crate::model::{Error, HashKind, Interrupt, Oid, Result, is_well_formed};

/// How often a lock is tried whose directory others remove as soon as it is made.
const TRIES: usize = 16;

/// What a loose ref's file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loose {
    /// There is none.
    Absent,
    /// In its place there is a directory.
    Directory,
    /// An object id.
    Oid(Oid),
    /// The name of another ref.
    Symref,
}

impl Loose {
    /// What there is at a path.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for what is neither, [`Error::Io`].
    pub(super) fn read(path: &Path, hash: HashKind, buffer: &mut Vec<u8>) -> Result<Self> {
        let failed = |source| Error::Io { path: path.to_owned(), source };
        let there = match look(path, buffer).map_err(failed)? {
            There::Link(text) => {
                let text = text.into_os_string().into_encoded_bytes();
                // A link to something below refs/ is not followed: it is a symbolic ref.
                if text.starts_with(b"refs/") && is_well_formed(&text) {
                    return Ok(Self::Symref);
                }
                look_through(path, buffer).map_err(failed)?
            }
            there => there,
        };
        let reason = match there {
            There::Nothing => return Ok(Self::Absent),
            There::Directory => return Ok(Self::Directory),
            There::File => match Content::parse(buffer, hash) {
                Some(Content::Symref(_)) => return Ok(Self::Symref),
                Some(Content::Oid(digits)) => {
                    if let Some(oid) = Oid::from_hex(digits) {
                        return Ok(Self::Oid(oid));
                    }
                    "no object id"
                }
                None => "neither an object id nor a symbolic ref",
            },
            There::Other => "not a file",
            There::Loop | There::Link(_) => "symbolic links that lead nowhere but round",
        };
        Err(Error::Corrupt { path: path.to_owned(), offset: 0, line: Some(1), reason: reason.to_owned() })
    }
}

/// The locks of refs, and the directories that were made for them. All gone when this is dropped.
#[derive(Debug)]
pub(super) struct RefLocks {
    locker: Locker,
    sharing: Sharing,
    patience: Patience,
    process: u32,
    folders: Folders,
    /// Directories that may be empty once the locks are gone, and how many levels of each may go then.
    parents: Vec<(PathBuf, usize)>,
    held: Vec<Temporary>,
}

/// Which of the locks one is.
pub(super) type LockId = usize;

/// Why a lock could not be had.
pub(super) enum Unlocked {
    /// A file is where a directory would have to be.
    FileInTheWay,
    /// Anything else.
    Failed(Error),
}

impl RefLocks {
    pub(super) fn new(sharing: Sharing, patience: Patience) -> Self {
        let (folders, parents, held) = (Folders::default(), Vec::new(), Vec::new());
        Self { locker: Locker::new(sharing), sharing, patience, process: process::id(), folders, parents, held }
    }

    /// Locks the ref of that name, whose file is at `path`. With `content` the lock can take its place later.
    pub(super) fn lock(
        &mut self,
        path: &Path,
        name: &[u8],
        content: Option<(&[u8], bool)>,
        interrupt: Interrupt<'_>,
    ) -> std::result::Result<LockId, Unlocked> {
        let lock = lock_path(path);
        let failed = |path: &Path, source| Unlocked::Failed(Error::Io { path: path.to_owned(), source });
        let parent = path.parent().unwrap_or(path);
        self.note(parent, name);
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
                Ok(lock) => {
                    self.held.push(lock);
                    return Ok(self.held.len() - 1);
                }
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

    /// Remembers a directory that may be left empty. As in git `refs/` stays, and what lies right in it.
    fn note(&mut self, parent: &Path, name: &[u8]) {
        if self.parents.last().is_none_or(|(last, _)| last.as_os_str() != parent.as_os_str()) {
            let levels = name.split(|byte| *byte == b'/').skip(1).count().saturating_sub(2);
            self.parents.push((parent.to_owned(), levels));
        }
    }

    /// Puts a lock in the place of the file that it locks.
    pub(super) fn publish(&mut self, id: LockId, path: &Path) -> std::io::Result<()> {
        self.held.get_mut(id).map_or(Ok(()), |lock| lock.rename(path))
    }

    /// Gives a lock back before the others.
    pub(super) fn release(&mut self, id: LockId) {
        if let Some(lock) = self.held.get_mut(id) {
            *lock = Temporary::gone();
        }
    }

    /// The directories of the refs that are locked.
    pub(super) fn parents(&self) -> impl Iterator<Item = &Path> {
        self.parents.iter().map(|(dir, _)| dir.as_path())
    }

    /// The lock files that are held.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.held.iter().map(Temporary::path).filter(|path| !path.as_os_str().is_empty())
    }
}

impl Drop for RefLocks {
    fn drop(&mut self) {
        self.held.clear();
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

/// The lock of a file.
pub(super) fn lock_path(path: &Path) -> PathBuf {
    let mut lock: OsString = path.as_os_str().to_owned();
    lock.push(".lock");
    lock.into()
}

/// A lock that somebody else holds.
pub(super) fn held(lock: &Path) -> Error {
    let made = lock.symlink_metadata().and_then(|meta| meta.modified());
    let age = made.ok().and_then(|made| SystemTime::now().duration_since(made).ok()).unwrap_or(Duration::ZERO);
    Error::Locked { path: lock.to_owned(), age }
}
