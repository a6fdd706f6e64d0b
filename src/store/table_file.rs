//! One reftable file at a path.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::fs::{self, Identity, absolute};
use crate::model::{Error, HashKind, Interrupt, Result};
use crate::reftable::{BlockSummary, Table, summaries};

/// A table and where it was opened.
#[derive(Debug)]
pub struct TableFile {
    path: PathBuf,
    /// The same, wherever the process goes.
    absolute: PathBuf,
    identity: Identity,
    table: Arc<Table>,
}

impl TableFile {
    /// Opens the file and reads its header and footer.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read, [`Error::Corrupt`] for damage in header or footer or another hash,
    /// [`Error::Interrupted`].
    pub fn open(path: PathBuf, hash: Option<HashKind>, may_map: bool, interrupt: Interrupt<'_>) -> Result<Self> {
        let (backing, identity) = fs::load(&path, may_map, interrupt)?;
        let table = Table::new(backing, hash).map_err(|damage| damage.in_file(path.clone()))?;
        Ok(Self { absolute: absolute(&path), path, identity, table: Arc::new(table) })
    }

    /// The path as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file holds.
    #[must_use]
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Whether both were opened from one file. (Git never changes a table.)
    #[must_use]
    pub fn is_same_file(&self, other: &Self) -> bool {
        self.absolute == other.absolute && self.identity == other.identity
    }

    /// Every block, in file order, with the number of its records.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Interrupted`].
    pub fn blocks(&self, interrupt: Interrupt<'_>) -> Result<Vec<BlockSummary>> {
        let blocks = summaries(&self.table, interrupt).map_err(|damage| damage.in_file(self.path.clone()))?;
        blocks.ok_or(Error::Interrupted)
    }

    /// Whether the path now leads to another file, to this one changed, or nowhere.
    ///
    /// # Errors
    /// [`Error::Io`] if the system does not say.
    pub fn is_stale(&self) -> Result<bool> {
        let now = Identity::at(&self.absolute).map_err(|source| Error::Io { path: self.path.clone(), source })?;
        Ok(now != Some(self.identity))
    }
}
