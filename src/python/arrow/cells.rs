//! The columns of a batch, being filled: those that are wanted.

use std::sync::Arc;

use arrow_array::{ArrayRef, TimestampSecondArray, UInt64Array};
use arrow_buffer::{Buffer, NullBufferBuilder};
use arrow_schema::{ArrowError, DataType};

use super::array::of_views;
use super::field::Field;
use super::plan::Plan;
use super::views::{Ids, Text, Views};

/// Memory of their own that the columns of one batch take, at about the most.
pub(super) const MOST_OWNED: usize = 1 << 29;
/// Rows that memory is taken for before there are any.
const MOST_AHEAD: usize = 1 << 16;

/// Makes the columns of a batch.
pub(super) struct Maker<'a> {
    pub(super) plan: &'a Plan,
    pub(super) rows: usize,
    /// What values may lie in.
    pub(super) sources: &'a [Buffer],
}

impl Maker<'_> {
    fn views(&self, sources: &[Buffer]) -> Views {
        Views::new(self.rows.min(MOST_AHEAD), sources)
    }

    /// A column of text, if it is wanted.
    pub(super) fn text(&self, field: Field) -> Option<Text> {
        let is_text = is_text(self.plan.type_of(field)?);
        Some(Text::new(self.views(self.sources), is_text))
    }

    /// A column of words that are short, or not in any source.
    pub(super) fn words(&self, field: Field) -> Option<Text> {
        let is_text = is_text(self.plan.type_of(field)?);
        Some(Text::new(self.views(&[]), is_text))
    }

    /// A column of object ids.
    pub(super) fn ids(&self, field: Field) -> Option<Ids> {
        let is_hex = is_text(self.plan.type_of(field)?);
        Some(Ids::new(self.views(self.sources), is_hex))
    }

    /// A column of numbers.
    pub(super) fn numbers(&self, field: Field) -> Option<Numbers> {
        self.plan.type_of(field)?;
        Some(Numbers { values: Vec::with_capacity(self.rows.min(MOST_AHEAD)), nulls: NullBufferBuilder::new(0) })
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// A column of numbers.
pub(super) struct Numbers {
    values: Vec<u64>,
    nulls: NullBufferBuilder,
}

impl Numbers {
    pub(super) fn push(&mut self, value: Option<u64>) {
        self.values.push(value.unwrap_or_default());
        self.nulls.append(value.is_some());
    }

    pub(super) fn finish(&mut self) -> ArrayRef {
        Arc::new(UInt64Array::new(std::mem::take(&mut self.values).into(), self.nulls.finish()))
    }

    /// As seconds since 1970. What no signed number can count was pushed as null.
    pub(super) fn finish_times(&mut self) -> ArrayRef {
        let values = std::mem::take(&mut self.values).into_iter().map(u64::cast_signed).collect::<Vec<_>>();
        Arc::new(TimestampSecondArray::new(values.into(), self.nulls.finish()).with_timezone("UTC"))
    }
}

/// A finished column; one that is not wanted is asked for by nobody.
pub(super) fn text(column: Option<&mut Text>, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    of_views(column.ok_or_else(missing)?.finish(), data_type)
}

/// The same.
pub(super) fn ids(column: Option<&mut Ids>, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    of_views(column.ok_or_else(missing)?.finish(), data_type)
}

/// The same.
pub(super) fn numbers(column: Option<&mut Numbers>) -> Result<ArrayRef, ArrowError> {
    Ok(column.ok_or_else(missing)?.finish())
}

pub(super) fn missing() -> ArrowError {
    ArrowError::InvalidArgumentError("a column that was not asked for".to_owned())
}
