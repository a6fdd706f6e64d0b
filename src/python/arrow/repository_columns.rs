//! Repositories as the columns of a batch: what one asks of a fleet first.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::cells::{Maker, Numbers, missing, numbers, text};
use super::field::Field;
use super::plan::Plan;
use super::views::Text;
use crate::model::{Error, Interrupt};
use crate::store::{Lookup, Query};

/// The columns of a batch of repositories, being filled.
pub(super) struct RepositoryColumns {
    rows: usize,
    repository: Option<Text>,
    format: Option<Text>,
    hash: Option<Text>,
    head: Option<Text>,
    refs: Option<Numbers>,
    error: Option<Text>,
}

impl RepositoryColumns {
    pub(super) fn new(plan: &Plan, rows: usize) -> Self {
        let make = Maker { plan, rows, sources: &[] };
        Self {
            rows: 0,
            repository: make.text(Field::Repository),
            format: make.text(Field::Format),
            hash: make.text(Field::Hash),
            head: make.text(Field::Head),
            refs: make.numbers(Field::Refs),
            error: make.text(Field::Error),
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a repository: how many refs the query selects, and what `HEAD` holds.
    pub(super) fn push(
        &mut self,
        path: &[u8],
        lookup: &Lookup,
        query: &Query,
        interrupt: Interrupt<'_>,
    ) -> Result<(), Error> {
        // All that can fail comes first, so that a row is whole or an error's.
        let count = match &self.refs {
            Some(_) => Some(lookup.view(query, interrupt)?.count(query.clone(), interrupt)? as u64),
            None => None,
        };
        let head = match &self.head {
            Some(_) => lookup.find(b"HEAD", interrupt)?,
            None => None,
        };
        let head = head.and_then(|entry| entry.item().value().to_owned()).map(|value| value.text());
        let repository = lookup.repository();
        let location = repository.as_ref().map(|repository| &repository.location);
        self.add(
            [Some(path), location.map(|l| l.format().name().as_bytes()), location.map(|l| l.hash().name().as_bytes())],
            head.as_deref(),
            count,
            None,
        );
        Ok(())
    }

    /// Adds a row for a repository that cannot be read.
    pub(super) fn push_error(&mut self, repository: &[u8], message: &[u8]) {
        self.add([Some(repository), None, None], None, None, Some(message));
    }

    fn add(&mut self, facts: [Option<&[u8]>; 3], head: Option<&[u8]>, refs: Option<u64>, error: Option<&[u8]>) {
        self.rows += 1;
        let [repository, format, hash] = facts;
        let texts = [
            (&mut self.repository, repository),
            (&mut self.format, format),
            (&mut self.hash, hash),
            (&mut self.head, head),
            (&mut self.error, error),
        ];
        for (column, value) in texts {
            if let Some(column) = column {
                column.push_maybe(value);
            }
        }
        if let Some(column) = &mut self.refs {
            column.push(refs);
        }
    }

    /// The batch, and how many values in it are null for want of UTF-8.
    pub(super) fn finish(mut self, plan: &Plan) -> Result<(RecordBatch, u64), ArrowError> {
        let lost = self.head.as_mut().map(Text::lost).unwrap_or_default();
        let batch = plan.batch(self.rows, |field, data_type| match field {
            Field::Repository => text(self.repository.as_mut(), data_type),
            Field::Format => text(self.format.as_mut(), data_type),
            Field::Hash => text(self.hash.as_mut(), data_type),
            Field::Head => text(self.head.as_mut(), data_type),
            Field::Refs => numbers(self.refs.as_mut()),
            Field::Error => text(self.error.as_mut(), data_type),
            _ => Err(missing()),
        })?;
        Ok((batch, lost))
    }
}
