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
    load_file(path, may_map, interrupt).map(|(backing, identity, _)| (backing, identity))
}

/// [`load`], and the open file: while it is held, no other file can get the same inode number.
///
/// # Errors
/// As [`load`].
pub fn load_file(path: &Path, may_map: bool, interrupt: Interrupt<'_>) -> Result<(Backing, Identity, File)> {
    let mut load = || -> io::Result<(Backing, Identity, File)> {
        let (file, meta) = open(path)?;
        Ok((Backing::load(&file, &meta, may_map, interrupt)?, Identity::of(&meta), file))
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

/// Opens whatever is at `path`, without waiting for anybody.
#[cfg(unix)]
pub(super) fn open_no_wait(path: &Path) -> io::Result<File> {
    open_with(path, rustix::fs::OFlags::empty())
}

/// [`open_no_wait`] that follows no symbolic link at the end of the path: "too many links" if there is one.
#[cfg(unix)]
pub(super) fn open_as_it_is(path: &Path) -> io::Result<File> {
    open_with(path, rustix::fs::OFlags::NOFOLLOW)
}

#[cfg(unix)]
fn open_with(path: &Path, more: rustix::fs::OFlags) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | more;
    Ok(File::from(rustix::io::retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?))
}

/// Opens whatever is at `path`.
#[cfg(not(unix))]
pub(super) fn open_no_wait(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Opens whatever is at `path`.
#[cfg(not(unix))]
pub(super) fn open_as_it_is(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// What the system says of a directory where a file should be.
#[cfg(unix)]
#[must_use]
pub fn is_a_directory() -> io::Error {
    rustix::io::Errno::ISDIR.into()
}

/// What the system says of symbolic links that lead nowhere but round.
#[cfg(unix)]
#[must_use]
pub fn is_a_loop() -> io::Error {
    rustix::io::Errno::LOOP.into()
}

/// What the system says of a directory where a file should be.
#[cfg(not(unix))]
#[must_use]
pub fn is_a_directory() -> io::Error {
    io::ErrorKind::IsADirectory.into()
}

/// What the system says of symbolic links that lead nowhere but round.
#[cfg(not(unix))]
#[must_use]
pub fn is_a_loop() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "too many symbolic links")
}
