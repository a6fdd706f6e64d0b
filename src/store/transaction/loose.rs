//! Loose refs under their locks.
//!
//! The lock of `refs/heads/a` is the file `refs/heads/a.lock`. Who holds it alone may replace or remove `refs/heads/a`, so
//! what is read under it stays true as long as it is held.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::fs::{There, look, look_through};
use crate::loose::Content;
use crate::model::{Error, HashKind, Oid, Result, is_well_formed};

/// What a loose ref's file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loose {
    /// There is none.
    Absent,
    /// In its place there is a directory.
    Directory,
    /// In its place there is a symbolic link that leads nowhere.
    Dangling,
    /// An object id.
    Oid(Oid),
    /// The name of another ref.
    Symref,
}

impl Loose {
    /// What there is at a path.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for what is neither, [`Error::Io`].
    pub(super) fn read(path: &Path, hash: HashKind, buffer: &mut Vec<u8>) -> Result<Self> {
        let failed = |source| Error::Io { path: path.to_owned(), source };
        let there = match look(path, buffer).map_err(failed)? {
            There::Link(text) => {
                let text = text.into_os_string().into_encoded_bytes();
                // A link to something below refs/ is not followed: it is a symbolic ref.
                if text.starts_with(b"refs/") && is_well_formed(&text) {
                    return Ok(Self::Symref);
                }
                match look_through(path, buffer).map_err(failed)? {
                    There::Nothing => return Ok(Self::Dangling),
                    there => there,
                }
            }
            there => there,
        };
        let reason = match there {
            There::Nothing => return Ok(Self::Absent),
            There::Directory => return Ok(Self::Directory),
            There::File => match Content::parse(buffer, hash) {
                Some(Content::Symref(_)) => return Ok(Self::Symref),
                Some(Content::Oid(digits)) => {
                    if let Some(oid) = Oid::from_hex(digits) {
                        return Ok(Self::Oid(oid));
                    }
                    "no object id"
                }
                None => "neither an object id nor a symbolic ref",
            },
            There::Other => "not a file",
            There::Loop | There::Link(_) => "symbolic links that lead nowhere but round",
        };
        Err(Error::Corrupt { path: path.to_owned(), offset: 0, line: Some(1), reason: reason.to_owned() })
    }
}

/// The lock of a file.
pub(super) fn lock_path(path: &Path) -> PathBuf {
    let mut lock: OsString = path.as_os_str().to_owned();
    lock.push(".lock");
    lock.into()
}

/// A lock that somebody else holds.
pub(super) fn held(lock: &Path) -> Error {
    let made = lock.symlink_metadata().and_then(|meta| meta.modified());
    let age = made.ok().and_then(|made| SystemTime::now().duration_since(made).ok()).unwrap_or(Duration::ZERO);
    Error::Locked { path: lock.to_owned(), age }
}
