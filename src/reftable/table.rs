//! One table: its bytes, and its blocks by position.

use super::block::Prologue;
use super::header::parse;
use super::{Block, Damage, Footer, Header, Kind, Reason};
use crate::fs::Backing;
use crate::model::HashKind;

/// A table as it was when it was opened; a table file never changes.
#[derive(Debug)]
pub struct Table {
    backing: Backing,
    header: Header,
    footer: Footer,
}

impl Table {
    /// Takes the content of a file; reads header and footer.
    ///
    /// # Errors
    /// [`Damage`] in either, or a hash other than the one asked for.
    pub fn new(backing: Backing, hash: Option<HashKind>) -> Result<Self, Damage> {
        let (header, footer) = parse(&backing)?;
        if hash.is_some_and(|hash| hash != header.hash) {
            return Err(Damage::at(0, Reason::OtherHash));
        }
        let table = Self { backing, header, footer };
        let has_blocks = table.header.size() < table.footer.start;
        let starts_with_logs = table.starts_with(b'g')
            && footer.log.is_none_or(|log| log == header.size())
            && footer.ref_index.is_none()
            && footer.obj.is_none();
        if has_blocks && !table.starts_with(b'r') && !starts_with_logs {
            return Err(Damage::at(0, Reason::BlockKind));
        }
        Ok(table)
    }

    /// The bytes of the file.
    #[inline]
    #[must_use]
    pub fn data(&self) -> &[u8] {
        &self.backing
    }

    /// What the header says.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Where the sections start.
    #[must_use]
    pub fn footer(&self) -> &Footer {
        &self.footer
    }

    /// Says whether all of it will be read in order soon.
    pub fn expect_scan(&self, soon: bool) {
        self.backing.expect_scan(soon);
    }

    /// Whether the bytes lie in a map of the file.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.backing.is_mapped()
    }

    /// Where the ref blocks start, if there are any: at the start of the file.
    #[must_use]
    pub fn first_ref_block(&self) -> Option<usize> {
        self.starts_with(b'r').then_some(0)
    }

    /// Where the log blocks start, if there are any: a file without refs starts with them.
    #[must_use]
    pub fn first_log_block(&self) -> Option<usize> {
        if self.starts_with(b'g') { Some(0) } else { self.footer.log }
    }

    fn starts_with(&self, kind: u8) -> bool {
        let first = self.header.size();
        first < self.footer.start && self.data().get(first) == Some(&kind)
    }

    /// Type and length of the block at `start`; `None` where the blocks end.
    pub(super) fn prologue(&self, start: usize) -> Result<Option<Prologue>, Damage> {
        Prologue::read(self.data(), &self.header, start, self.footer.start)
    }

    /// The block at `start` and its image, which for all but log blocks lies in the file; `None` where the blocks end.
    ///
    /// # Errors
    /// [`Damage`] in its length or restarts, or a log block.
    pub(super) fn block(&self, start: usize) -> Result<Option<(Block, &[u8])>, Damage> {
        let Some(prologue) = self.prologue(start)? else { return Ok(None) };
        if prologue.kind == Kind::Log {
            return Err(Damage::at(start, Reason::BlockKind));
        }
        let end = start.saturating_add(prologue.len);
        let image = self.data().get(start..end.min(self.footer.start)).unwrap_or_default();
        if image.len() != prologue.len {
            return Err(Damage::at(start, Reason::BlockLength));
        }
        Ok(Some((prologue.block(image, start, end)?, image)))
    }

    /// A block that must be there and of this kind.
    pub(super) fn expect_block(&self, start: usize, kind: Kind) -> Result<(Block, &[u8]), Damage> {
        match self.block(start)? {
            Some((block, image)) if block.kind == kind => Ok((block, image)),
            _ => Err(Damage::at(start, Reason::BlockKind)),
        }
    }

    /// The block at `start` if there is one of this kind.
    pub(super) fn block_if(&self, start: usize, kind: Kind) -> Result<Option<(Block, &[u8])>, Damage> {
        match self.prologue(start)? {
            Some(prologue) if prologue.kind == kind => self.block(start),
            _ => Ok(None),
        }
    }

    /// Where the block after a ref, index or object block starts.
    ///
    /// Blocks are padded with NUL to the header's block size, unless that is 0, or a byte other than NUL right behind
    /// the block shows that this one is not.
    ///
    /// # Errors
    /// [`Damage`] if what would be passed over as padding is none.
    pub(super) fn next_block(&self, block: &Block) -> Result<usize, Damage> {
        let limit = self.footer.start;
        let aligned = block.start.saturating_add(usize::try_from(self.header.block_size).unwrap_or_default());
        if aligned <= block.end || block.end >= limit || self.data().get(block.end) != Some(&0) {
            return Ok(block.end);
        }
        let padding = self.data().get(block.end..aligned.min(limit)).unwrap_or_default();
        if padding.iter().any(|&byte| byte != 0) {
            return Err(block.damaged(Reason::BlockLength));
        }
        Ok(aligned)
    }

    /// The ref, index or object block behind `block` if it is of the same kind; else the section ends, which must be
    /// where the footer lets another section start.
    pub(super) fn next_in_section(&self, block: &Block) -> Result<Option<(Block, &[u8])>, Damage> {
        let start = self.next_block(block)?;
        let Some(prologue) = self.prologue(start)? else { return Ok(None) };
        if prologue.kind == block.kind {
            return self.block(start);
        }
        let footer = &self.footer;
        let may_start = match prologue.kind {
            Kind::Ref => false,
            Kind::Index => {
                let root = if block.kind == Kind::Ref { footer.ref_index } else { footer.obj_index };
                root.is_some_and(|root| start <= root)
            }
            Kind::Obj => footer.obj == Some(start),
            Kind::Log => footer.log == Some(start),
        };
        if may_start { Ok(None) } else { Err(Damage::at(start, Reason::BlockKind)) }
    }
}
