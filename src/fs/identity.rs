//! The identity of an open file, to tell later whether a path still leads to it.
//!
//! Git compares whole seconds, and neither device nor nanoseconds: to it two rewrites of one size within a second can pass
//! for one. Every field that the system has is compared here.

use std::fs::Metadata;
use std::io;
use std::path::Path;

use super::small::is_nothing;

/// What `fstat` said of a file when it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    size: u64,
    #[cfg(unix)]
    unix: Unix,
    #[cfg(not(unix))]
    times: [Option<std::time::SystemTime>; 2],
}

/// The fields that only Unix has. Times are (seconds, nanoseconds).
#[cfg(unix)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unix {
    device: u64,
    inode: u64,
    mtime: (i64, i64),
    ctime: (i64, i64),
}

impl Identity {
    /// The identity of the file that a path leads to now; `None` if it leads nowhere.
    ///
    /// # Errors
    /// What the system says where it cannot tell.
    pub fn at(path: &Path) -> io::Result<Option<Self>> {
        match path.metadata() {
            Ok(meta) => Ok(Some(Self::of(&meta))),
            Err(error) if is_nothing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Device and inode, where the system has such.
    #[must_use]
    pub fn file(&self) -> (u64, u64) {
        #[cfg(unix)]
        return (self.unix.device, self.unix.inode);
        #[cfg(not(unix))]
        return (0, 0);
    }

    /// The identity that these attributes describe.
    #[cfg(unix)]
    #[must_use]
    pub fn of(meta: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let unix = Unix {
            device: meta.dev(),
            inode: meta.ino(),
            mtime: (meta.mtime(), meta.mtime_nsec()),
            ctime: (meta.ctime(), meta.ctime_nsec()),
        };
        Self { size: meta.len(), unix }
    }

    /// The identity that these attributes describe.
    #[cfg(not(unix))]
    #[must_use]
    pub fn of(meta: &Metadata) -> Self {
        Self { size: meta.len(), times: [meta.modified().ok(), meta.created().ok()] }
    }
}
