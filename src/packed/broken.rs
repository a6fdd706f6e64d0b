//! Refs that can be read but not used: what is wrong with each. Never dropped, never changed.

use super::search::record_start;
use super::{Record, Snapshot};
use crate::model::Fault;

/// Why a record cannot be used as a ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// Its name stands in more than one record.
    Duplicate,
    /// Its name breaks a rule.
    Name(Fault),
    /// Its object id is all zeros.
    ZeroOid,
}

impl Broken {
    /// The word for it in Python.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::Name(Fault::BadName) => "bad name",
            Self::Name(Fault::UnsafeName) => "unsafe name",
            Self::ZeroOid => "zero oid",
        }
    }
}

impl Snapshot {
    /// Why the record cannot be used as a ref, the first reason that holds; `None` if it can.
    #[must_use]
    pub fn broken(&self, record: &Record) -> Option<Broken> {
        let name = self.bytes(record.name());
        let is_named = |other: Option<Record>| other.is_some_and(|other| self.bytes(other.name()) == name);
        if is_named(self.following(record)) || is_named(self.preceding(record)) {
            return Some(Broken::Duplicate);
        }
        if let Some(fault) = Fault::of(name) {
            return Some(Broken::Name(fault));
        }
        self.bytes(record.oid()).iter().all(|&b| b == b'0').then_some(Broken::ZeroOid)
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
