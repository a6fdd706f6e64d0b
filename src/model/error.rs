//! What can go wrong, as data. Python's exception tree is made from it in `src/python/error.rs`.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::Oid;

/// A reader's or writer's result.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file's bytes are not what its format allows.
    #[error("{}{}: {reason} (byte {offset})", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
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
    /// Somebody else holds a lock.
    #[error("{}: lock is held, for {:.1} s now", path.display(), age.as_secs_f64())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// How long ago it was made.
        age: Duration,
    },
    /// One name is a directory of the other.
    #[error("{} conflicts with {}", name.escape_ascii(), other.escape_ascii())]
    Conflict {
        /// The ref that was to be changed.
        name: Vec<u8>,
        /// What stands in its way.
        other: Vec<u8>,
    },
    /// Two names that differ only in case, where the file system cannot tell them apart.
    #[error("{} and {} differ only in case", name.escape_ascii(), other.escape_ascii())]
    CaseConflict {
        /// The ref that was to be changed.
        name: Vec<u8>,
        /// The other ref.
        other: Vec<u8>,
    },
    /// A ref that must not exist does.
    #[error("ref exists already: {}", .0.escape_ascii())]
    RefExists(Vec<u8>),
    /// A ref is not where the caller expected it.
    #[error("{} is at {}, not at {}", name.escape_ascii(), actual.to_hex(), expected.to_hex())]
    Stale {
        /// The ref.
        name: Vec<u8>,
        /// What the caller expected.
        expected: Oid,
        /// What it holds.
        actual: Oid,
    },
    /// An object id that a ref cannot hold.
    #[error("{reason} for {}: {}", name.escape_ascii(), value.to_hex())]
    InvalidValue {
        /// The ref that was to hold it.
        name: Vec<u8>,
        /// The object id.
        value: Oid,
        /// Why not.
        reason: &'static str,
    },
    /// A transaction was used out of turn.
    #[error("{0}")]
    State(String),
    /// An [`Interrupt`] asked a long call to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Asked now and then during long work; `false` stops it with [`Error::Interrupted`].
pub type Interrupt<'a> = &'a mut dyn FnMut() -> bool;
