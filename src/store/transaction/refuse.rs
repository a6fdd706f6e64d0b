//! What a transaction does not do yet, found out before any lock is taken.
//!
//! Refs in tables, symbolic refs, reflogs and hooks. An edit gets an entry in a log if git would write one: because the log
//! is there, or because the configuration wants one. `HEAD` has a log of its own, of what happens to the branch it names.

use std::env;
use std::path::Path;

use super::folders::Folders;
use super::loose::Loose;
use crate::fs::{There, look};
use crate::loose::Content;
use crate::model::{Edit, Error, Result, Verb};
use crate::store::config::Format;
use crate::store::location::Location;
use crate::store::write_config::LogUpdates;

/// What git runs before and after it changes refs.
const HOOK: &str = "reference-transaction";

/// Refuses a whole repository.
///
/// # Errors
/// [`Error::Unsupported`].
pub(super) fn refuse_repository(location: &Location) -> Result<()> {
    let unsupported =
        |path: &Path, reason: &str| Err(Error::Unsupported { path: path.to_owned(), reason: reason.to_owned() });
    if env::var_os("GIT_QUARANTINE_PATH").is_some() {
        return unsupported(location.git_dir(), "refs cannot be changed inside a quarantine (GIT_QUARANTINE_PATH)");
    }
    if location.format() == Format::Reftable {
        return unsupported(&location.stack_dir(), "refs in tables cannot be changed yet");
    }
    let hook = location.config.write.hooks.join(HOOK);
    if is_executable(&hook) { unsupported(&hook, "hooks are not run yet") } else { Ok(()) }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file()
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// Finds edits that are not supported.
pub(super) struct Refuser<'a> {
    location: &'a Location,
    /// The branch that `HEAD` names, if what happens to it is logged.
    logged_branch: Option<Vec<u8>>,
    refs: Folders,
    logs: Folders,
    buffer: Vec<u8>,
}

impl<'a> Refuser<'a> {
    pub(super) fn new(location: &'a Location) -> Result<Self> {
        let (refs, logs) = (Folders::default(), Folders::default());
        let mut refuser = Self { location, logged_branch: None, refs, logs, buffer: Vec::new() };
        let Some(head) = location.path_of_ref(b"HEAD") else { return Ok(refuser) };
        let there = look(&head, &mut refuser.buffer).map_err(|source| Location::failed(&head, source))?;
        let target = match there {
            There::Link(target) => Some(target.into_os_string().into_encoded_bytes()),
            There::File => match Content::parse(&refuser.buffer, location.hash()) {
                Some(Content::Symref(target)) => Some(target.to_vec()),
                _ => None,
            },
            _ => None,
        };
        refuser.logged_branch = target.filter(|_| refuser.is_logged(b"HEAD"));
        Ok(refuser)
    }

    /// Refuses an edit of a symbolic ref, or one that git would write or delete a log for.
    ///
    /// # Errors
    /// [`Error::Unsupported`]; [`Error::Corrupt`] for a ref that is neither, [`Error::Io`].
    pub(super) fn refuse(&mut self, edit: &Edit) -> Result<()> {
        let Some(path) = self.location.path_of_ref(&edit.name) else { return Ok(()) };
        let unsupported = |reason: &str| {
            let reason = format!("{reason}: {}", edit.name.escape_ascii());
            Err(Error::Unsupported { path: path.clone(), reason })
        };
        if self.logged_branch.as_deref() == Some(&edit.name) {
            return unsupported("reflogs are not written yet, and HEAD has one of what happens to this branch");
        }
        let is_logged = match edit.verb {
            Verb::Create | Verb::Update => self.is_logged(&edit.name),
            // Its log goes with it; none is made for that.
            Verb::Delete => self.has_log(&edit.name),
            Verb::Verify => false,
        };
        if is_logged {
            return unsupported("reflogs are not written yet, and this ref has one or gets one");
        }
        // A ref that is damaged is no reason to refuse the others yet.
        if path.parent().is_some_and(|dir| self.refs.has(dir))
            && matches!(Loose::read(&path, self.location.hash(), &mut self.buffer), Ok(Loose::Symref))
        {
            return unsupported("symbolic refs cannot be changed yet");
        }
        Ok(())
    }

    /// Whether git would write a log when that ref is set.
    fn is_logged(&mut self, name: &[u8]) -> bool {
        let begins = |space: &[u8]| name.starts_with(space);
        let usual = || name == b"HEAD" || begins(b"refs/heads/") || begins(b"refs/remotes/") || begins(b"refs/notes/");
        let is_wanted = match self.location.config.write.log_updates {
            LogUpdates::Always => true,
            LogUpdates::Usual => usual(),
            LogUpdates::Never => false,
        };
        is_wanted || self.has_log(name)
    }

    fn has_log(&mut self, name: &[u8]) -> bool {
        let log = self.location.path_of_log(name);
        log.is_some_and(|log| log.parent().is_some_and(|dir| self.logs.has(dir)) && log.is_file())
    }
}
