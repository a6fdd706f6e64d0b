//! The bytes of a file: mapped or owned.
//!
//! Git replaces its files by rename and never writes into one in place, so a mapping keeps showing what the path held
//! when it was opened. A program that truncates the file in place breaks that: touching a page past the new end is
//! SIGBUS. Who has to live with such programs asks for a copy (`mmap=False`).

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::ops::Deref;

use memmap2::{Mmap, MmapOptions};

use crate::model::Interrupt;

/// Files up to this size are read, larger ones mapped: git's own threshold.
const SMALL: u64 = 32 * 1024;
/// Bytes that are read between two questions to the interrupt.
const PIECE: u64 = 16 << 20;

/// The whole content of a file, unchanging.
#[derive(Debug)]
pub enum Backing {
    /// Copied into memory.
    Owned(Vec<u8>),
    /// Mapped privately, read-only.
    Mapped(Mmap),
}

impl Backing {
    /// Takes the content of an open file; maps it if it is large and `may_map` allows it.
    ///
    /// # Errors
    /// What the system says when reading fails; `Interrupted` if the interrupt does. A file system that cannot map is
    /// read instead.
    pub fn load(mut file: &File, meta: &Metadata, may_map: bool, interrupt: Interrupt<'_>) -> io::Result<Self> {
        if may_map
            && meta.len() > SMALL
            && cfg!(not(windows))
            && let Some(map) = map(file, meta.len())
        {
            return Ok(Self::Mapped(map));
        }
        let mut bytes = Vec::new();
        while file.by_ref().take(PIECE).read_to_end(&mut bytes)? > 0 {
            if !interrupt() {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        Ok(Self::Owned(bytes))
    }

    /// Says whether all of it will be read in order soon: if so the system maps pages ahead, and more cheaply.
    pub fn expect_scan(&self, soon: bool) {
        #[cfg(unix)]
        if let Self::Mapped(map) = self {
            let advice = if soon { memmap2::Advice::Sequential } else { memmap2::Advice::Normal };
            // A hint: where it is refused, nothing is lost.
            let _ = map.advise(advice);
        }
        #[cfg(not(unix))]
        let _ = soon;
    }

    /// Whether the bytes are a map of the file, not a copy.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        matches!(self, Self::Mapped(_))
    }
}

#[expect(unsafe_code, reason = "a map is shared with whoever can write the file; see docs/safety.md")]
fn map(file: &File, len: u64) -> Option<Mmap> {
    let len = usize::try_from(len).ok()?;
    // SAFETY: the map is read-only and private, its length is the size fstat gave a moment ago, and it is only read as
    // bytes whose every index is checked. What remains is a foreign program changing the file in place, which git's
    // protocol (write aside, then rename) excludes; docs/safety.md says what happens then.
    unsafe { MmapOptions::new().len(len).map_copy_read_only(file).ok() }
}

impl Deref for Backing {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Mapped(map) => map,
        }
    }
}
