//! Earning the claim that every record has its peeled value.
//!
//! A file whose header does not say `fully-peeled` may hold annotated tags without one. Before we say it, each record without
//! a peeled line is looked up. What the header claims already is believed: `peeled` for refs below `refs/tags/`.

use super::checker::{Checker, Flaw};
use super::plan::{Patch, Put};
use super::{Base, Header, Record};
use crate::fs::{Check, Step, Unspliced, splice};
use crate::model::{HashKind, Interrupt, Oid, Span};

/// What an object turns out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peel {
    /// An annotated tag that leads to this one.
    To(Oid),
    /// Something else.
    NoTag,
    /// That cannot be told.
    Unknown,
}

struct Peeler<'a> {
    checker: Checker,
    header: Header,
    peel: &'a mut dyn FnMut(&Oid) -> Peel,
    patches: Vec<Patch>,
    is_all_known: bool,
    /// Records that go, in order, by their offsets from the start of the body; those that are passed are dropped.
    gone: &'a [Span],
}

impl Base {
    /// The peeled lines that are missing, as far as they can be told, and what the header may claim with them. Records in the
    /// spans of `gone`, which ascend, are not asked for.
    ///
    /// # Errors
    /// [`Unspliced`]; a name that stands in several records is no flaw here.
    pub fn peeled(
        &self,
        gone: &[Span],
        peel: &mut dyn FnMut(&Oid) -> Peel,
        interrupt: Interrupt<'_>,
    ) -> Result<(Vec<Patch>, Header), Unspliced<Flaw>> {
        let header = self.header();
        if header.fully_peeled {
            return Ok((Vec::new(), Header { peeled: true, ..header }));
        }
        let checker = Checker::new(self.hash(), 0).allowing_duplicates();
        // Checked offsets start with the body.
        let start = self.body().start;
        let shifted = |span: &Span| span.start.saturating_sub(start)..span.end.saturating_sub(start);
        let gone: Vec<_> = gone.iter().map(shifted).collect();
        let mut peeler = Peeler { checker, header, peel, patches: Vec::new(), is_all_known: true, gone: &gone };
        splice(self, [Step::Keep(self.body().clone())], &mut peeler, None, interrupt)?;
        let all = peeler.is_all_known;
        let claims = Header { peeled: header.peeled || all, fully_peeled: all, ..header };
        let mut patches = peeler.patches;
        for patch in &mut patches {
            let at = patch.span.start.saturating_add(start);
            patch.span = at..at;
        }
        Ok((patches, claims))
    }
}

impl Peeler<'_> {
    fn visit(&mut self, end: usize, record: &Record, piece: &[u8]) {
        let is_claimed =
            self.header.peeled && piece.get(record.name()).is_some_and(|name| name.starts_with(b"refs/tags/"));
        while let Some((_, rest)) = self.gone.split_first().filter(|(span, _)| span.end < end) {
            self.gone = rest;
        }
        let is_gone = self.gone.first().is_some_and(|span| span.start < end);
        if record.has_peeled() || is_claimed || is_gone {
            return;
        }
        let oid = piece.get(record.oid()).and_then(Oid::from_hex);
        match oid.map_or(Peel::Unknown, |oid| (self.peel)(&oid)) {
            Peel::To(oid) => self.patches.push(Patch { span: end..end, put: Put::Peeled(oid) }),
            Peel::NoTag => {}
            Peel::Unknown => self.is_all_known = false,
        }
    }
}

impl Check for Peeler<'_> {
    type Flaw = Flaw;

    fn check(&mut self, piece: &mut [u8], is_last: bool) -> Result<usize, Flaw> {
        let mut checker = std::mem::replace(&mut self.checker, Checker::new(HashKind::Sha1, 0));
        let done = checker.check_each(piece, is_last, |start, record, piece| {
            let len = record.end().saturating_sub(record.start());
            self.visit(start.saturating_add(len), record, piece);
            Ok(())
        });
        self.checker = checker;
        done
    }
}
