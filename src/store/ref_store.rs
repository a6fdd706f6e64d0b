//! A repository's refs in one format: each look sees what other programs have changed.
//!
//! Loose refs are read before packed-refs is looked at. Git writes packed-refs before it removes the loose refs that it
//! has packed, so a ref that is in no file any more is in packed-refs by then.

use std::path::PathBuf;
use std::sync::Arc;

use super::config::Format;
use super::current::{CurrentPacked, CurrentStack, tables_in};
use super::discover::{GitDirs, path_of};
use super::location::Location;
use super::log_files::LogFiles;
use super::loose_walk::{is_hidden, loose_refs, one_level_refs};
use super::view::{Kept, Repository, View, find_packed};
use super::{Entry, LooseRefs, Objects, Query, Tables};
use crate::fs::Identity;
use crate::model::{Broken, Interrupt, Place, Result, Scope, is_pseudoref, is_root_ref, is_safe, is_well_formed};
use crate::packed::{Damage, Reason};

/// A repository's refs, as long as its configuration is what it was.
#[derive(Debug)]
pub struct Store {
    repository: Arc<Repository>,
    refs: Refs,
    config: Option<Identity>,
}

#[derive(Debug)]
pub(super) enum Refs {
    Files(CurrentPacked),
    Tables {
        /// A linked worktree's.
        own: Option<CurrentStack>,
        shared: CurrentStack,
    },
}

impl Store {
    /// The refs of the repository in these directories.
    ///
    /// # Errors
    /// As [`Location::at`].
    pub(super) fn at(dirs: GitDirs) -> Result<Self> {
        let config = identity_of_config(&dirs)?;
        let location = Location::at(dirs)?;
        let hash = location.hash();
        let refs = match location.format() {
            Format::Files => Refs::Files(CurrentPacked::new(location.shared().join("packed-refs"), hash)),
            Format::Reftable => Refs::Tables {
                own: location.is_linked().then(|| CurrentStack::new(location.own().join("reftable"), hash)),
                shared: CurrentStack::new(location.stack_dir(), hash),
            },
        };
        let objects = Objects::new(location.object_dir(), hash);
        Ok(Self { repository: Arc::new(Repository { location, objects }), refs, config })
    }

    /// Whether the configuration is still what it was, so that the format is.
    pub(super) fn is_current(&self) -> Result<bool> {
        Ok(identity_of_config(self.repository.location.dirs())? == self.config)
    }

    pub(super) fn refs(&self) -> &Refs {
        &self.refs
    }

    /// The tables that a ref is in; `None` where they are not in tables, or that worktree does not exist.
    pub(super) fn tables_of(&self, place: &Place<'_>, interrupt: Interrupt<'_>) -> Result<Option<Arc<Tables>>> {
        let Refs::Tables { own, shared } = &self.refs else { return Ok(None) };
        let location = &self.repository.location;
        match place.scope {
            Scope::Current => match own {
                Some(own) => own.get_if_any(location, interrupt).map(Some),
                None => shared.get(interrupt).map(Some),
            },
            Scope::Main | Scope::Shared => shared.get(interrupt).map(Some),
            Scope::Other(id) => match location.other(id) {
                Some(dir) => tables_in(&dir.join("reftable"), location.hash(), interrupt),
                None => Ok(None),
            },
        }
    }

    /// The repository.
    #[must_use]
    pub fn repository(&self) -> &Arc<Repository> {
        &self.repository
    }

    /// The refs that a query may select, as they stand now.
    ///
    /// # Errors
    /// [`Error::Io`](crate::model::Error::Io), [`Error::Corrupt`](crate::model::Error::Corrupt), an interrupt.
    pub fn view(&self, query: &Query, interrupt: Interrupt<'_>) -> Result<Arc<View>> {
        Ok(Arc::new(View::new(self.repository.clone(), self.keep(query, interrupt)?)))
    }

    fn keep(&self, query: &Query, interrupt: Interrupt<'_>) -> Result<Kept> {
        let location = &self.repository.location;
        Ok(match &self.refs {
            Refs::Files(packed) => {
                let roots = if query.root_refs { one_level_refs(location, is_root_ref)? } else { LooseRefs::new() };
                let loose = match query.refs_prefix() {
                    Some(prefix) => loose_refs(location, prefix, interrupt)?,
                    None => LooseRefs::new(),
                };
                let packed = packed.get(interrupt)?;
                location.check_head()?;
                Kept::Files { roots: Arc::new(roots), loose: Arc::new(loose), packed, logs: None }
            }
            Refs::Tables { own, shared } => Kept::Tables {
                own: own.as_ref().map(|own| own.get_if_any(location, interrupt)).transpose()?,
                shared: shared.get(interrupt)?,
            },
        })
    }

    /// Whether packed-refs has a record of that name.
    ///
    /// # Errors
    /// As [`Self::view`], but for a name that stands in several records.
    pub(super) fn is_packed(&self, name: &[u8], interrupt: Interrupt<'_>) -> Result<bool> {
        let Refs::Files(packed) = &self.refs else { return Ok(false) };
        let Some(packed) = packed.get(interrupt)? else { return Ok(false) };
        match packed.snapshot().find(name) {
            Ok(found) => Ok(found.is_some()),
            Err(Damage { reason: Reason::Duplicate, .. }) => Ok(true),
            Err(damage) => Err(packed.damaged(damage)),
        }
    }

