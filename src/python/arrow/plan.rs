//! Which columns are wanted, of which types.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::field::{Field, Shape};

/// The columns of a stream, in their order.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    columns: Vec<(Field, DataType)>,
    schema: SchemaRef,
}

impl Plan {
    /// The fields of those names; without names the usual ones.
    pub(super) fn new(shape: Shape, names: Option<&Bound<'_, PyAny>>, is_raw: bool) -> PyResult<Self> {
        let mut fields = Vec::new();
        match names {
            None => fields.extend_from_slice(shape.fields.get(..shape.usual).unwrap_or_default()),
            Some(names) => {
                if names.is_instance_of::<PyString>() {
                    return Err(pyo3::exceptions::PyTypeError::new_err("several fields are wanted here, not one"));
                }
                for name in names.try_iter()? {
                    let name: String = name?.extract()?;
                    let field = shape.fields.iter().copied().find(|field| field.name() == name);
                    let field = field.ok_or_else(|| unknown(shape, &name))?;
                    if fields.contains(&field) {
                        return Err(PyValueError::new_err(format!("the field {name:?} is named twice")));
                    }
                    fields.push(field);
                }
            }
        }
        Ok(Self::of(fields.into_iter().map(|field| (field, field.usual_type(is_raw))).collect()))
    }

    fn of(columns: Vec<(Field, DataType)>) -> Self {
        let field =
            |(field, data_type): &(Field, DataType)| arrow_schema::Field::new(field.name(), data_type.clone(), true);
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        Self { columns, schema }
    }

    /// The same columns, as the schema has them: it can ask for other types, not for other columns.
    pub(super) fn requested(&self, schema: &Schema) -> PyResult<Self> {
        let names = |names: &mut dyn Iterator<Item = &str>| names.collect::<Vec<_>>().join(", ");
        let mine = names(&mut self.columns.iter().map(|(field, _)| field.name()));
        let theirs = names(&mut schema.fields().iter().map(|field| &field.name()[..]));
        if mine != theirs {
            let message = format!("a schema can ask for other types, not other columns: they are {mine}, not {theirs}");
            return Err(PyValueError::new_err(message));
        }
        let columns = self.columns.iter().zip(schema.fields()).map(|((field, _), wanted)| {
            let data_type = wanted.data_type();
            if field.may_be(data_type) {
                return Ok((*field, data_type.clone()));
            }
            let message = format!("the column {} cannot be {data_type}, but: {}", field.name(), field.types());
            Err(PyValueError::new_err(message))
        });
        Ok(Self::of(columns.collect::<PyResult<_>>()?))
    }

    /// Whether object ids of so many bytes fit; not known of what has none.
    pub(super) fn check_width(&self, raw_len: Option<usize>) -> PyResult<()> {
        for (field, data_type) in &self.columns {
            if let (DataType::FixedSizeBinary(width), Some(raw_len)) = (data_type, raw_len)
                && usize::try_from(*width) != Ok(raw_len)
            {
                let message = format!("the column {} holds object ids of {raw_len} bytes, not {width}", field.name());
                return Err(PyValueError::new_err(message));
            }
        }
        Ok(())
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The fields, in order.
    pub(super) fn fields(&self) -> impl Iterator<Item = Field> + '_ {
        self.columns.iter().map(|(field, _)| *field)
    }

    /// The type of a field; `None` if it is not wanted.
    pub(super) fn type_of(&self, field: Field) -> Option<&DataType> {
        self.columns.iter().find(|(other, _)| *other == field).map(|(_, data_type)| data_type)
    }

    /// A batch of so many rows: `array` gives each column.
    pub(super) fn batch(
        &self,
        rows: usize,
        mut array: impl FnMut(Field, &DataType) -> Result<ArrayRef, ArrowError>,
    ) -> Result<RecordBatch, ArrowError> {
        let arrays = self.columns.iter().map(|(field, data_type)| array(*field, data_type));
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
    }
}

fn unknown(shape: Shape, name: &str) -> PyErr {
    let known: Vec<_> = shape.fields.iter().map(|field| field.name()).collect();
    PyValueError::new_err(format!("there is no field {name:?}; there are {}", known.join(", ")))
}
