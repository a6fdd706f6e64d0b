//! What can go wrong, as data. Python's exception tree is made from it in `src/python/error.rs`.

use std::io;
use std::path::PathBuf;

/// A reader's or writer's result.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file's bytes are not what its format allows.
    #[error("{}: {reason} (byte {offset})", path.display())]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// Where the damage starts, in bytes from the start of the file.
        offset: usize,
        /// The same place as a line number, counted from 1; `None` in a file that is not text.
        line: Option<usize>,
        /// What is wrong there.
        reason: String,
    },
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file it was asked about.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
    /// A value that cannot be used as a refname here.
    #[error("{reason}: {}", name.escape_ascii())]
    RefName {
        /// The name as given.
        name: Vec<u8>,
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// There is no repository at or above a path.
    #[error("not a git repository: {}", .0.display())]
    NoRepository(PathBuf),
    /// A repository that this version cannot read; nothing was changed.
    #[error("{}: {reason}", path.display())]
    Unsupported {
        /// The file that says so.
        path: PathBuf,
        /// What is not supported.
        reason: String,
    },
    /// No ref has that name.
    #[error("no such ref: {}", .0.escape_ascii())]
    NoRef(Vec<u8>),
    /// An [`Interrupt`] asked a long call to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Asked now and then during long work; `false` stops it with [`Error::Interrupted`].
pub type Interrupt<'a> = &'a mut dyn FnMut() -> bool;