    /// The one-level refs in files that no listing shows.
    fn unlisted(&self) -> Result<LooseRefs> {
        let location = &self.repository.location;
        let is_in_files = matches!(self.refs, Refs::Files(_));
        one_level_refs(location, |name| is_pseudoref(name) || (is_in_files && !is_root_ref(name)))
    }

    /// All refs and logs, as they stand now.
    ///
    /// # Errors
    /// As [`Self::view`].
    pub fn snapshot(&self, interrupt: Interrupt<'_>) -> Result<Arc<View>> {
        let unlisted = self.unlisted()?;
        let kept = match self.keep(&Query::all(true), interrupt)? {
            Kept::Files { roots, loose, packed, .. } => {
                let logs = Some(LogFiles::pinned(&self.repository.location)?);
                Kept::Files { roots, loose, packed, logs }
            }
            tables @ Kept::Tables { .. } => tables,
        };
        Ok(Arc::new(View::new(self.repository.clone(), kept).with_unlisted(unlisted)))
    }

    /// The ref of exactly that name. (A badly named one too, where no path has to be built from it.)
    ///
    /// # Errors
    /// As [`Self::view`].
    pub fn find(&self, name: &[u8], interrupt: Interrupt<'_>) -> Result<Option<Entry>> {
        let location = &self.repository.location;
        if is_pseudoref(name) {
            let Some(path) = path_of(name).map(|name| location.git_dir().join(name)) else { return Ok(None) };
            let mut refs = LooseRefs::new();
            let found = refs.read_pseudoref(&path, name, location.hash(), &mut Vec::new());
            let found = found.map_err(|source| Location::failed(&path, source))?;
            return Ok(found.then(|| Entry::Loose(Arc::new(refs), 0)));
        }
        match &self.refs {
            Refs::Files(packed) => {
                if let Some(path) = location.path_of_ref(name) {
                    let mut refs = LooseRefs::new();
                    let found = refs.read(&path, name, location.hash(), &mut Vec::new());
                    let found = found.map_err(|source| Location::failed(&path, source))?;
                    // A file outside refs/ that holds no ref is some other file of git's.
                    if name == b"HEAD" {
                        location.check_head()?;
                    }
                    let is_other =
                        || !name.contains(&b'/') && is_lower(name) && refs.broken(0) == Some(Broken::BadContent);
                    if found && !is_other() {
                        return Ok(Some(Entry::Loose(Arc::new(refs), 0)));
                    }
                }
                let found = match Place::of(name).scope {
                    Scope::Current | Scope::Shared => find_packed(packed.get(interrupt)?.as_ref(), name)?,
                    Scope::Main | Scope::Other(_) => None,
                };
                if found.is_none() {
                    location.check_head()?;
                }
                Ok(found)
            }
            Refs::Tables { .. } => {
                let place = Place::of(name);
                let Some(tables) = self.tables_of(&place, interrupt)? else { return Ok(None) };
                let Some(found) = tables.find(place.name)? else { return location.check_head().map(|()| None) };
                let entry = Entry::Table(tables, found);
                // What is found under another name than it was asked for goes by the latter.
                Ok(Some(if place.name == name {
                    entry
                } else {
                    Entry::Loose(Arc::new(LooseRefs::of(name, entry.item().value())), 0)
                }))
            }
        }
    }
}

fn identity_of_config(dirs: &GitDirs) -> Result<Option<Identity>> {
    let path = dirs.config();
    Identity::at(&path).map_err(|source| Location::failed(&path, source))
}

fn is_lower(name: &[u8]) -> bool {
    name.iter().any(u8::is_ascii_lowercase)
}

impl Location {
    /// Where the file of a loose ref is; `None` for a name that no path is built from.
    pub(super) fn path_of_ref(&self, name: &[u8]) -> Option<PathBuf> {
        let (base, name) = self.base_of(name)?;
        // What git passes over in a listing is no ref.
        if name.split(|&byte| byte == b'/').any(is_hidden) {
            return None;
        }
        Some(base.join(path_of(name)?))
    }

    /// Where something below a root ref would be, which cannot be a ref.
    pub(super) fn path_below_root_ref(&self, name: &[u8]) -> Option<PathBuf> {
        let (root, _) = name.split_at_checked(name.iter().position(|&byte| byte == b'/')?)?;
        is_root_ref(root).then(|| path_of(name).map(|name| self.own().join(name)))?
    }

    /// Where the file of a ref's log is.
    pub(super) fn path_of_log(&self, name: &[u8]) -> Option<PathBuf> {
        let (base, name) = self.base_of(name)?;
        Some(base.join("logs").join(path_of(name)?))
    }

    /// The directory that the files of a ref are below, and its name there. What could lead out of the directory has none.
    fn base_of<'a>(&self, name: &'a [u8]) -> Option<(PathBuf, &'a [u8])> {
        let place = Place::of(name);
        let is_ref = place.name.starts_with(b"refs/") && is_safe(place.name);
        let is_single = !place.name.contains(&b'/') && is_well_formed(place.name);
        if !(is_ref || is_single) {
            return None;
        }
        let base = match place.scope {
            Scope::Current => self.own().to_owned(),
            Scope::Main | Scope::Shared => self.shared().to_owned(),
            Scope::Other(id) => self.other(id)?,
        };
        Some((base, place.name))
    }
}
