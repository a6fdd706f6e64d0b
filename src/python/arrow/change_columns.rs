//! Changes as the columns of a batch.
//!
//! ```text
//! kind          = create | update | delete | reflog
//! before, after = object id | "ref:" target | for a reflog its first entry that differs, as a line of a files reflog
//! ```

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::array::Dictionary;
use super::cells::{MOST_OWNED, Maker, missing, text};
use super::field::Field;
use super::plan::Plan;
use super::ref_columns::namespace;
use super::views::Text;
use crate::model::RefValue;
use crate::store::{Difference, LogDifference};

/// The columns of a batch of changes, being filled.
pub(super) struct ChangeColumns {
    rows: usize,
    name: Option<Text>,
    name_bytes: Option<Text>,
    kind: Option<Text>,
    before: Option<Text>,
    after: Option<Text>,
    namespace: Option<Dictionary>,
}

impl ChangeColumns {
    /// Room for about so many rows.
    pub(super) fn new(plan: &Plan, rows: usize) -> Self {
        let make = Maker { plan, rows, sources: &[] };
        Self {
            rows: 0,
            name: make.text(Field::Name),
            name_bytes: make.text(Field::NameBytes),
            kind: make.text(Field::Kind),
            before: make.text(Field::Before),
            after: make.text(Field::After),
            namespace: plan.type_of(Field::Namespace).map(|_| Dictionary::default()),
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Whether the batch should end before it has all the rows that it may.
    pub(super) fn is_large(&self) -> bool {
        let texts = [&self.name, &self.name_bytes, &self.before, &self.after];
        texts.into_iter().flatten().any(|column| column.owned() > MOST_OWNED)
    }

    /// Adds the change of a ref.
    pub(super) fn push(&mut self, difference: &Difference) {
        let kind: &[u8] = match (&difference.before, &difference.after) {
            (None, _) => b"create",
            (_, None) => b"delete",
            _ => b"update",
        };
        let [before, after] = [&difference.before, &difference.after].map(|side| side.as_ref().map(RefValue::text));
        self.add(&difference.name, kind, before.as_deref(), after.as_deref());
    }

    /// Adds the change of a reflog.
    pub(super) fn push_log(&mut self, difference: &LogDifference<Vec<u8>>) {
        self.add(&difference.name, b"reflog", difference.before.as_deref(), difference.after.as_deref());
    }

    fn add(&mut self, name: &[u8], kind: &[u8], before: Option<&[u8]>, after: Option<&[u8]>) {
        self.rows += 1;
        let columns = [
            (&mut self.name, Some(name)),
            (&mut self.name_bytes, Some(name)),
            (&mut self.kind, Some(kind)),
            (&mut self.before, before),
            (&mut self.after, after),
        ];
        for (column, value) in columns {
            if let Some(column) = column {
                column.push_maybe(value);
            }
        }
        if let Some(column) = &mut self.namespace {
            column.push(namespace(name));
        }
    }

    /// The batch, and how many values in it are null for want of UTF-8.
    pub(super) fn finish(mut self, plan: &Plan) -> Result<(RecordBatch, u64), ArrowError> {
        let texts = [&mut self.name, &mut self.before, &mut self.after];
        let lost = texts.into_iter().flatten().map(Text::lost).sum();
        let batch = plan.batch(self.rows, |field, data_type| match field {
            Field::Name => text(self.name.as_mut(), data_type),
            Field::NameBytes => text(self.name_bytes.as_mut(), data_type),
            Field::Kind => text(self.kind.as_mut(), data_type),
            Field::Before => text(self.before.as_mut(), data_type),
            Field::After => text(self.after.as_mut(), data_type),
            Field::Namespace => self.namespace.as_mut().ok_or_else(missing)?.finish(data_type),
            _ => Err(missing()),
        })?;
        Ok((batch, lost))
    }
}
