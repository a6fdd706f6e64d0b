//! One ref, wherever it was found.

use std::sync::Arc;

use super::{Found, LooseRefs, PackedFile, Tables};
use crate::model::{Broken, Value};
use crate::packed::{Record, Snapshot};
use crate::reftable::{RefBatch, Value as TableValue};

/// A ref that was found, and what it was found in.
#[derive(Debug, Clone)]
pub enum Entry {
    /// In packed-refs.
    Packed(Arc<PackedFile>, Record),
    /// In a file of its own.
    Loose(Arc<LooseRefs>, usize),
    /// In a table.
    Table(Arc<Tables>, Found),
}

/// The same, borrowed from what it was found in.
#[derive(Clone, Copy)]
pub enum Item<'a> {
    /// In packed-refs; whether its name stands in another record too.
    Packed(&'a Snapshot, Record, bool),
    /// In a file of its own.
    Loose(&'a LooseRefs, usize),
    /// In a batch of a table with these bytes.
    Table(&'a RefBatch, usize, &'a [u8]),
}

/// What a tag points at in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peeled<'a> {
    /// This object.
    To(Value<'a>),
    /// Nothing: it is no annotated tag.
    Nowhere,
    /// The storage does not say.
    Unknown,
}

impl Entry {
    /// The same, borrowed.
    #[must_use]
    pub fn item(&self) -> Item<'_> {
        match self {
            Self::Packed(file, record) => Item::Packed(file.snapshot(), *record, false),
            Self::Loose(refs, i) => Item::Loose(refs, *i),
            Self::Table(tables, found) => {
                let data = tables.files().get(found.table).map(|file| file.table().data()).unwrap_or_default();
                Item::Table(&found.batch, found.index, data)
            }
        }
    }
}

impl<'a> Item<'a> {
    /// Its full name.
    #[inline]
    #[must_use]
    pub fn name(self) -> &'a [u8] {
        match self {
            Self::Packed(snapshot, record, _) => snapshot.bytes(record.name()),
            Self::Loose(refs, i) => refs.name(i),
            Self::Table(batch, i, _) => batch.name(i),
        }
    }

    /// What it holds.
    #[inline]
    #[must_use]
    pub fn value(self) -> Value<'a> {
        match self {
            Self::Packed(snapshot, record, _) => Value::Hex(snapshot.bytes(record.oid())),
            Self::Loose(refs, i) => refs.value(i),
            Self::Table(batch, i, data) => match batch.get(i).map(crate::reftable::RefRecord::value) {
                Some(TableValue::Oid(oid) | TableValue::Peeled(oid, _)) => {
                    Value::Raw(data.get(oid).unwrap_or_default())
                }
                Some(TableValue::Symref(target)) => Value::Symref(data.get(target).unwrap_or_default()),
                Some(TableValue::Deletion) | None => Value::Nothing,
            },
        }
    }

    /// The transaction that wrote it, where the format tells.
    #[must_use]
    pub fn update_index(self) -> Option<u64> {
        match self {
            Self::Table(batch, i, _) => batch.get(i).map(|record| record.update_index),
            Self::Packed(..) | Self::Loose(..) => None,
        }
    }

    /// Whether it is the tombstone of a ref in an older table.
    #[must_use]
    pub fn is_deletion(self) -> bool {
        matches!(self, Self::Table(batch, i, _) if batch.get(i).is_some_and(crate::reftable::RefRecord::is_deletion))
    }

    /// Whether no other record has its name.
    #[inline]
    #[must_use]
    pub fn is_single(self) -> bool {
        !matches!(self, Self::Packed(_, _, true))
    }

    /// What its object points at in the end.
    #[must_use]
    pub fn peeled(self) -> Peeled<'a> {
        match self {
            Self::Packed(snapshot, record, _) => match snapshot.peeled(&record) {
                Some(peeled) => Peeled::To(Value::Hex(snapshot.bytes(peeled))),
                None if snapshot.peel_known(&record) => Peeled::Nowhere,
                None => Peeled::Unknown,
            },
            Self::Loose(..) => Peeled::Unknown,
            Self::Table(batch, i, data) => match batch.get(i).map(crate::reftable::RefRecord::value) {
                Some(TableValue::Peeled(_, peeled)) => Peeled::To(Value::Raw(data.get(peeled).unwrap_or_default())),
                // Tables store it when they are written; a writer that had no objects did not.
                _ => Peeled::Unknown,
            },
        }
    }

    /// Why it cannot be used.
    #[inline]
    #[must_use]
    pub fn broken(self) -> Option<Broken> {
        match self {
            Self::Packed(snapshot, record, is_duplicate) => {
                snapshot.broken_alone(&record).or(is_duplicate.then_some(Broken::Duplicate))
            }
            Self::Loose(refs, i) => refs.broken(i),
            Self::Table(batch, i, data) => batch.broken(i, data),
        }
    }
}
