//! Changing refs: all of a set of edits, or none.
//!
//! ```text
//! open -> prepare -> prepared -> commit -> committed
//!   \______________/     \____ abort ____> aborted
//! ```
//!
//! Preparing takes every lock, compares what the refs hold with what was expected, under the locks, and writes all that is
//! new aside. Committing only renames and removes. Whatever fails while it is prepared leaves everything as it was.
//!
//! A process that was forked from the one that took the locks can neither commit nor release them.

mod check;
mod commit;
mod compare;
mod conflicts;
mod folders;
mod held;
mod locking;
mod loose;
mod options;
mod packed;
mod placement;
mod prepare;
mod refuse;
mod rewrite;

use std::path::PathBuf;
use std::process;
use std::sync::Arc;

use held::Prepared;

use super::location::Location;
use super::{Live, Store};
use crate::model::{
    Edit, Error, Expected, Interrupt, Oid, Place, Result, Scope, Span, Verb, is_pseudoref, is_root_ref, is_safe,
    is_well_formed,
};

pub use options::{Durability, Options, Placement};

/// How often everything is started anew because the configuration changed meanwhile.
const TRIES: usize = 3;

/// Edits of a repository's refs.
#[derive(Debug)]
pub struct Transaction {
    live: Arc<Live>,
    options: Options,
    edits: Vec<Edit>,
    stage: Stage,
    rejected: Vec<(usize, Error)>,
}

#[derive(Debug)]
enum Stage {
    Open,
    Prepared(Box<Prepared>),
    Committed,
    Aborted,
}

/// How far a transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It takes edits.
    Open,
    /// It holds its locks.
    Prepared,
    /// Its edits are made.
    Committed,
    /// Its edits are not made.
    Aborted,
}

/// What a commit would do.
#[derive(Debug, Default)]
pub struct Planned {
    /// The spans of the packed-refs file that are kept, in bytes from its start; none if it is not rewritten.
    pub kept: Vec<Span>,
    /// The texts that are put between them, the header first.
    pub put: Vec<Vec<u8>>,
    /// What the new header claims.
    pub traits: Vec<&'static str>,
    /// The lock files.
    pub locks: Vec<PathBuf>,
}

impl Transaction {
    /// No edits yet.
    #[must_use]
    pub fn new(live: Arc<Live>, options: Options) -> Self {
        Self { live, options, edits: Vec::new(), stage: Stage::Open, rejected: Vec::new() }
    }

    /// How far it is.
    #[must_use]
    pub fn state(&self) -> State {
        match self.stage {
            Stage::Open => State::Open,
            Stage::Prepared(_) => State::Prepared,
            Stage::Committed => State::Committed,
            Stage::Aborted => State::Aborted,
        }
    }

    /// The repository.
    #[must_use]
    pub fn live(&self) -> &Live {
        &self.live
    }

    /// What it was told.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The edits so far.
    #[must_use]
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// The edits that were not made, by number, and why.
    pub fn take_rejected(&mut self) -> Vec<(usize, Error)> {
        std::mem::take(&mut self.rejected)
    }

    /// Adds edits: all, or, if there is anything wrong with one, none.
    ///
    /// # Errors
    /// [`Error::RefName`] for a name that may not be written so, [`Error::InvalidValue`] for an object id of another hash
    /// or of zeros, [`Error::State`] if it is not open.
    pub fn apply(&mut self, edits: Vec<Edit>, interrupt: Interrupt<'_>) -> Result<()> {
        self.expect_open()?;
        let store = self.live.known();
        for edit in &edits {
            check(edit, &store, interrupt)?;
        }
        self.edits.extend(edits);
        Ok(())
    }

    /// Takes the locks, compares, and writes aside what is new.
    ///
    /// # Errors
    /// The first edit's that is refused, if one stops all: [`Error::RefExists`], [`Error::NoRef`], [`Error::Stale`],
    /// [`Error::Conflict`], [`Error::CaseConflict`], [`Error::InvalidValue`], [`Error::Locked`]. For all of them
    /// [`Error::Unsupported`], [`Error::Corrupt`], [`Error::Io`], [`Error::Locked`] for that of packed-refs,
    /// [`Error::State`] if a ref is edited twice; an interrupt. It is aborted then.
    pub fn prepare(&mut self, interrupt: Interrupt<'_>) -> Result<()> {
        self.expect_open()?;
        self.stage = Stage::Aborted;
        for _ in 0..TRIES {
            let store = self.live.current()?;
            let (prepared, rejected) = prepare::prepare(&store, &self.edits, &self.options, interrupt)?;
            // A migration to the other format replaces the configuration: what is in the files then is nobody's.
            if store.is_current()? {
                self.stage = Stage::Prepared(Box::new(prepared));
                self.rejected = rejected;
                return Ok(());
            }
        }
        Err(Error::State("the repository's configuration does not stop changing".to_owned()))
    }

