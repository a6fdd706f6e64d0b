//! A repository's refs, or some of them, as they stood at one moment.

use std::sync::Arc;

use super::location::Location;
use super::log_files::LogFiles;
use super::{Entry, LooseRefs, Objects, PackedFile, Query, Tables, Walk};
use crate::model::{Error, HashKind, Interrupt, Place, Result, Scope};
use crate::packed::{Damage, Reason};

/// A repository, without its refs.
#[derive(Debug)]
pub struct Repository {
    /// Where it is.
    pub location: Location,
    /// Its objects.
    pub objects: Objects,
}

/// Refs that do not change.
#[derive(Debug)]
pub struct View {
    /// `None` for a file that was opened alone.
    repository: Option<Arc<Repository>>,
    kept: Kept,
    /// Of a snapshot, what stands in files beside the refs, and is found by name only.
    unlisted: LooseRefs,
}

/// What they were read from.
#[derive(Debug)]
pub(super) enum Kept {
    Files {
        roots: Arc<LooseRefs>,
        loose: Arc<LooseRefs>,
        packed: Option<Arc<PackedFile>>,
        /// `None` if they were not asked for.
        logs: Option<LogFiles>,
    },
    Tables {
        /// A linked worktree's.
        own: Option<Arc<Tables>>,
        shared: Arc<Tables>,
    },
}

impl View {
    pub(super) fn new(repository: Arc<Repository>, kept: Kept) -> Self {
        Self { repository: Some(repository), kept, unlisted: LooseRefs::new() }
    }

    /// The same, with refs that are found by name only.
    pub(super) fn with_unlisted(self, unlisted: LooseRefs) -> Self {
        Self { unlisted, ..self }
    }

    /// The refs of a packed-refs file alone.
    #[must_use]
    pub fn of_packed(file: Arc<PackedFile>) -> Self {
        let none = Arc::new(LooseRefs::default());
        let kept = Kept::Files { roots: none.clone(), loose: none, packed: Some(file), logs: None };
        Self { repository: None, kept, unlisted: LooseRefs::new() }
    }

    /// The refs of tables alone.
    #[must_use]
    pub fn of_tables(tables: Arc<Tables>) -> Self {
        let kept = Kept::Tables { own: None, shared: tables };
        Self { repository: None, kept, unlisted: LooseRefs::new() }
    }

    /// Whose refs they are; `None` for a file that was opened alone.
    #[must_use]
    pub fn repository(&self) -> Option<&Arc<Repository>> {
        self.repository.as_ref()
    }

    /// The tables that hold everything, if nothing else does.
    pub(super) fn only_tables(&self) -> Option<&Arc<Tables>> {
        match &self.kept {
            Kept::Tables { own: None, shared } => Some(shared),
            _ => None,
        }
    }

    pub(super) fn kept(&self) -> &Kept {
        &self.kept
    }

    /// The hash of the object ids, if anything tells.
    #[must_use]
    pub fn hash(&self) -> Option<HashKind> {
        match (&self.repository, &self.kept) {
            (Some(repository), _) => Some(repository.location.hash()),
            (None, Kept::Files { packed, .. }) => packed.as_ref()?.snapshot().hash(),
            (None, Kept::Tables { shared, .. }) => shared.hash(),
        }
    }

    /// A walk over the refs that a query selects.
    ///
    /// # Errors
    /// As [`PackedFile::select`].
    pub fn walk(self: &Arc<Self>, query: Query) -> Result<Walk> {
        Walk::new(self.clone(), query)
    }

    /// The ref of exactly that name.
    ///
    /// # Errors
    /// As [`PackedFile::find`] and [`Tables::find`]; [`Error::Unsupported`] for a ref of another worktree's own.
    pub fn find(&self, name: &[u8]) -> Result<Option<Entry>> {
        self.refuse_other_worktrees(name)?;
        let i = self.unlisted.seek(name);
        if i < self.unlisted.len() && self.unlisted.name(i) == name {
            let only = LooseRefs::of(name, self.unlisted.value(i));
            return Ok(Some(Entry::Loose(Arc::new(only), 0)));
        }
        match &self.kept {
            Kept::Files { roots, loose, packed, .. } => {
                for refs in [loose, roots] {
                    let i = refs.seek(name);
                    if i < refs.len() && refs.name(i) == name {
                        return Ok(Some(Entry::Loose(refs.clone(), i)));
                    }
                }
                find_packed(packed.as_ref(), name)
            }
            Kept::Tables { own, shared } => {
                let is_own = Place::of(name).scope == Scope::Current;
                let tables = own.as_ref().filter(|_| is_own).unwrap_or(shared);
                Ok(tables.find(name)?.map(|found| Entry::Table(tables.clone(), found)))
            }
        }
    }

    /// The packed ref of that name, whatever lies loose over it.
    ///
    /// # Errors
    /// As [`PackedFile::find`].
    pub(super) fn find_beneath(&self, name: &[u8]) -> Result<Option<Entry>> {
        match &self.kept {
            Kept::Files { packed, .. } => find_packed(packed.as_ref(), name),
            Kept::Tables { .. } => Ok(None),
        }
    }

    /// A snapshot has nothing to say of another worktree's own refs and logs.
    pub(super) fn refuse_other_worktrees(&self, name: &[u8]) -> Result<()> {
        match &self.repository {
            Some(repository) if matches!(Place::of(name).scope, Scope::Main | Scope::Other(_)) => {
                let reason = "a snapshot holds no refs or logs of other worktrees: ask the store".to_owned();
                Err(Error::Unsupported { path: repository.location.git_dir().to_owned(), reason })
            }
            _ => Ok(()),
        }
    }

    /// [`Self::find`]; a name that stands in several packed records is not found.
    ///
    /// # Errors
    /// As [`Self::find`], but for that.
    pub(super) fn find_single(&self, name: &[u8]) -> Result<Option<Entry>> {
        if let Kept::Files { packed: Some(packed), loose, roots, .. } = &self.kept
            && let Err(Damage { reason: Reason::Duplicate, .. }) = packed.snapshot().find(name)
        {
            let is_in = |refs: &LooseRefs| refs.name(refs.seek(name)) == name;
            if !is_in(loose) && !is_in(roots) {
                return Ok(None);
            }
        }
        self.find(name)
    }

    /// How many refs a query selects.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::model::Error::Corrupt), an interrupt.
    pub fn count(self: &Arc<Self>, query: Query, interrupt: Interrupt<'_>) -> Result<usize> {
        let mut walk = self.walk(query)?;
        let mut count = 0_usize;
        while walk.next(interrupt)?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}

pub(super) fn find_packed(packed: Option<&Arc<PackedFile>>, name: &[u8]) -> Result<Option<Entry>> {
    let Some(packed) = packed else { return Ok(None) };
    Ok(packed.find(name)?.map(|record| Entry::Packed(packed.clone(), record)))
}
