//! Reading all loose refs below a prefix, before anybody looks at the packed ones.
//!
//! Names that start with a dot or end in `.lock` are none of git's. Directories are entered through symbolic links too, as
//! git does, but not into one that they lie in, nor through a link that lies behind another one.

use std::fs::FileType;
use std::path::{Path, PathBuf};

use super::discover::path_of;
use super::location::Location;
use super::loose_refs::LooseRefs;
use crate::fs;
use crate::model::{Error, Interrupt, OWN_NAMESPACES, Result, has_root_syntax, is_pseudoref, is_safe};

/// Symbolic links to directories that are followed one below the other: more can multiply without end.
const LINKS: usize = 1;
/// Files that are read between two questions to the interrupt.
const BREATH: usize = 1 << 12;

/// The loose refs below `refs/` whose names start with `prefix`, in order.
///
/// # Errors
/// [`Error::Io`](crate::model::Error::Io) for a directory or file that cannot be read; an interrupt.
pub(super) fn loose_refs(location: &Location, prefix: &[u8], interrupt: Interrupt<'_>) -> Result<LooseRefs> {
    let found = LooseRefs::default();
    let mut walk = Walk { location, prefix, found, buffer: Vec::new(), dirs: Vec::new(), interrupt };
    // Straight to the directory that the prefix names, if it can be one.
    let dir = prefix.iter().rposition(|&byte| byte == b'/').and_then(|slash| prefix.get(..=slash)).unwrap_or_default();
    let start = if is_plain_dir(location, dir) { dir } else { b"refs/" };
    if start.starts_with(prefix) || prefix.starts_with(start) {
        let base = if is_own(start) { location.own() } else { location.shared() };
        if let Some(path) = path_of(start.strip_suffix(b"/").unwrap_or(start)) {
            walk.dirs.push(Dir { path: base.join(path), name: start.to_vec(), links: 0 });
            walk.read_all()?;
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
    /// Directories that are still to be read. (Not by recursion: names can be two thousand levels deep.)
    dirs: Vec<Dir>,
    interrupt: Interrupt<'a>,
}

/// A directory, the name of its refs up to the last slash, and how many links led there.
struct Dir {
    path: PathBuf,
    name: Vec<u8>,
    links: usize,
}

impl Walk<'_> {
    fn read_all(&mut self) -> Result<()> {
        while let Some(dir) = self.dirs.pop() {
            if !(self.interrupt)() {
                return Err(Error::Interrupted);
            }
            self.read(&dir)?;
        }
        Ok(())
    }

    /// Reads what lies in a directory, but for what lies deeper.
    fn read(&mut self, dir: &Dir) -> Result<()> {
        let entries = fs::list(&dir.path).map_err(|source| Location::failed(&dir.path, source))?;
        let mut full = dir.name.clone();
        let is_root = dir.name == b"refs/";
        for (entry, kind) in entries {
            let part = entry.as_encoded_bytes();
            if is_hidden(part) {
                continue;
            }
            full.truncate(dir.name.len());
            full.extend_from_slice(part);
            let path = dir.path.join(&entry);
            // A worktree's own are read from where it keeps them.
            let is_elsewhere = is_root
                && OWN_NAMESPACES.iter().any(|space| space.strip_suffix(b"/") == Some(&full[..]))
                && path.is_dir();
            if !is_elsewhere {
                self.visit(path, &mut full, kind, dir.links)?;
            }
        }
        if is_root {
            for space in OWN_NAMESPACES {
                if let Some(path) = path_of(space).filter(|_| self.may_hold(space)) {
                    let path = self.location.own().join(path);
                    if path.is_dir() {
                        self.dirs.push(Dir { path, name: space.to_vec(), links: 0 });
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads a file, or marks a directory to be read.
    fn visit(&mut self, path: PathBuf, name: &mut Vec<u8>, kind: FileType, links: usize) -> Result<()> {
        let leads_to_dir = kind.is_dir() || (kind.is_symlink() && path.is_dir());
        let is_wanted = name.starts_with(self.prefix);
        // A link to a directory may be a symbolic ref whose target is one by now, or lead round.
        if kind.is_symlink() || (!leads_to_dir && is_wanted) {
            let read = self.found.read(&path, name, self.location.hash(), &mut self.buffer);
            let is_ref = read.map_err(|source| Location::failed(&path, source))?;
            if is_ref && !is_wanted {
                self.found.pop();
            }
            if self.found.len().is_multiple_of(BREATH) && !(self.interrupt)() {
                return Err(Error::Interrupted);
            }
            if is_ref {
                return Ok(());
            }
        }
        if !leads_to_dir {
            return Ok(());
        }
        let links = links + usize::from(kind.is_symlink());
        if links > LINKS {
            if is_wanted {
                self.found.push_loop(name);
            }
            return Ok(());
        }
        name.push(b'/');
        if self.may_hold(name) {
            self.dirs.push(Dir { path, name: name.clone(), links });
        }
        Ok(())
    }

    /// Whether refs below that directory, whose name ends in a slash, can start with the prefix.
    fn may_hold(&self, dir: &[u8]) -> bool {
        dir.starts_with(self.prefix) || self.prefix.starts_with(dir)
    }
}
