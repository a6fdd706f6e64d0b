//! A repository that is followed: while it is open it may be migrated to the other format, or go away.
//!
//! Its configuration says the format, and git replaces that file by rename. So each question is asked of a store whose
//! configuration is still the same before and after it. Before git replaces it, it removes the refs in the old format one by
//! one: all that time there is a folder `ref_migration.XXXXXX`, and answers are waited for. One that stays was left behind.
//! Between the end of the folder and the new configuration there is a moment in which neither format is complete.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Store;
use super::discover::GitDirs;
use super::view::Repository;
use crate::model::{Error, Interrupt, Result};

/// How long the end of a migration is waited for, and how long between two looks.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(2);

/// How long it takes at most, on a busy machine, from the end of the folder to the new configuration.
const LAST_STEP: Duration = Duration::from_millis(250);

/// A repository's refs, in whichever format they are at the moment.
#[derive(Debug)]
pub struct Live {
    dirs: GitDirs,
    now: Mutex<Arc<Store>>,
    /// Folders of migrations that were left behind.
    left_behind: Mutex<Vec<OsString>>,
}

impl Live {
    /// The refs of the repository that `path` lies in, or of the one that the environment names; `worktree` picks a
    /// linked worktree.
    ///
    /// # Errors
    /// [`Error::NoRepository`](crate::model::Error::NoRepository),
    /// [`Error::Unsupported`](crate::model::Error::Unsupported), [`Error::Corrupt`](crate::model::Error::Corrupt),
    /// [`Error::Io`](crate::model::Error::Io).
    pub fn open(path: Option<&Path>, worktree: Option<&OsStr>) -> Result<Self> {
        let mut dirs = GitDirs::find(path)?;
        if let Some(id) = worktree {
            dirs = dirs.linked(id)?;
        }
        Self::at(dirs)
    }

    /// The refs of the repository of that very directory or git file, not of one that it lies in.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_exactly(path: &Path) -> Result<Self> {
        Self::at(GitDirs::of(path)?)
    }

    fn at(dirs: GitDirs) -> Result<Self> {
        let now = Mutex::new(Arc::new(Store::at(dirs.clone())?));
        Ok(Self { dirs, now, left_behind: Mutex::default() })
    }

    /// The repository, as it was at the last question.
    #[must_use]
    pub fn repository(&self) -> Arc<Repository> {
        self.known().repository().clone()
    }

    /// The answer of the store as it is now. One that is certain is right also amid a migration.
    ///
    /// # Errors
    /// Those of the question, and as [`Self::open`].
    pub(super) fn ask<T>(
        &self,
        interrupt: Interrupt<'_>,
        is_certain: impl Fn(&T) -> bool,
        mut question: impl FnMut(&Store, Interrupt<'_>) -> Result<T>,
    ) -> Result<T> {
        let start = Instant::now();
        let mut unsettled = start;
        loop {
            let store = self.current();
            let answer = store.and_then(|store| {
                let answer = question(&store, interrupt)?;
                Ok((answer, store.is_current()?))
            });
            if let Err(Error::Interrupted) = answer {
                return Err(Error::Interrupted);
            }
            let Some(folder) = self.migration(answer.as_ref().ok().is_some_and(|(answer, _)| is_certain(answer)))
            else {
                match answer {
                    // It was migrated meanwhile.
                    Ok((_, false)) if start.elapsed() < PATIENCE => continue,
                    Err(error) if is_between_formats(&error) && unsettled.elapsed() < LAST_STEP => {
                        pause(interrupt)?;
                        continue;
                    }
                    answer => return answer.map(|(answer, _)| answer),
                }
            };
            if start.elapsed() >= PATIENCE {
                self.left_behind.lock().unwrap_or_else(PoisonError::into_inner).push(folder);
                return answer.map(|(answer, _)| answer);
            }
            pause(interrupt)?;
            unsettled = Instant::now();
        }
    }

    /// The folder of a migration that is under way, if that matters.
    fn migration(&self, is_certain: bool) -> Option<OsString> {
        let folder = if is_certain { None } else { self.dirs.migration() };
        folder.filter(|folder| !self.left_behind.lock().unwrap_or_else(PoisonError::into_inner).contains(folder))
    }

    /// The store as it was at the last question.
    pub(super) fn known(&self) -> Arc<Store> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The store as it is now.
    pub(super) fn current(&self) -> Result<Arc<Store>> {
        let known = self.known();
        if known.is_current()? {
            return Ok(known);
        }
        self.dirs.check()?;
        let store = Arc::new(Store::at(self.dirs.clone())?);
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = store.clone();
        Ok(store)
    }
}

fn pause(interrupt: Interrupt<'_>) -> Result<()> {
    sleep(PAUSE);
    if interrupt() { Ok(()) } else { Err(Error::Interrupted) }
}

/// Whether what is missing, or belongs to the other format, is what a migration replaces last.
fn is_between_formats(error: &Error) -> bool {
    match error {
        // It writes the version and the extension one after the other.
        Error::NoRepository(_) | Error::Unsupported { .. } => true,
        Error::Corrupt { path, .. } => path.ends_with("HEAD") || path.ends_with("reftable"),
        Error::Io { path, source } => source.kind() == ErrorKind::NotFound && path.ends_with("reftable/tables.list"),
        _ => false,
    }
}
