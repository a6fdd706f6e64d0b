//! Finding repositories: a walk over folders, in order of their names.
//!
//! ```text
//! repository = a folder with `.git` (a folder or a file), or with `objects/`, `refs/`, and `HEAD` or `config`
//! ```
//!
//! One that is damaged is found, too: whoever opens it learns why. Each is found once, by the first path that leads to its
//! git directory. Git directories are not entered; work trees are, for the
//! sake of submodules and whatever else lies in them. Symbolic links to folders are not followed. A linked worktree is no
//! repository of its own: it is passed over if the repository that it belongs to lies below the root, too.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::discover::GitDirs;
use crate::fs;
use crate::model::{Error, Interrupt, Result};

/// A walk over the repositories below a folder.
#[derive(Debug)]
pub struct Finder {
    root: PathBuf,
    /// Folders to come, the next one last.
    folders: Vec<PathBuf>,
    /// Git directories of what was found, and those that linked worktrees led to.
    seen: HashSet<PathBuf>,
}

impl Finder {
    /// The repositories at and below `root`.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be listed.
    pub fn new(root: &Path) -> Result<Self> {
        let failed = |source| Error::Io { path: root.to_owned(), source };
        root.read_dir().map_err(failed)?;
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
            let has = |name: &str| listed.contains_key(OsStr::new(name));
            // A link will do: objects may lie elsewhere.
            let has_folder = |name: &str| match listed.get(OsStr::new(name)) {
                Some(kind) => kind.is_dir() || (kind.is_symlink() && folder.join(name).is_dir()),
                None => false,
            };
            if has_folder("objects") && has_folder("refs") && (has("HEAD") || has("config")) {
                if self.is_new(&folder) {
                    return Ok(Some(folder));
                }
                continue;
            }
            let below = listed.iter().rev().filter(|(name, kind)| kind.is_dir() && *name != ".git");
            self.folders.extend(below.map(|(name, _)| folder.join(name)));
            if has(".git") && self.is_its_own(&folder) {
                return Ok(Some(folder));
            }
        }
        Ok(None)
    }

    /// Whether a folder with `.git` is a repository that was not found yet, not a further worktree of one.
    fn is_its_own(&mut self, folder: &Path) -> bool {
        let dot_git = folder.join(".git");
        if dot_git.is_dir() {
            return self.is_new(&dot_git);
        }
        match GitDirs::of(folder) {
            Ok(dirs) if dirs.own != dirs.shared => !dirs.shared.starts_with(&self.root) && self.is_new(&dirs.shared),
            Ok(dirs) => self.is_new(&dirs.own),
            Err(_) => true,
        }
    }

    /// Whether no repository with that git directory was found yet.
    fn is_new(&mut self, git_dir: &Path) -> bool {
        self.seen.insert(git_dir.canonicalize().unwrap_or_else(|_| git_dir.to_owned()))
    }
}
