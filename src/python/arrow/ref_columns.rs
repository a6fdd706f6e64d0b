//! Refs as the columns of a batch.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::ArrowError;

use super::array::Dictionary;
use super::cells::{MOST_OWNED, Maker, Numbers, ids, missing, numbers, text};
use super::field::Field;
use super::plan::Plan;
use super::views::{Ids, Text};
use crate::model::{Oid, Value};
use crate::store::{Item, Peeled};

/// The columns of a batch of refs, being filled.
pub(super) struct RefColumns {
    rows: usize,
    /// Whether a column is wanted that few ask for.
    has_more: bool,
    name: Option<Text>,
    name_bytes: Option<Text>,
    oid: Option<Ids>,
    peeled: Option<Ids>,
    target: Option<Text>,
    kind: Option<Text>,
    update_index: Option<Numbers>,
    namespace: Option<Dictionary>,
    broken: Option<Text>,
    repository: Option<Text>,
    error: Option<Text>,
}

impl RefColumns {
    /// Room for about so many rows, whose values may lie in `sources`.
    pub(super) fn new(plan: &Plan, rows: usize, sources: &[Buffer]) -> Self {
        let make = Maker { plan, rows, sources };
        let few = |field| !matches!(field, Field::Name | Field::Oid | Field::Peeled | Field::Target);
        Self {
            rows: 0,
            has_more: plan.fields().any(few),
            name: make.text(Field::Name),
            name_bytes: make.text(Field::NameBytes),
            oid: make.ids(Field::Oid),
            peeled: make.ids(Field::Peeled),
            target: make.text(Field::Target),
            kind: make.words(Field::Kind),
            update_index: make.numbers(Field::UpdateIndex),
            namespace: plan.type_of(Field::Namespace).map(|_| Dictionary::default()),
            broken: make.words(Field::Broken),
            repository: make.words(Field::Repository),
            error: make.words(Field::Error),
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Whether the batch should end before it has all the rows that it may.
    #[inline]
    pub(super) fn is_large(&self) -> bool {
        let texts = [&self.name, &self.name_bytes, &self.target, &self.repository, &self.error];
        let owned = texts.into_iter().flatten().map(Text::owned).max().unwrap_or_default();
        owned > MOST_OWNED
    }

    /// Whether it has to be told why a ref is broken.
    pub(super) fn tells_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Whether it has to be told what a tag points at.
    pub(super) fn tells_peeled(&self) -> bool {
        self.peeled.is_some()
    }

    /// Adds a ref of that repository; `peeled` is what the object database says where the storage says nothing.
    #[inline(always)]
    pub(super) fn push(&mut self, item: Item<'_>, peeled: Option<Oid>, repository: Option<&[u8]>) {
        self.rows += 1;
        if let Some(column) = &mut self.name {
            column.push(item.name());
        }
        let value = item.value();
        if let Some(column) = &mut self.oid {
            column.push(value);
        }
        if let Some(column) = &mut self.peeled {
            match (item.peeled(), &peeled) {
                (Peeled::To(value), _) => column.push(value),
                (_, Some(oid)) => column.push(Value::Raw(oid.as_raw())),
                _ => column.push(Value::Nothing),
            }
        }
        if let Some(column) = &mut self.target {
            match value {
                Value::Symref(target) => column.push(target),
                _ => column.push_null(),
            }
        }
        if self.has_more {
            self.push_rest(item, repository);
        }
    }

    /// The columns that few ask for.
    #[inline(never)]
    fn push_rest(&mut self, item: Item<'_>, repository: Option<&[u8]>) {
        if let Some(column) = &mut self.name_bytes {
            column.push(item.name());
        }
        if let Some(column) = &mut self.kind {
            column.push_maybe(kind(item));
        }
        if let Some(column) = &mut self.update_index {
            column.push(item.update_index());
        }
        if let Some(column) = &mut self.namespace {
            column.push(namespace(item.name()));
        }
        if let Some(column) = &mut self.broken {
            column.push_maybe(item.broken().map(|why| why.as_str().as_bytes()));
        }
        if let Some(column) = &mut self.repository {
            column.push_maybe(repository);
        }
        if let Some(column) = &mut self.error {
            column.push_null();
        }
    }

    /// Adds a row for a repository that cannot be read.
    pub(super) fn push_error(&mut self, repository: &[u8], message: &[u8]) {
        self.rows += 1;
        let texts = [&mut self.name, &mut self.name_bytes, &mut self.target, &mut self.kind, &mut self.broken];
        texts.into_iter().flatten().for_each(Text::push_null);
        [&mut self.oid, &mut self.peeled].into_iter().flatten().for_each(|column| column.push(Value::Nothing));
        if let Some(column) = &mut self.update_index {
            column.push(None);
        }
        if let Some(column) = &mut self.namespace {
            column.push(None);
        }
        if let Some(column) = &mut self.repository {
            column.push(repository);
        }
        if let Some(column) = &mut self.error {
            column.push(message);
        }
    }

    /// The batch, and how many values in it are null for want of UTF-8.
    pub(super) fn finish(mut self, plan: &Plan) -> Result<(RecordBatch, u64), ArrowError> {
        let texts = [&mut self.name, &mut self.target];
        let lost = texts.into_iter().flatten().map(Text::lost).sum();
        let batch = plan.batch(self.rows, |field, data_type| match field {
            Field::Name => text(self.name.as_mut(), data_type),
            Field::NameBytes => text(self.name_bytes.as_mut(), data_type),
            Field::Oid => ids(self.oid.as_mut(), data_type),
            Field::Peeled => ids(self.peeled.as_mut(), data_type),
            Field::Target => text(self.target.as_mut(), data_type),
            Field::Kind => text(self.kind.as_mut(), data_type),
            Field::UpdateIndex => numbers(self.update_index.as_mut()),
            Field::Namespace => self.namespace.as_mut().ok_or_else(missing)?.finish(data_type),
            Field::Broken => text(self.broken.as_mut(), data_type),
            Field::Repository => text(self.repository.as_mut(), data_type),
            Field::Error => text(self.error.as_mut(), data_type),
            _ => Err(missing()),
        })?;
        Ok((batch, lost))
    }
}

/// What a ref holds, in a word; `None` for what cannot be read.
fn kind(item: Item<'_>) -> Option<&'static [u8]> {
    match item.value() {
        Value::Hex(_) | Value::Raw(_) => Some(b"oid"),
        Value::Symref(_) => Some(b"symref"),
        Value::Nothing if item.is_deletion() => Some(b"deletion"),
        Value::Nothing => None,
    }
}

/// The first two components of a name below `refs/` that has more: "refs/heads". None for others, and what is no text.
pub(super) fn namespace(name: &[u8]) -> Option<&str> {
    let rest = name.strip_prefix(b"refs/")?;
    let end = memchr::memchr(b'/', rest)?;
    str::from_utf8(name.get(..b"refs/".len() + end)?).ok()
}
