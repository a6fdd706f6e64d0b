//! Where the refs of a repository are, and in which format.

use std::path::{Path, PathBuf};

use super::config::{Config, Format, RepositoryFormat};
use super::discover::{GitDirs, path_of};
use crate::fs::{self, There, look};
use crate::loose::Content;
use crate::model::{Error, HashKind, Result};

/// What `HEAD` says where the refs are in tables, so that older tools take the directory for a repository.
const STUB: &[u8] = b"refs/heads/.invalid";

/// A repository as one of its worktrees sees it.
#[derive(Debug)]
pub struct Location {
    dirs: GitDirs,
    format: Format,
    hash: HashKind,
    /// Where this worktree's own refs are, and where those of all are.
    own: PathBuf,
    shared: PathBuf,
    pub(super) config: Config,
}

impl Location {
    /// What the configuration says of the repository in these directories.
    ///
    /// # Errors
    /// [`Error::Unsupported`], [`Error::Corrupt`], [`Error::Io`].
    pub(super) fn at(dirs: GitDirs) -> Result<Self> {
        let repository = RepositoryFormat::read(&dirs)?;
        let config = Config::read(&dirs, &repository)?;
        let RepositoryFormat { format, hash, location, .. } = repository;
        let (mut own, mut shared) = (dirs.own.clone(), dirs.shared.clone());
        if let Some(location) = location {
            shared = shared.join(location);
            own.clone_from(&shared);
            if dirs.own != dirs.shared {
                own = own.join("worktrees").join(dirs.own.file_name().unwrap_or_default());
            }
        }
        let found = Self { dirs, format, hash, own, shared, config };
        let stack = found.stack_dir();
        if found.format == Format::Reftable && !stack.is_dir() {
            return Err(unfinished(stack, "the refs should be in tables, but there are none"));
        }
        found.check_head()?;
        Ok(found)
    }

    /// Whether there is a `HEAD`: without it nothing that is missing can be believed. And if refs are in files, with the stub
    /// of the other format a migration is under way, or was never finished.
    pub(super) fn check_head(&self) -> Result<()> {
        if self.format == Format::Reftable {
            // The stub, by which the directory is known.
            return match self.dirs.own.join("HEAD").symlink_metadata() {
                Ok(_) => Ok(()),
                Err(_) => Err(Error::NoRepository(self.dirs.own.clone())),
            };
        }
        let head = self.own.join("HEAD");
        let mut text = Vec::new();
        match look(&head, &mut text).map_err(|source| Self::failed(&head, source))? {
            There::Nothing | There::Directory => Err(Error::NoRepository(self.own.clone())),
            There::File if Content::parse(&text, self.hash) == Some(Content::Symref(STUB)) => {
                Err(unfinished(head, "HEAD says that the refs are in tables, but they should be in files"))
            }
            _ => Ok(()),
        }
    }

    /// The worktree's git directory.
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        &self.dirs.own
    }

    /// The git directory of all worktrees.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        &self.dirs.common
    }

    /// Where objects are.
    #[must_use]
    pub fn object_dir(&self) -> &Path {
        &self.dirs.objects
    }

    /// How refs are stored.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The hash of the object ids.
    #[must_use]
    pub fn hash(&self) -> HashKind {
        self.hash
    }

    /// Whether it is not the main worktree.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.own != self.shared
    }

    /// Where this worktree's own refs are.
    #[must_use]
    pub fn own(&self) -> &Path {
        &self.own
    }

    /// Where the refs of all worktrees are, and the main one's own.
    #[must_use]
    pub fn shared(&self) -> &Path {
        &self.shared
    }

    /// Where another linked worktree has its refs.
    pub(super) fn other(&self, id: &[u8]) -> Option<PathBuf> {
        Some(self.shared.join("worktrees").join(path_of(id)?))
    }

    /// Where the tables of all worktrees are.
    pub(super) fn stack_dir(&self) -> PathBuf {
        self.shared.join("reftable")
    }

    /// The directories.
    pub(super) fn dirs(&self) -> &GitDirs {
        &self.dirs
    }

    pub(super) fn failed(path: &Path, source: std::io::Error) -> Error {
        Error::Io { path: fs::absolute(path), source }
    }
}

/// A migration from one format to the other leaves what no answer can be right for.
fn unfinished(path: PathBuf, reason: &str) -> Error {
    Error::Corrupt { path, offset: 0, line: None, reason: format!("{reason}: an unfinished migration?") }
}
