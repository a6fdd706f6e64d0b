//! A repository that is followed: while it is open it may be migrated to the other format, or go away.
//!
//! Its configuration says the format, and git replaces that file by rename. So each question is asked of a store whose
//! configuration is still the same before and after it.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::Store;
use super::discover::GitDirs;
use super::view::Repository;
use crate::model::Result;

/// How often a question is asked whose answer is worth nothing.
const TRIES: usize = 3;

/// A repository's refs, in whichever format they are at the moment.
#[derive(Debug)]
pub struct Live {
    dirs: GitDirs,
    now: Mutex<Arc<Store>>,
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
        let now = Mutex::new(Arc::new(Store::at(dirs.clone())?));
        Ok(Self { dirs, now })
    }

    /// The repository, as it was at the last question.
    #[must_use]
    pub fn repository(&self) -> Arc<Repository> {
        self.known().repository().clone()
    }

    /// The answer of the store as it is now.
    ///
    /// # Errors
    /// Those of the question, and as [`Self::open`].
    pub(super) fn ask<T>(&self, mut question: impl FnMut(&Store) -> Result<T>) -> Result<T> {
        for _ in 1..TRIES {
            let store = self.current()?;
            let answer = question(&store);
            if store.is_current()? {
                return answer;
            }
        }
        question(&*self.current()?)
    }

    fn known(&self) -> Arc<Store> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn current(&self) -> Result<Arc<Store>> {
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
