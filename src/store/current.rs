//! What is kept of a repository between two looks at it, and whether it is still what the paths lead to.
//!
//! Git replaces `packed-refs` and `tables.list` by rename. The open files are kept: so no other file can get their inode
//! numbers, and one `stat` tells any replacement, also within one tick of the clock.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::location::Location;
use super::{PackedFile, Stack, Tables};
use crate::fs::is_nothing;
use crate::model::{Error, HashKind, Interrupt, Result};

/// A repository's packed-refs file.
#[derive(Debug)]
pub(super) struct CurrentPacked {
    path: PathBuf,
    hash: HashKind,
    now: Mutex<Option<(Arc<PackedFile>, File)>>,
}

impl CurrentPacked {
    pub(super) fn new(path: PathBuf, hash: HashKind) -> Self {
        Self { path, hash, now: Mutex::new(None) }
    }

    /// The file as it is now; `None` if there is none.
    pub(super) fn get(&self, interrupt: Interrupt<'_>) -> Result<Option<Arc<PackedFile>>> {
        let kept = lock(&self.now).as_ref().map(|(packed, _)| packed.clone());
        if let Some(packed) = kept
            && !packed.is_stale()?
        {
            return Ok(Some(packed));
        }
        let opened = PackedFile::open_file(self.path.clone(), Some(self.hash), true, interrupt);
        let opened = match opened {
            Ok((packed, file)) => Some((Arc::new(packed), file)),
            Err(Error::Io { source, .. }) if is_nothing(&source) => None,
            Err(error) => return Err(error),
        };
        let packed = opened.as_ref().map(|(packed, _)| packed.clone());
        *lock(&self.now) = opened;
        Ok(packed)
    }
}

/// A stack of tables.
#[derive(Debug)]
pub(super) struct CurrentStack {
    dir: PathBuf,
    hash: HashKind,
    now: Mutex<Option<(Arc<Stack>, Arc<Tables>)>>,
}

impl CurrentStack {
    pub(super) fn new(dir: PathBuf, hash: HashKind) -> Self {
        Self { dir, hash, now: Mutex::new(None) }
    }

    /// The tables as they are now. Those that were open already are shared.
    pub(super) fn get(&self, interrupt: Interrupt<'_>) -> Result<Arc<Tables>> {
        let kept = lock(&self.now).clone();
        let stack = match kept {
            Some((stack, tables)) if !stack.is_stale()? => return Ok(tables),
            Some((stack, _)) => stack.reloaded(Some(self.hash), true, interrupt)?,
            None => Stack::open(self.dir.clone(), Some(self.hash), true, interrupt)?,
        };
        let tables = Arc::new(Tables::stacked(stack.tables().to_vec(), Some(self.hash)));
        *lock(&self.now) = Some((Arc::new(stack), tables.clone()));
        Ok(tables)
    }
}

impl CurrentStack {
    /// [`Self::get`]; a worktree may have no tables of its own, as for git, but it must be there itself.
    pub(super) fn get_if_any(&self, location: &Location, interrupt: Interrupt<'_>) -> Result<Arc<Tables>> {
        match self.get(interrupt) {
            Err(Error::Io { source, .. }) if is_nothing(&source) && !self.dir.exists() => {
                location.check_head()?;
                Ok(Arc::new(Tables::stacked(Vec::new(), Some(self.hash))))
            }
            tables => tables,
        }
    }
}

/// The tables of another worktree, which are not kept.
pub(super) fn tables_in(dir: &Path, hash: HashKind, interrupt: Interrupt<'_>) -> Result<Option<Arc<Tables>>> {
    match Stack::open(dir.to_owned(), Some(hash), true, interrupt) {
        Ok(stack) => Ok(Some(Arc::new(Tables::stacked(stack.tables().to_vec(), Some(hash))))),
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn lock<T>(now: &Mutex<T>) -> MutexGuard<'_, T> {
    now.lock().unwrap_or_else(PoisonError::into_inner)
}
