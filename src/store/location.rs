//! Where the refs of a repository are, and in which format.

use std::ffi::OsStr;
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
    /// The repository that `path` lies in, or the one that the environment names; `worktree` picks a linked worktree.
    ///
    /// # Errors
    /// [`Error::NoRepository`], [`Error::Unsupported`], [`Error::Corrupt`], [`Error::Io`].
    pub fn find(path: Option<&Path>, worktree: Option<&OsStr>) -> Result<Self> {
        let mut dirs = GitDirs::find(path)?;
        if let Some(id) = worktree {
            dirs = dirs.linked(id)?;
        }
        let repository = RepositoryFormat::read(&dirs)?;
        let config = Config::read(&dirs, &repository)?;
        let RepositoryFormat { format, hash, location, .. } = repository;
        let (mut own, mut shared) = (dirs.own.clone(), dirs.common.clone());
        if let Some(location) = location {
            shared = shared.join(location);
            own.clone_from(&shared);
            if dirs.own != dirs.common {
                own = own.join("worktrees").join(dirs.own.file_name().unwrap_or_default());
            }
        }
        let found = Self { dirs, format, hash, own, shared, config };
        found.is_whole()?;
        Ok(found)
    }

    /// An unfinished migration leaves what no answer can be right for.
    fn is_whole(&self) -> Result<()> {
        let head = self.own.join("HEAD");
        let mut text = Vec::new();
        let there = look(&head, &mut text).map_err(|source| Error::Io { path: head.clone(), source })?;
        let is_stub = there == There::File && Content::parse(&text, self.hash) == Some(Content::Symref(STUB));
        let damaged =
            |path, reason: &str| Err(Error::Corrupt { path, offset: 0, line: None, reason: reason.to_owned() });
        if self.format == Format::Files && is_stub {
            return damaged(head, "HEAD says that the refs are in tables, the configuration that they are in files");
        }
        let stack = self.stack_dir();
        if self.format == Format::Reftable && !stack.is_dir() {
            return damaged(stack, "the configuration says that the refs are in tables, but there are none");
        }
        Ok(())
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
    pub(super) fn own(&self) -> &Path {
        &self.own
    }

    /// Where the refs of all worktrees are, and the main one's own.
    pub(super) fn shared(&self) -> &Path {
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

    pub(super) fn failed(path: &Path, source: std::io::Error) -> Error {
        Error::Io { path: fs::absolute(path), source }
    }
}
