//! The reflogs of the files format: which there are, and one of them opened.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::location::Location;
use crate::fs::{self, Tail, is_nothing, tail};
use crate::model::{Error, Place, Result, Scope, is_well_formed};

/// Logs as they stood at one moment. Git only ever appends to one, or replaces it: so which file it was, how long, and what
/// it ended in tell what it held.
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

    /// A log, and how much of it was there then; `None` if there was none.
    pub(super) fn open(&self, name: &[u8]) -> Result<Option<(File, u64)>> {
        let Some((path, then)) = self.0.get(name) else { return Ok(None) };
        let opened = open(path)?.map(|(file, _)| file);
        let is_same = |file: &File| then.is_in(file).map_err(|source| Location::failed(path, source));
        match opened {
            Some(file) if is_same(&file)? => Ok(Some((file, then.len()))),
            _ => {
                let reason = "the reflog was rewritten or deleted since the snapshot was taken".to_owned();
                Err(Error::Unsupported { path: path.clone(), reason })
            }
        }
    }
}

/// The log of a ref and how long it is now; `None` if there is none.
pub(super) fn open_log(location: &Location, name: &[u8]) -> Result<Option<(File, u64)>> {
    location.path_of_log(name).map_or(Ok(None), |path| open(&path))
}

fn open(path: &Path) -> Result<Option<(File, u64)>> {
    match fs::open(path) {
        Ok((file, meta)) => Ok(Some((file, meta.len()))),
        Err(error) if is_nothing(&error) || error.kind() == ErrorKind::IsADirectory => Ok(None),
        Err(source) => Err(Location::failed(path, source)),
    }
}

/// The names of the refs that have a log, in order: the worktree's own are its own.
pub(super) fn names(location: &Location) -> Result<Vec<Vec<u8>>> {
    let mut names = below(location.shared().join("logs"))?;
    if location.is_linked() {
        names.retain(|name| Place::of(name).scope != Scope::Current);
        let mut own = below(location.own().join("logs"))?;
        own.retain(|name| Place::of(name).scope == Scope::Current);
        names.append(&mut own);
    }
    location.check_head()?;
    names.sort_unstable();
    Ok(names)
}

/// The regular files below a directory, as git has it: those with an ill-formed last component are none.
fn below(dir: PathBuf) -> Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    let mut dirs = vec![(dir, Vec::new())];
    while let Some((dir, name)) = dirs.pop() {
        for (entry, kind) in fs::list(&dir).map_err(|source| Location::failed(&dir, source))? {
            let part = entry.as_encoded_bytes();
            let full = [&name[..], part].concat();
            if kind.is_dir() {
                dirs.push((dir.join(&entry), [&full[..], b"/"].concat()));
            } else if kind.is_file() && is_well_formed(part) {
                names.push(full);
            }
        }
    }
    Ok(names)
}
