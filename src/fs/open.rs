//! Opening a file for reading: regular files only, and never a wait.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

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

#[cfg(unix)]
fn open_no_wait(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
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
