//! Finding repositories: a walk over folders, in order of their names.
//!
//! ```text
//! repository = a folder with `.git` (a folder or a file), or with `objects/`, `refs/`, and `HEAD` or `config`
//! ```
//!
//! One that is damaged is found, too: whoever opens it learns why. Git directories are not entered; work trees are, for the
//! sake of submodules and whatever else lies in them. Symbolic links to folders are not followed. A linked worktree is no
//! repository of its own: it is passed over if the repository that it belongs to lies below the root, too.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::discover::GitDirs;
use crate::fs;
use crate::model::{Error, Interrupt, Result};

/// A walk over the repositories below a folder.
#[derive(Debug)]
pub struct Fleet {
    root: PathBuf,
    /// Folders to come, the next one last.
    folders: Vec<PathBuf>,
    /// Git directories that linked worktrees outside the root's repositories led to.
    seen: HashSet<PathBuf>,
}

impl Fleet {
    /// The repositories at and below `root`.
    ///
    /// # Errors
    /// [`Error::Io`] if there is no such folder.
    pub fn new(root: &Path) -> Result<Self> {
        let failed = |source| Error::Io { path: root.to_owned(), source };
        if !root.metadata().map_err(failed)?.is_dir() {
            return Err(failed(std::io::ErrorKind::NotADirectory.into()));
        }
        let real = root.canonicalize().map_err(failed)?;
        Ok(Self { root: real, folders: vec![root.to_owned()], seen: HashSet::new() })
    }

    /// The next repository, by the root and the path below it.
    ///
    /// # Errors
    /// [`Error::Io`] for a folder that cannot be listed; asked again, it goes on behind that. An interrupt.
    pub fn next_repository(&mut self, interrupt: Interrupt<'_>) -> Result<Option<PathBuf>> {
        while let Some(folder) = self.folders.pop() {
            if !interrupt() {
                self.folders.push(folder);
                return Err(Error::Interrupted);
            }
            let listed = fs::list(&folder).map_err(|source| Error::Io { path: folder.clone(), source })?;
            let has = |name: &str| listed.iter().any(|(entry, _)| entry == name);
            let has_folder = |name: &str| listed.iter().any(|(entry, kind)| entry == name && kind.is_dir());
            if has_folder("objects") && has_folder("refs") && (has("HEAD") || has("config")) {
                return Ok(Some(folder));
            }
            let below = listed.iter().rev().filter(|(name, kind)| kind.is_dir() && *name != ".git");
            self.folders.extend(below.map(|(name, _)| folder.join(name)));
            if has(".git") && self.is_its_own(&folder) {
                return Ok(Some(folder));
            }
        }
        Ok(None)
    }

    /// Whether a folder with `.git` is a repository, not a further worktree of one.
    fn is_its_own(&mut self, folder: &Path) -> bool {
        if folder.join(".git").is_dir() {
            return true;
        }
        match GitDirs::of(folder) {
            Ok(dirs) if dirs.own != dirs.shared => {
                !dirs.shared.starts_with(&self.root) && self.seen.insert(dirs.shared)
            }
            _ => true,
        }
    }
}
