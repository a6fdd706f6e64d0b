//! From what was gathered to the array of the type that was asked for.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, FixedSizeBinaryArray, Int32Array, LargeBinaryArray, LargeStringArray,
    StringArray, StringViewArray,
};
use arrow_schema::{ArrowError, DataType};

use super::views::Finished;

/// A column of views as an array of that type.
pub(super) fn of_views(finished: Finished, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    Ok(match (finished, data_type) {
        (Finished::Text(text), DataType::Utf8) => Arc::new(text.iter().collect::<StringArray>()),
        (Finished::Text(text), DataType::LargeUtf8) => Arc::new(text.iter().collect::<LargeStringArray>()),
        (Finished::Text(text), _) => Arc::new(text),
        (Finished::Bytes(bytes), DataType::Binary) => Arc::new(bytes.iter().collect::<BinaryArray>()),
        (Finished::Bytes(bytes), DataType::LargeBinary) => Arc::new(bytes.iter().collect::<LargeBinaryArray>()),
        (Finished::Bytes(bytes), DataType::FixedSizeBinary(width)) => {
            let wrong =
                usize::try_from(*width).ok().and_then(|width| bytes.iter().flatten().find(|v| v.len() != width));
            if let Some(value) = wrong {
                let message = format!("an object id has {} bytes, not {width}", value.len());
                return Err(ArrowError::InvalidArgumentError(message));
            }
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes.iter(), *width)?)
        }
        (Finished::Bytes(bytes), _) => Arc::new(bytes),
    })
}

/// Text of few values: rows in a row mostly have the same one.
#[derive(Default)]
pub(super) struct Dictionary {
    keys: Vec<Option<i32>>,
    values: Vec<String>,
    /// The key of each value.
    known: HashMap<String, i32>,
}

impl Dictionary {
    pub(super) fn push(&mut self, value: Option<&str>) {
        let Some(value) = value else {
            self.keys.push(None);
            return;
        };
        let is_it =
            |key: &i32| usize::try_from(*key).ok().and_then(|key| self.values.get(key)).is_some_and(|v| v == value);
        let last = self.keys.last().copied().flatten().filter(is_it);
        let key = last.or_else(|| self.find(value));
        self.keys.push(key);
    }

    #[inline(never)]
    fn find(&mut self, value: &str) -> Option<i32> {
        if let Some(key) = self.known.get(value) {
            return Some(*key);
        }
        let key = i32::try_from(self.values.len()).ok()?;
        self.values.push(value.to_owned());
        self.known.insert(value.to_owned(), key);
        Some(key)
    }

    /// What was pushed, as an array of that type.
    pub(super) fn finish(&mut self, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        let Self { keys, values, .. } = std::mem::take(self);
        let each = keys.iter().map(|key| key.and_then(|key| values.get(usize::try_from(key).ok()?)));
        Ok(match data_type {
            DataType::Utf8 => Arc::new(each.collect::<StringArray>()),
            DataType::LargeUtf8 => Arc::new(each.collect::<LargeStringArray>()),
            DataType::Utf8View => Arc::new(each.collect::<StringViewArray>()),
            _ => {
                let values = Arc::new(values.into_iter().map(Some).collect::<StringArray>());
                Arc::new(DictionaryArray::<Int32Type>::try_new(Int32Array::from(keys), values)?)
            }
        })
    }
}
