//! Reading all loose refs below a prefix, before anybody looks at the packed ones.
//!
//! Names that start with a dot or end in `.lock` are none of git's. Directories are entered through symbolic links too, as
//! git does, but not into one that they lie in.

use std::fs::FileType;
use std::path::{Path, PathBuf};

use super::discover::path_of;
use super::location::Location;
use super::loose_refs::LooseRefs;
use crate::fs;
use crate::model::{HashKind, Interrupt, OWN_NAMESPACES, Result, has_root_syntax, is_pseudoref, is_safe};

/// Symbolic links to directories that are followed one below the other.
const LINKS: usize = 5;
/// Files that are read between two questions to the interrupt.
const BREATH: usize = 1 << 12;

/// The loose refs below `refs/` whose names start with `prefix`, in order.
///
/// # Errors
/// [`Error::Io`](crate::model::Error::Io) for a directory or file that cannot be read; an interrupt.
pub(super) fn loose_refs(location: &Location, prefix: &[u8], interrupt: Interrupt<'_>) -> Result<LooseRefs> {
    let mut walk =
        Walk { location, prefix, found: LooseRefs::default(), buffer: Vec::new(), chain: Vec::new(), interrupt };
    // Straight to the directory that the prefix names, if it can be one.
    let dir = prefix.iter().rposition(|&byte| byte == b'/').and_then(|slash| prefix.get(..=slash)).unwrap_or_default();
    let start = if is_plain_dir(location, dir) { dir } else { b"refs/" };
    if start.starts_with(prefix) || prefix.starts_with(start) {
        let base = if is_own(start) { location.own() } else { location.shared() };
        if let Some(path) = path_of(start.strip_suffix(b"/").unwrap_or(start)) {
            walk.enter(&base.join(path), start)?;
        }
    }
    walk.found.sort();
    Ok(walk.found)
}

/// The one-level refs of a worktree whose names are wanted, in order.
///
/// # Errors
/// As [`loose_refs`].
pub(super) fn one_level_refs(location: &Location, is_wanted: impl Fn(&[u8]) -> bool) -> Result<LooseRefs> {
    let (mut found, mut buffer) = (LooseRefs::default(), Vec::new());
    let mut read_from = |dir: &Path, pseudorefs: bool| -> Result<()> {
        for name in fs::list(dir).map_err(|source| Location::failed(dir, source))?.keys() {
            let bytes = name.as_encoded_bytes();
            if has_root_syntax(bytes) && is_pseudoref(bytes) == pseudorefs && is_wanted(bytes) {
                let path = dir.join(name);
                let read = if pseudorefs {
                    found.read_pseudoref(&path, bytes, location.hash(), &mut buffer)
                } else {
                    found.read(&path, bytes, location.hash(), &mut buffer)
                };
                read.map_err(|source| Location::failed(&path, source))?;
            }
        }
        Ok(())
    };
    read_from(location.own(), false)?;
    // These two are in the git directory, wherever the refs are.
    read_from(location.git_dir(), true)?;
    found.sort();
    Ok(found)
}

/// Whether a walk from `refs/` would come to that directory, whose name ends in a slash, by way of directories alone: not
/// through links, nor what it passes over.
fn is_plain_dir(location: &Location, dir: &[u8]) -> bool {
    let Some(name) = dir.strip_suffix(b"/").filter(|name| name.starts_with(b"refs/") && is_safe(name)) else {
        return false;
    };
    let base = if is_own(dir) { location.own() } else { location.shared() };
    let mut at = base.to_owned();
    name.split(|&byte| byte == b'/').all(|part| {
        let Some(path) = path_of(part) else { return false };
        at.push(path);
        !is_hidden(part) && at.symlink_metadata().is_ok_and(|meta| meta.is_dir())
    })
}

/// Whether it is none of git's names, of whatever there may be.
pub(super) fn is_hidden(part: &[u8]) -> bool {
    part.starts_with(b".") || part.ends_with(b".lock")
}

fn is_own(name: &[u8]) -> bool {
    OWN_NAMESPACES.iter().any(|space| name.starts_with(space))
}

struct Walk<'a> {
    location: &'a Location,
    prefix: &'a [u8],
    found: LooseRefs,
    buffer: Vec<u8>,
    /// The directories from the first link on that the walk is in, without links, and whether a link led there.
    chain: Vec<(PathBuf, bool)>,
    interrupt: Interrupt<'a>,
}

impl Walk<'_> {
    /// Reads what lies in a directory; `name` is that of its refs up to the last slash.
    fn enter(&mut self, dir: &Path, name: &[u8]) -> Result<()> {
        let entries = fs::list(dir).map_err(|source| Location::failed(dir, source))?;
        let mut full = name.to_vec();
        let is_root = name == b"refs/";
        for (entry, kind) in entries {
            let part = entry.as_encoded_bytes();
            if is_hidden(part) {
                continue;
            }
            full.truncate(name.len());
            full.extend_from_slice(part);
            // A worktree's own are read from where it keeps them.
            let is_elsewhere =
                is_root && OWN_NAMESPACES.iter().any(|space| space.strip_suffix(b"/") == Some(&full[..]));
            if !is_elsewhere {
                self.visit(&dir.join(&entry), &mut full, kind)?;
            }
        }
        if is_root {
            for space in OWN_NAMESPACES {
                let path =
                    path_of(space.strip_suffix(b"/").unwrap_or(space)).map(|path| self.location.own().join(path));
                if let Some(path) = path.filter(|_| self.may_hold(space)) {
                    self.enter(&path, space)?;
                }
            }
        }
        Ok(())
    }

    /// Reads a file, or what lies in a directory.
    fn visit(&mut self, path: &Path, name: &mut Vec<u8>, kind: FileType) -> Result<()> {
        let leads_to_dir = kind.is_dir() || (kind.is_symlink() && path.is_dir());
        if !leads_to_dir {
            if name.starts_with(self.prefix) {
                let hash: HashKind = self.location.hash();
                let read = self.found.read(path, name, hash, &mut self.buffer);
                read.map_err(|source| Location::failed(path, source))?;
                if self.found.len().is_multiple_of(BREATH) && !(self.interrupt)() {
                    return Err(crate::model::Error::Interrupted);
                }
            }
            return Ok(());
        }
        if kind.is_symlink() {
            // It may be a symbolic ref whose target is now a directory, or lead round.
            let before = self.found.len();
            let read = self.found.read(path, name, self.location.hash(), &mut self.buffer);
            read.map_err(|source| Location::failed(path, source))?;
            if self.found.len() > before {
                return Ok(());
            }
        }
        name.push(b'/');
        if !self.may_hold(name) {
            return Ok(());
        }
        if !kind.is_symlink() && self.chain.is_empty() {
            return self.enter(path, name);
        }
        let Ok(real) = path.canonicalize() else { return Ok(()) };
        let links = self.chain.iter().filter(|(_, is_link)| *is_link).count();
        if self.chain.iter().any(|(dir, _)| *dir == real) || links >= LINKS {
            name.pop();
            self.found.push_loop(name);
            return Ok(());
        }
        self.chain.push((real, kind.is_symlink()));
        let done = self.enter(path, name);
        self.chain.pop();
        done
    }

    /// Whether refs below that directory, whose name ends in a slash, can start with the prefix.
    fn may_hold(&self, dir: &[u8]) -> bool {
        dir.starts_with(self.prefix) || self.prefix.starts_with(dir)
    }
}
