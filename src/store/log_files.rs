//! The reflogs of the files format: which there are, and one of them opened.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::location::Location;
use crate::fs::{self, Backing, Tail, is_nothing, tail};
use crate::model::{Error, Interrupt, Place, Result, Scope, is_well_formed};

/// Logs as they stood at one moment. Git only ever appends to one, or replaces it: so its size and its end tell what it
/// held. (That it is the same file would not: a log that is deleted may leave its inode to the next one.)
#[derive(Debug)]
pub(super) struct LogFiles(BTreeMap<Vec<u8>, (PathBuf, Tail)>);

impl LogFiles {
    /// All logs that a worktree sees, as they are now.
    pub(super) fn pinned(location: &Location) -> Result<Self> {
        let mut logs = BTreeMap::new();
        for name in names(location)? {
            let Some(path) = location.path_of_log(&name) else { continue };
            if let Some(end) = tail(&path).map_err(|source| Location::failed(&path, source))? {
                logs.insert(name, (path, end));
            }
        }
        Ok(Self(logs))
    }

    pub(super) fn names(&self) -> Vec<Vec<u8>> {
        self.0.keys().cloned().collect()
    }

    /// What a log held then; `None` if there was none.
    pub(super) fn open(&self, name: &[u8], interrupt: Interrupt<'_>) -> Result<Option<(Arc<Backing>, usize)>> {
        let Some((path, then)) = self.0.get(name) else { return Ok(None) };
        match open(path, interrupt)? {
            Some(backing) if then.ends_in(&backing) => {
                let len = usize::try_from(then.len()).unwrap_or(usize::MAX).min(backing.len());
                Ok(Some((Arc::new(backing), len)))
            }
            _ => {
                let reason = "the reflog was rewritten or deleted since the snapshot was taken".to_owned();
                Err(Error::Unsupported { path: path.clone(), reason })
            }
        }
    }
}

/// What the log of a ref holds now; `None` if there is none.
pub(super) fn open_log(location: &Location, name: &[u8], interrupt: Interrupt<'_>) -> Result<Option<Arc<Backing>>> {
    let Some(path) = location.path_of_log(name) else { return Ok(None) };
    Ok(open(&path, interrupt)?.map(Arc::new))
}

fn open(path: &Path, interrupt: Interrupt<'_>) -> Result<Option<Backing>> {
    match fs::load(path, true, interrupt) {
        Ok((backing, _)) => Ok(Some(backing)),
        Err(Error::Io { source, .. }) if is_nothing(&source) || source.kind() == std::io::ErrorKind::IsADirectory => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The names of the refs that have a log, in order: the worktree's own are its own.
pub(super) fn names(location: &Location) -> Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    collect(&location.shared().join("logs"), b"", &mut names)?;
    if location.is_linked() {
        names.retain(|name| Place::of(name).scope != Scope::Current);
        let mut own = Vec::new();
        collect(&location.own().join("logs"), b"", &mut own)?;
        own.retain(|name| Place::of(name).scope == Scope::Current);
        names.append(&mut own);
    }
    location.check_head()?;
    names.sort_unstable();
    Ok(names)
}

/// Adds the regular files below a directory, as git does: those with an ill-formed last component are none.
fn collect(dir: &Path, name: &[u8], names: &mut Vec<Vec<u8>>) -> Result<()> {
    for (entry, kind) in fs::list(dir).map_err(|source| Location::failed(dir, source))? {
        let part = entry.as_encoded_bytes();
        let full = [name, part].concat();
        if kind.is_dir() {
            collect(&dir.join(&entry), &[&full[..], b"/"].concat(), names)?;
        } else if kind.is_file() && is_well_formed(part) {
            names.push(full);
        }
    }
    Ok(())
}
