//! A packed-refs file at a path: its snapshot, and whether the path still leads to it.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::fs::{self, Identity, absolute};
use crate::model::{Error, HashKind, Interrupt, Oid, Result, Selection};
use crate::packed::{Cursor, Damage, Record, Snapshot, Stop};

/// A snapshot of the packed-refs file at a path.
#[derive(Debug)]
pub struct PackedFile {
    path: PathBuf,
    /// The same, wherever the process goes.
    absolute: PathBuf,
    identity: Identity,
    snapshot: Snapshot,
}

impl PackedFile {
    /// Opens the file and takes its content; see [`Snapshot::new`] for how much of it is read.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read, [`Error::Corrupt`] for damage found on the way, [`Error::Interrupted`].
    pub fn open(path: PathBuf, hash: Option<HashKind>, may_map: bool, interrupt: Interrupt<'_>) -> Result<Self> {
        Self::open_file(path, hash, may_map, interrupt).map(|(file, _)| file)
    }

    /// [`Self::open`], and the open file: while it is held, [`Self::is_stale`] cannot take another file for this one.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_file(
        path: PathBuf,
        hash: Option<HashKind>,
        may_map: bool,
        interrupt: Interrupt<'_>,
    ) -> Result<(Self, File)> {
        let (backing, identity, file) = fs::load_file(&path, may_map, interrupt)?;
        let snapshot = Snapshot::new(backing, hash, interrupt).map_err(|stop| stop.in_file(path.clone()))?;
        Ok((Self { absolute: absolute(&path), path, identity, snapshot }, file))
    }

    /// The path as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file held when it was opened.
    #[inline]
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// [`Snapshot::select`], whose damage names this file.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn select(&self, selection: Selection<'_>) -> Result<Cursor> {
        if selection.is_all() {
            self.snapshot.expect_scan(true);
        }
        self.snapshot.select(selection).map_err(|damage| damage.in_file(self.path.clone()))
    }

    /// Damage, in this file.
    pub(super) fn damaged(&self, damage: Damage) -> Error {
        damage.in_file(self.path.clone())
    }

    /// [`Snapshot::next`], whose damage names this file.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    #[inline(always)]
    pub fn next(&self, cursor: &mut Cursor) -> Result<Option<Record>> {
        self.snapshot.next(cursor).map_err(|damage| damage.in_file(self.path.clone()))
    }

    /// [`Snapshot::find`], whose damage names this file.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn find(&self, name: &[u8]) -> Result<Option<Record>> {
        self.snapshot.find(name).map_err(|damage| damage.in_file(self.path.clone()))
    }

    /// [`Snapshot::count`], whose damage names this file.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Interrupted`].
    pub fn count(&self, interrupt: Interrupt<'_>) -> Result<usize> {
        self.scan(|| self.snapshot.count(interrupt))
    }

    /// [`Snapshot::points_at`], whose damage names this file.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Interrupted`].
    pub fn points_at(&self, oid: &Oid, interrupt: Interrupt<'_>) -> Result<Vec<Record>> {
        self.scan(|| self.snapshot.points_at(oid, interrupt))
    }

    /// Does work that reads all of the file, and tells the system so as long as it takes.
    fn scan<T>(&self, work: impl FnOnce() -> std::result::Result<T, Stop>) -> Result<T> {
        self.snapshot.expect_scan(true);
        let done = work();
        self.snapshot.expect_scan(false);
        done.map_err(|stop| stop.in_file(self.path.clone()))
    }

    /// Whether the path now leads to another file, or to this one changed; also if it leads nowhere.
    ///
    /// # Errors
    /// [`Error::Io`] if the system does not say.
    pub fn is_stale(&self) -> Result<bool> {
        let now = Identity::at(&self.absolute).map_err(|source| Error::Io { path: self.path.clone(), source })?;
        Ok(now != Some(self.identity))
    }
}