    /// Makes the edits that were prepared.
    ///
    /// # Errors
    /// [`Error::State`] if they were not, or by another process; [`Error::Io`], and [`Error::Conflict`] if somebody has put
    /// a directory in the place of a ref. Then edits that came earlier in the order of names may have been made.
    pub fn commit(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.stage, Stage::Aborted) {
            Stage::Prepared(prepared) if prepared.process == process::id() => {
                prepared.commit(self.options.durability)?;
                self.stage = Stage::Committed;
                Ok(())
            }
            stage => {
                self.stage = stage;
                Err(Error::State(
                    match self.state() {
                        State::Prepared => {
                            "the transaction was prepared by another process, which this one was forked from"
                        }
                        State::Open => "the transaction is not prepared",
                        State::Committed => "the transaction is committed already",
                        State::Aborted => "the transaction was aborted",
                    }
                    .to_owned(),
                ))
            }
        }
    }

    /// Releases the locks and forgets the edits. Harmless if that was done already.
    ///
    /// # Errors
    /// [`Error::State`] if they are made already.
    pub fn abort(&mut self) -> Result<()> {
        if let Stage::Committed = self.stage {
            return Err(Error::State("the transaction is committed already".to_owned()));
        }
        self.stage = Stage::Aborted;
        Ok(())
    }

    /// What a commit would do; before it is prepared, as things are now and if every edit is made.
    ///
    /// # Errors
    /// As [`Self::prepare`], without those of single edits.
    pub fn plan(&self, interrupt: Interrupt<'_>) -> Result<Planned> {
        match &self.stage {
            Stage::Prepared(prepared) => Ok(prepared.planned()),
            Stage::Open => prepare::plan(&*self.live.current()?, &self.edits, &self.options, interrupt),
            Stage::Committed | Stage::Aborted => self.expect_open().map(|()| Planned::default()),
        }
    }

    fn expect_open(&self) -> Result<()> {
        Err(Error::State(
            match self.state() {
                State::Open => return Ok(()),
                State::Prepared => "the transaction is prepared already",
                State::Committed => "the transaction is committed already",
                State::Aborted => "the transaction was aborted",
            }
            .to_owned(),
        ))
    }
}

/// Checks what can be known of an edit by itself.
fn check(edit: &Edit, store: &Store, interrupt: Interrupt<'_>) -> Result<()> {
    let location = &store.repository().location;
    if let Some(reason) = fault(edit, location) {
        // What is packed under a name that no path is built from can be removed all the same.
        if edit.verb != Verb::Delete || !store.is_packed(&edit.name, interrupt)? {
            return Err(Error::RefName { name: edit.name.clone(), reason });
        }
    }
    let old = match edit.old {
        Expected::Oid(old) => Some(old),
        Expected::Any | Expected::Absent => None,
    };
    let wrong = |oid: &&Oid| oid.kind() != location.hash() || oid.is_zero();
    match [edit.new, old].iter().flatten().find(wrong) {
        None => Ok(()),
        Some(value) => {
            let reason = if value.is_zero() { "the null object id is no value" } else { "object id of another hash" };
            Err(Error::InvalidValue { name: edit.name.clone(), value: *value, reason })
        }
    }
}

/// Why a ref of that name cannot be edited so; `None` if it can.
fn fault(edit: &Edit, location: &Location) -> Option<&'static str> {
    let name = Place::of(&edit.name).name;
    let is_set = matches!(edit.verb, Verb::Create | Verb::Update);
    let is_allowed = if is_set { is_well_formed(name) } else { is_safe(name) || is_well_formed(name) };
    if !is_allowed {
        return Some(if is_set { "not a well-formed refname" } else { "not a refname" });
    }
    if is_pseudoref(name) {
        return Some("a pseudoref cannot be changed as a ref");
    }
    if !(name.starts_with(b"refs/") || is_root_ref(name)) {
        return Some("neither below refs/ nor a root ref");
    }
    if location.path_of_ref(&edit.name).is_none() {
        return Some("no path can be built from it");
    }
    if let Scope::Other(id) = Place::of(&edit.name).scope
        && location.other(id).is_none_or(|dir| dir.join("HEAD").symlink_metadata().is_err())
    {
        return Some("there is no such worktree");
    }
    (edit.verb == Verb::Delete && name == b"HEAD").then_some("a repository is none without HEAD")
}
