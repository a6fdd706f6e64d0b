//! The file that a rewrite starts from.
//!
//! It is read through a descriptor, never through a map: other programs may cut it in place, which must not end a process
//! that holds locks. One that does not claim `sorted` is read whole and, if need be, put in order in memory.

use std::fmt;
use std::io;

use super::locate::Locator;
use super::{Damage, Header, Reason, Snapshot, Stop};
use crate::fs::{Backing, ReadAt};
use crate::model::{HashKind, Interrupt, Span};

/// Bytes of the first read: no header is longer, unless somebody means harm.
const HEAD: usize = 4 << 10;
/// Bytes of the reads that look for lines.
const PIECE: usize = 256 << 10;
/// Bytes that are read between two questions to the interrupt.
const BREATH: usize = 16 << 20;

/// A file's records, in order, and what its header says.
pub struct Base {
    content: Content,
    header: Header,
    body: Span,
    hash: HashKind,
}

enum Content {
    File(Box<dyn ReadAt + Send + Sync>),
    Memory(Box<Snapshot>),
}

/// Why a file cannot be read.
#[derive(Debug)]
pub enum Unread {
    /// The system says so.
    Io(io::Error),
    /// It is damaged, or an interrupt said so.
    Stop(Stop),
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Damage> for Unread {
    fn from(damage: Damage) -> Self {
        Self::Stop(damage.into())
    }
}

impl fmt::Debug for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Base").field("header", &self.header).field("body", &self.body).finish_non_exhaustive()
    }
}

impl Base {
    /// Opens a file of that length. Of a sorted one only both ends are read.
    ///
    /// # Errors
    /// [`Unread`], by [`Damage`] in the header or the last record; where all is read, in any.
    pub fn new(
        file: Box<dyn ReadAt + Send + Sync>,
        len: usize,
        hash: HashKind,
        interrupt: Interrupt<'_>,
    ) -> Result<Self, Unread> {
        let header = Header::parse(&read_head(&*file, len)?)?;
        if header.sorted {
            let base = Self { content: Content::File(file), header, body: header.len..len, hash };
            if !base.body.is_empty() {
                let last = base.body.end.saturating_sub(1);
                // Before a line is looked for that has no end.
                let mut byte = [0];
                base.read_exact_at(&mut byte, last)?;
                if byte == *b"\n" {
                    Locator::new(&base).record_at(last)?;
                } else {
                    let line = base.last_line()?;
                    return Err(base.damage(line, Reason::Unterminated).into());
                }
            }
            return Ok(base);
        }
        let all = read_all(&*file, len, interrupt)?;
        let snapshot = Snapshot::new(Backing::Owned(all), Some(hash), interrupt).map_err(Unread::Stop)?;
        let body = snapshot.body().clone();
        Ok(Self { content: Content::Memory(Box::new(snapshot)), header, body, hash })
    }

    /// A file without records.
    #[must_use]
    pub fn empty(hash: HashKind) -> Self {
        // What it does not hold is all peeled, and in order.
        let header = Header { peeled: true, fully_peeled: true, sorted: true, len: 0 };
        let snapshot = Snapshot::empty(hash);
        Self { content: Content::Memory(Box::new(snapshot)), header, body: 0..0, hash }
    }

    /// Where the last line begins.
    fn last_line(&self) -> io::Result<usize> {
        let (mut end, mut buffer) = (self.body.end, vec![0; PIECE]);
        while end > self.body.start {
            let start = end.saturating_sub(buffer.len()).max(self.body.start);
            let piece = buffer.get_mut(..end.saturating_sub(start)).unwrap_or_default();
            self.read_exact_at(piece, start)?;
            if let Some(lf) = memchr::memrchr(b'\n', piece) {
                return Ok(start.saturating_add(lf).saturating_add(1));
            }
            end = start;
        }
        Ok(self.body.start)
    }

    /// What its first line claims.
    #[must_use]
    pub fn header(&self) -> Header {
        self.header
    }

    /// Where its records are, in what [`ReadAt`] reads.
    #[must_use]
    pub fn body(&self) -> &Span {
        &self.body
    }

    /// The hash of its object ids.
    #[must_use]
    pub fn hash(&self) -> HashKind {
        self.hash
    }

    /// Damage at an offset, with the number of its line in the file.
    #[cold]
    #[must_use]
    pub fn damage(&self, offset: usize, reason: Reason) -> Damage {
        if let Content::Memory(snapshot) = &self.content {
            return snapshot.damage(offset, reason);
        }
        let (mut line, mut at, mut buffer) = (1_usize, 0_usize, vec![0; PIECE]);
        while at < offset {
            let len = offset.saturating_sub(at).min(buffer.len());
            let Ok(len @ 1..) = self.read_at(buffer.get_mut(..len).unwrap_or_default(), at) else { break };
            let lfs = memchr::memchr_iter(b'\n', buffer.get(..len).unwrap_or_default()).count();
            (line, at) = (line.saturating_add(lfs), at.saturating_add(len));
        }
        Damage { offset, line, reason }
    }
}

impl ReadAt for Base {
    fn read_at(&self, buffer: &mut [u8], at: usize) -> io::Result<usize> {
        match &self.content {
            Content::File(file) => file.read_at(buffer, at),
            Content::Memory(snapshot) => {
                let rest = snapshot.data().get(at..).unwrap_or_default();
                let len = rest.len().min(buffer.len());
                buffer.get_mut(..len).unwrap_or_default().copy_from_slice(rest.get(..len).unwrap_or_default());
                Ok(len)
            }
        }
    }
}

/// The first line, if it can be a header, and more.
fn read_head(file: &dyn ReadAt, len: usize) -> Result<Vec<u8>, Unread> {
    let mut head = Vec::new();
    loop {
        let want = head.len().saturating_mul(2).max(HEAD).min(len);
        let from = head.len();
        grow(&mut head, want)?;
        file.read_exact_at(head.get_mut(from..).unwrap_or_default(), from)?;
        if head.len() == len || head.first() != Some(&b'#') || head.contains(&b'\n') {
            return Ok(head);
        }
    }
}

fn read_all(file: &dyn ReadAt, len: usize, interrupt: Interrupt<'_>) -> Result<Vec<u8>, Unread> {
    let mut all = Vec::new();
    while all.len() < len {
        let from = all.len();
        let piece = len.saturating_sub(from).min(BREATH);
        grow(&mut all, from.saturating_add(piece))?;
        file.read_exact_at(all.get_mut(from..).unwrap_or_default(), from)?;
        if !interrupt() {
            return Err(Unread::Stop(Stop::Interrupted));
        }
    }
    Ok(all)
}

/// Makes a buffer as long as this, if there is memory.
pub(super) fn grow(buffer: &mut Vec<u8>, len: usize) -> Result<(), Unread> {
    buffer.try_reserve_exact(len.saturating_sub(buffer.len())).map_err(|_| Unread::Stop(Stop::OutOfMemory))?;
    buffer.resize(len, 0);
    Ok(())
}
