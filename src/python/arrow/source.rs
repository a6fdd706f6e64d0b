//! What values are views into, as buffers that keep it: files as they lie in memory.

use std::sync::Arc;

use arrow_buffer::Buffer;
use bytes::Bytes;

use crate::store::{LooseRefs, PackedFile, TableFile};

/// A packed-refs file.
pub(super) fn of_packed(file: &Arc<PackedFile>) -> Buffer {
    keep(Kept::Packed(file.clone()))
}

/// A table.
pub(super) fn of_table(file: &Arc<TableFile>) -> Buffer {
    keep(Kept::Table(file.clone()))
}

/// Loose refs, which were copied into memory.
pub(super) fn of_loose(refs: &Arc<LooseRefs>) -> Buffer {
    keep(Kept::Loose(refs.clone()))
}

fn keep(kept: Kept) -> Buffer {
    Bytes::from_owner(kept).into()
}

enum Kept {
    Packed(Arc<PackedFile>),
    Table(Arc<TableFile>),
    Loose(Arc<LooseRefs>),
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Packed(file) => file.snapshot().data(),
            Self::Table(file) => file.table().data(),
            Self::Loose(refs) => refs.bytes(),
        }
    }
}
