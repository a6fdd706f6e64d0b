//! Opening a file for reading: regular files only, and never a wait.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::{Backing, Identity};
use crate::model::{Error, Interrupt, Result};

/// The content of the file at `path`, mapped if it is large and `may_map` allows it, and which file it is of.
///
/// # Errors
/// [`Error::Io`] for what [`open`] or reading says, [`Error::Interrupted`].
pub fn load(path: &Path, may_map: bool, interrupt: Interrupt<'_>) -> Result<(Backing, Identity)> {
    let mut load = || -> io::Result<(Backing, Identity)> {
        let (file, meta) = open(path)?;
        Ok((Backing::load(&file, &meta, may_map, interrupt)?, Identity::of(&meta)))
    };
    load().map_err(|source| match source.kind() {
        // The system's own are retried where they happen: this one is ours.
        io::ErrorKind::Interrupted => Error::Interrupted,
        _ => Error::Io { path: path.to_owned(), source },
    })
}

/// Opens `path` for reading and returns it with its attributes.
///
/// # Errors
/// What the system says; "is a directory" for a directory, "invalid input" for any other file that is not regular:
/// a FIFO would block for ever, a device may have no end.
pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let file = open_no_wait(path)?;
    let meta = file.metadata()?;
    if meta.is_dir() {
        return Err(is_a_directory());
    }
    if !meta.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok((file, meta))
}

/// The path from the root, so that it means the same after the process has changed its directory.
#[must_use]
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(unix)]
fn open_no_wait(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(File::from(rustix::io::retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?))
}

#[cfg(not(unix))]
fn open_no_wait(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(unix)]
fn is_a_directory() -> io::Error {
    rustix::io::Errno::ISDIR.into()
}

#[cfg(not(unix))]
fn is_a_directory() -> io::Error {
    io::ErrorKind::IsADirectory.into()
}
