//! Records that can be read but not used: what is wrong with each.

use super::search::record_start;
use super::{Record, Snapshot};
use crate::model::{Broken, Fault, Span};

impl Snapshot {
    /// Why the record cannot be used as a ref, the first reason that holds; `None` if it can.
    #[must_use]
    pub fn broken(&self, record: &Record) -> Option<Broken> {
        let name = self.bytes(record.name());
        if let Some(why) = self.broken_alone(record) {
            return Some(why);
        }
        let is_named = |other: Option<Record>| other.is_some_and(|other| self.bytes(other.name()) == name);
        let is_duplicate = is_named(self.following(record)) || is_named(self.preceding(record));
        is_duplicate.then_some(Broken::Duplicate)
    }

    /// [`Self::broken`] without a look at its neighbours, who may have its name too.
    #[inline]
    #[must_use]
    pub fn broken_alone(&self, record: &Record) -> Option<Broken> {
        match Fault::of(self.bytes(record.name())) {
            Some(fault) => Some(Broken::Name(fault)),
            None => self.is_zero(record.oid()).then_some(Broken::ZeroOid),
        }
    }

    /// The peeled object id; one of zeros is git's way to say that the object is no annotated tag.
    #[must_use]
    pub fn peeled(&self, record: &Record) -> Option<Span> {
        record.peeled().filter(|peeled| !self.is_zero(peeled.clone()))
    }

    pub(super) fn is_zero(&self, oid: Span) -> bool {
        self.bytes(oid).iter().all(|&digit| digit == b'0')
    }

    /// The record behind this one, if there is a sound one.
    pub(super) fn following(&self, record: &Record) -> Option<Record> {
        let next = Some(record.end()).filter(|next| *next < self.body().end)?;
        Record::read(self.data(), next, self.hash()?)
    }

    /// The record in front of this one, if there is a sound one.
    fn preceding(&self, record: &Record) -> Option<Record> {
        let first = self.body().start;
        let last = record.start().checked_sub(1).filter(|last| *last >= first)?;
        Record::read(self.data(), record_start(self.data(), first, last), self.hash()?)
    }
}
