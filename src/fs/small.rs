//! Small files that come and go under our eyes: loose refs, and the files that say where a repository is.

use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::open::{open_as_it_is, open_no_wait};

/// More than this is not read of a loose ref. (A path has 4 KiB at the most.)
pub const MOST: usize = 64 << 10;

/// What there is at a path.
#[derive(Debug, PartialEq, Eq)]
pub enum There {
    /// A file; its first bytes are in the buffer.
    File,
    /// A symbolic link with this text.
    Link(PathBuf),
    /// A directory.
    Directory,
    /// A socket, a device, a FIFO.
    Other,
    /// Symbolic links that lead nowhere but round.
    Loop,
    /// Nothing, or a path that cannot exist: below a file, or with too long a component.
    Nothing,
}

/// Looks at `path` itself: a symbolic link is not followed. The first bytes of a file replace what is in `buffer`.
///
/// # Errors
/// What the system says, unless it is that there is nothing.
pub fn look(path: &Path, buffer: &mut Vec<u8>) -> io::Result<There> {
    // A link that has become a file between the two calls, or the other way round: look again.
    for _ in 0..3 {
        match read(open_as_it_is(path), MOST, buffer)? {
            There::Loop => {}
            there => return Ok(there),
        }
        match path.read_link() {
            Ok(text) => return Ok(There::Link(text)),
            Err(error) if error.kind() == ErrorKind::InvalidInput => {}
            Err(error) if is_nothing(&error) => return Ok(There::Nothing),
            Err(error) if is_loop(&error) => return Ok(There::Loop),
            Err(error) => return Err(error),
        }
    }
    Ok(There::Loop)
}

/// Looks at what `path` leads to, symbolic links followed.
///
/// # Errors
/// As [`look`].
pub fn look_through(path: &Path, buffer: &mut Vec<u8>) -> io::Result<There> {
    read(open_no_wait(path), MOST, buffer)
}

/// [`look_through`] that reads all of a file.
///
/// # Errors
/// As [`look`].
pub fn read_through(path: &Path, buffer: &mut Vec<u8>) -> io::Result<There> {
    read(open_no_wait(path), usize::MAX, buffer)
}

fn read(file: io::Result<std::fs::File>, most: usize, buffer: &mut Vec<u8>) -> io::Result<There> {
    buffer.clear();
    let file = match file {
        Ok(file) => file,
        Err(error) if is_nothing(&error) => return Ok(There::Nothing),
        Err(error) if is_loop(&error) => return Ok(There::Loop),
        Err(error) if is_no_device(&error) => return Ok(There::Other),
        Err(error) => return Err(error),
    };
    let meta = file.metadata()?;
    if meta.is_dir() {
        return Ok(There::Directory);
    }
    if !meta.is_file() {
        return Ok(There::Other);
    }
    file.take(u64::try_from(most).unwrap_or(u64::MAX)).read_to_end(buffer)?;
    Ok(There::File)
}

/// Whether the error says that there is nothing at a path.
#[must_use]
pub fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename)
}

#[cfg(unix)]
fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// A socket cannot be opened.
#[cfg(unix)]
fn is_no_device(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error())
}

#[cfg(not(unix))]
fn is_loop(_: &io::Error) -> bool {
    false
}

#[cfg(not(unix))]
fn is_no_device(_: &io::Error) -> bool {
    false
}
