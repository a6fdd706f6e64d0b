//! Reflog entries as the columns of a batch.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::array::Dictionary;
use super::cells::{MOST_OWNED, Maker, Numbers, ids, missing, numbers, text};
use super::field::Field;
use super::plan::Plan;
use super::ref_columns::namespace;
use super::views::{Ids, Text};
use crate::model::Value;
use crate::store::LogItem;

/// The columns of a batch of reflog entries, being filled.
pub(super) struct LogColumns {
    rows: usize,
    refname: Option<Text>,
    ref_bytes: Option<Text>,
    old: Option<Ids>,
    new: Option<Ids>,
    committer_name: Option<Text>,
    committer_email: Option<Text>,
    time: Option<Numbers>,
    tz: Option<Text>,
    message: Option<Text>,
    index: Option<Numbers>,
    update_index: Option<Numbers>,
    namespace: Option<Dictionary>,
    repository: Option<Text>,
    error: Option<Text>,
}

/// Where an entry stands.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) refname: &'a [u8],
    /// How many entries of that ref are newer.
    pub(super) index: u64,
    pub(super) update_index: Option<u64>,
}

impl LogColumns {
    /// Room for about so many rows.
    pub(super) fn new(plan: &Plan, rows: usize) -> Self {
        let make = Maker { plan, rows, sources: &[] };
        Self {
            rows: 0,
            refname: make.text(Field::Ref),
            ref_bytes: make.text(Field::RefBytes),
            old: make.ids(Field::Old),
            new: make.ids(Field::New),
            committer_name: make.text(Field::CommitterName),
            committer_email: make.text(Field::CommitterEmail),
            time: make.numbers(Field::Time),
            tz: make.text(Field::Tz),
            message: make.text(Field::Message),
            index: make.numbers(Field::Index),
            update_index: make.numbers(Field::UpdateIndex),
            namespace: plan.type_of(Field::Namespace).map(|_| Dictionary::default()),
            repository: make.text(Field::Repository),
            error: make.text(Field::Error),
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Whether the batch should end before it has all the rows that it may.
    pub(super) fn is_large(&self) -> bool {
        let texts = [&self.refname, &self.ref_bytes, &self.committer_name, &self.committer_email, &self.message];
        texts.into_iter().flatten().any(|column| column.owned() > MOST_OWNED)
    }

    /// Adds an entry; without an item the tombstone of one.
    pub(super) fn push(&mut self, place: Place<'_>, item: Option<&LogItem<'_>>, repository: Option<&[u8]>) {
        self.rows += 1;
        if let Some(column) = &mut self.refname {
            column.push(place.refname);
        }
        if let Some(column) = &mut self.ref_bytes {
            column.push(place.refname);
        }
        if let Some(column) = &mut self.old {
            column.push(item.map_or(Value::Nothing, |item| item.old));
        }
        if let Some(column) = &mut self.new {
            column.push(item.map_or(Value::Nothing, |item| item.new));
        }
        if let Some(column) = &mut self.committer_name {
            column.push_maybe(item.map(|item| item.name));
        }
        if let Some(column) = &mut self.committer_email {
            column.push_maybe(item.map(|item| item.email));
        }
        if let Some(column) = &mut self.time {
            column.push(item.map(|item| item.time).filter(|time| i64::try_from(*time).is_ok()));
        }
        if let Some(column) = &mut self.tz {
            match item {
                Some(item) => column.push(zone(item.tz, &mut [0; 6])),
                None => column.push_null(),
            }
        }
        if let Some(column) = &mut self.message {
            column.push_maybe(item.map(|item| item.message));
        }
        if let Some(column) = &mut self.index {
            column.push(Some(place.index));
        }
        if let Some(column) = &mut self.update_index {
            column.push(place.update_index);
        }
        if let Some(column) = &mut self.namespace {
            column.push(namespace(place.refname));
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
        let texts = [
            &mut self.refname,
            &mut self.ref_bytes,
            &mut self.committer_name,
            &mut self.committer_email,
            &mut self.tz,
            &mut self.message,
        ];
        texts.into_iter().flatten().for_each(Text::push_null);
        [&mut self.old, &mut self.new].into_iter().flatten().for_each(|column| column.push(Value::Nothing));
        let count = [&mut self.time, &mut self.index, &mut self.update_index];
        count.into_iter().flatten().for_each(|column| column.push(None));
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
        let texts = [&mut self.refname, &mut self.committer_name, &mut self.committer_email, &mut self.message];
        let lost = texts.into_iter().flatten().map(Text::lost).sum();
        let batch = plan.batch(self.rows, |field, data_type| match field {
            Field::Ref => text(self.refname.as_mut(), data_type),
            Field::RefBytes => text(self.ref_bytes.as_mut(), data_type),
            Field::Old => ids(self.old.as_mut(), data_type),
            Field::New => ids(self.new.as_mut(), data_type),
            Field::CommitterName => text(self.committer_name.as_mut(), data_type),
            Field::CommitterEmail => text(self.committer_email.as_mut(), data_type),
            Field::Time => Ok(self.time.as_mut().ok_or_else(missing)?.finish_times()),
            Field::Tz => text(self.tz.as_mut(), data_type),
            Field::Message => text(self.message.as_mut(), data_type),
            Field::Index => numbers(self.index.as_mut()),
            Field::UpdateIndex => numbers(self.update_index.as_mut()),
            Field::Namespace => self.namespace.as_mut().ok_or_else(missing)?.finish(data_type),
            Field::Repository => text(self.repository.as_mut(), data_type),
            Field::Error => text(self.error.as_mut(), data_type),
            _ => Err(missing()),
        })?;
        Ok((batch, lost))
    }
}

/// A zone as git writes it, in the room for it: a sign and four digits at least.
fn zone(tz: i16, room: &mut [u8; 6]) -> &[u8] {
    let mut rest = tz.unsigned_abs();
    let mut at = room.len();
    while at > 2 || rest > 0 {
        at -= 1;
        // Of 32,768 the fifth digit is the last.
        room[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    at -= 1;
    room[at] = if tz < 0 { b'-' } else { b'+' };
    &room[at..]
}

#[cfg(test)]
mod tests {
    use super::zone;

    #[test]
    fn zones_are_written_as_git_does() {
        for tz in [0, 1, -1, 30, 530, -330, 1400, -1200, 9999, 10_000, i16::MAX, i16::MIN] {
            assert_eq!(zone(tz, &mut [0; 6]), format!("{tz:+05}").as_bytes(), "{tz}");
        }
    }
}
