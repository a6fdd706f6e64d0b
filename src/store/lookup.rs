//! Looking refs up, live or in a snapshot: by name, along symbolic refs, and by what a short name may mean.

use std::sync::Arc;

use super::view::{Repository, View};
use super::{Entry, Format, Live, Query, Tables};
use crate::model::{Error, Interrupt, Result, Value};

/// How many refs git reads along a chain of symbolic ones.
const MAX_READS: usize = 5;

/// Where refs are looked up.
#[derive(Debug, Clone)]
pub enum Lookup {
    /// In a repository, as it is at each look.
    Live(Arc<Live>),
    /// As they stood at one moment.
    Frozen(Arc<View>),
}

/// What a short name means.
#[derive(Debug)]
pub struct Dwim {
    /// The ref.
    pub entry: Entry,
    /// Other refs that the name could mean, if somebody has to be warned of them.
    pub others: Vec<Vec<u8>>,
}

impl Lookup {
    /// The repository; `None` for a file that was opened alone.
    #[must_use]
    pub fn repository(&self) -> Option<Arc<Repository>> {
        match self {
            Self::Live(live) => Some(live.repository()),
            Self::Frozen(view) => view.repository().cloned(),
        }
    }

    /// The refs that a query may select.
    ///
    /// # Errors
    /// As [`Live::open`]; an interrupt.
    pub fn view(&self, query: &Query, interrupt: Interrupt<'_>) -> Result<Arc<View>> {
        match self {
            Self::Live(live) => live.ask(interrupt, |_| false, |store, interrupt| store.view(query, interrupt)),
            Self::Frozen(view) => Ok(view.clone()),
        }
    }

    /// The tables that hold all refs and logs, if nothing else does.
    ///
    /// # Errors
    /// As [`Self::view`].
    pub fn only_tables(&self, interrupt: Interrupt<'_>) -> Result<Option<Arc<Tables>>> {
        let is_in_tables = |repository: Arc<Repository>| repository.location.format() == Format::Reftable;
        if !self.repository().is_some_and(is_in_tables) {
            return Ok(None);
        }
        Ok(self.view(&Query::default(), interrupt)?.only_tables().cloned())
    }

    /// All refs and logs.
    ///
    /// # Errors
    /// As [`Self::view`].
    pub fn snapshot(&self, interrupt: Interrupt<'_>) -> Result<Arc<View>> {
        match self {
            Self::Live(live) => live.ask(interrupt, |_| false, |store, interrupt| store.snapshot(interrupt)),
            Self::Frozen(view) => Ok(view.clone()),
        }
    }

    /// The ref of exactly that name.
    ///
    /// # Errors
    /// As [`Self::view`].
    pub fn find(&self, name: &[u8], interrupt: Interrupt<'_>) -> Result<Option<Entry>> {
        match self {
            Self::Live(live) => live.ask(interrupt, Option::is_some, |store, interrupt| store.find(name, interrupt)),
            Self::Frozen(view) => view.find(name),
        }
    }

    /// Whether what is in the way of a loose ref's path is a file: the system then says "not a directory".
    #[must_use]
    pub fn is_below_a_file(&self, name: &[u8]) -> bool {
        let path = self.repository().and_then(|repository| match repository.location.format() {
            Format::Files => repository.location.path_below_root_ref(name).or(repository.location.path_of_ref(name)),
            Format::Reftable => None,
        });
        let met = path.map(|path| path.symlink_metadata());
        met.is_some_and(|met| met.is_err_and(|error| error.kind() == std::io::ErrorKind::NotADirectory))
    }

    /// The ref at the end of the chain of symbolic refs that starts with that name.
    ///
    /// # Errors
    /// [`Error::NoRef`] for the name that is missing; [`Error::Corrupt`] for a broken ref, or a chain that is too long.
    pub fn resolve(&self, name: &[u8], interrupt: Interrupt<'_>) -> Result<Entry> {
        self.follow(name, MAX_READS, interrupt)
    }

    /// [`Self::resolve`] of what a symbolic ref points at that was read already.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn resolve_target(&self, target: &[u8], interrupt: Interrupt<'_>) -> Result<Entry> {
        self.follow(target, MAX_READS - 1, interrupt)
    }

    fn follow(&self, name: &[u8], reads: usize, interrupt: Interrupt<'_>) -> Result<Entry> {
        let mut at = name.to_vec();
        for _ in 0..reads {
            let entry = self.find(&at, interrupt)?.ok_or_else(|| Error::NoRef(at.clone()))?;
            let item = entry.item();
            if let Some(why) = item.broken() {
                return Err(self.corrupt(&at, &format!("broken ref ({})", why.as_str())));
            }
            match item.value() {
                Value::Symref(target) => at = target.to_vec(),
                Value::Hex(_) | Value::Raw(_) => return Ok(entry),
                Value::Nothing => return Err(Error::NoRef(at)),
            }
        }
        Err(self.corrupt(name, "more than four symbolic refs in a row"))
    }

    /// The ref that git means by a short name: the first of those that exist and lead to an object id.
    ///
    /// # Errors
    /// [`Error::NoRef`] if there is none; [`Error::Io`], and [`Error::Corrupt`] for other damage than a broken ref.
    pub fn dwim(&self, name: &[u8], interrupt: Interrupt<'_>) -> Result<Dwim> {
        const RULES: [(&[u8], &[u8]); 6] = [
            (b"", b""),
            (b"refs/", b""),
            (b"refs/tags/", b""),
            (b"refs/heads/", b""),
            (b"refs/remotes/", b""),
            (b"refs/remotes/", b"/HEAD"),
        ];
        let warns = self.repository().is_none_or(|repository| repository.location.config.warn_ambiguous_refs);
        let mut found: Option<Dwim> = None;
        for (front, back) in RULES {
            let full = [front, name, back].concat();
            let Some(entry) = self.find(&full, interrupt)? else { continue };
            match self.resolve(&full, interrupt) {
                Ok(_) => {}
                Err(Error::NoRef(_) | Error::Corrupt { .. }) => continue,
                Err(error) => return Err(error),
            }
            match &mut found {
                Some(found) => found.others.push(full),
                None => found = Some(Dwim { entry, others: Vec::new() }),
            }
            if !warns {
                break;
            }
        }
        found.ok_or_else(|| Error::NoRef(name.to_vec()))
    }

    /// Damage where that ref is kept.
    fn corrupt(&self, name: &[u8], reason: &str) -> Error {
        let path = self.repository().and_then(|repository| {
            let location = &repository.location;
            match location.format() {
                Format::Files => location.path_of_ref(name),
                Format::Reftable => Some(location.stack_dir()),
            }
        });
        let name = name.escape_ascii();
        Error::Corrupt { path: path.unwrap_or_default(), offset: 0, line: None, reason: format!("{reason}: {name}") }
    }
}
