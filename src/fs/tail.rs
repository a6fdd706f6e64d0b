//! What an append-only file looked like at one moment, to know it again later.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::Identity;
use super::open::open;
use super::small::is_nothing;

/// Bytes at the end that are compared: more than a line of a reflog usually has.
const BYTES: u64 = 512;

/// Which file it was, how long, and what it ended in. (Either alone would not do: a file that is deleted may leave its inode
/// to the next one, and one that is written anew may end as it did.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    file: (u64, u64),
    len: u64,
    checksum: u32,
}

impl Tail {
    /// How long it was.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it was empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the file begins as that one did then: it is as long at least, and has the same bytes where that ended.
    ///
    /// # Errors
    /// What the system says.
    pub fn is_in(&self, file: &File) -> io::Result<bool> {
        let meta = file.metadata()?;
        Ok(meta.len() >= self.len && read(file, &meta, self.len)? == *self)
    }
}

/// The end of the regular file at `path`; `None` if there is none.
///
/// # Errors
/// What the system says.
pub fn tail(path: &Path) -> io::Result<Option<Tail>> {
    match open(path) {
        Ok((file, meta)) => read(&file, &meta, meta.len()).map(Some),
        Err(error) if is_nothing(&error) || error.kind() == io::ErrorKind::IsADirectory => Ok(None),
        Err(error) => Err(error),
    }
}

fn read(mut file: &File, meta: &Metadata, len: u64) -> io::Result<Tail> {
    file.seek(SeekFrom::Start(len.saturating_sub(BYTES)))?;
    let mut end = Vec::new();
    file.take(len.min(BYTES)).read_to_end(&mut end)?;
    Ok(Tail { file: Identity::of(meta).file(), len, checksum: crc32fast::hash(&end) })
}
