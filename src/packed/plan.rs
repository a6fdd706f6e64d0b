//! A rewrite as a plan: spans of the old file that are kept whole, and the few records between them that are new.
//!
//! ```text
//! plan = Put(header) *(Keep(span) | Put(record))          in the order of the new file; neighbouring spans are one
//! ```

use super::{Base, Checker, Header};
use crate::fs::Step;
use crate::model::{Oid, Span};

/// What takes the place of a part of the old file.
#[derive(Debug, Clone)]
pub struct Patch {
    /// The part: a record, or several of one name; empty where a name is new, or a peeled value is added.
    pub span: Span,
    /// What is put there.
    pub put: Put,
}

/// What is put in the place of a part of the old file.
#[derive(Debug, Clone)]
pub enum Put {
    /// Nothing: records of this name are gone.
    Nothing(Vec<u8>),
    /// A record.
    Record {
        /// Its refname.
        name: Vec<u8>,
        /// Its object id.
        oid: Oid,
        /// What that points at in the end, if it is an annotated tag.
        peeled: Option<Oid>,
    },
    /// A peeled line for the record that ends there.
    Peeled(Oid),
}

/// What the new file consists of.
#[derive(Debug)]
pub struct Plan {
    steps: Vec<Planned>,
    /// The text that is put, header first.
    text: Vec<u8>,
    /// Where in the new file records are gone, and their names.
    gaps: Vec<(usize, Vec<u8>)>,
    /// Bytes of the new file so far.
    len: usize,
    traits: Vec<&'static str>,
}

/// A step; what is put lies in the plan's own text.
#[derive(Debug, Clone)]
enum Planned {
    Keep(Span),
    Put(Span),
}

impl Plan {
    /// The plan for these patches, with a header that claims what is true of the result.
    ///
    /// Patches of records come in the order of their names. A peeled line for a record that another patch replaces is left
    /// out.
    #[must_use]
    pub fn new(base: &Base, mut patches: Vec<Patch>, claims: Header) -> Self {
        // A record that ends where a new one begins has its peeled line first.
        patches.sort_by_key(|patch| (patch.span.start, !matches!(patch.put, Put::Peeled(_))));
        let traits: Vec<_> = Header { sorted: true, ..claims }.traits().collect();
        let text = format!("# pack-refs with: {} \n", traits.join(" ")).into_bytes();
        let (steps, len) = (vec![Planned::Put(0..text.len())], text.len());
        let mut plan = Self { steps, text, gaps: Vec::new(), len, traits };
        let (mut pos, mut replaced_to) = (base.body().start, 0);
        for patch in &mut patches {
            let is_gone = matches!(patch.put, Put::Peeled(_)) && patch.span.end == replaced_to;
            if patch.span.start < pos || is_gone {
                continue;
            }
            plan.keep(pos..patch.span.start);
            plan.put(&mut patch.put);
            pos = patch.span.end;
            if !patch.span.is_empty() {
                replaced_to = pos;
            }
        }
        plan.keep(pos..base.body().end);
        plan
    }

    fn keep(&mut self, span: Span) {
        if span.is_empty() {
            return;
        }
        self.len = self.len.saturating_add(span.len());
        match self.steps.last_mut() {
            Some(Planned::Keep(last)) if last.end == span.start => last.end = span.end,
            _ => self.steps.push(Planned::Keep(span)),
        }
    }

    fn put(&mut self, put: &mut Put) {
        let start = self.text.len();
        let peel = |text: &mut Vec<u8>, oid: &Oid| {
            text.push(b'^');
            text.extend_from_slice(oid.to_hex().as_bytes());
            text.push(b'\n');
        };
        match put {
            Put::Nothing(name) => return self.gaps.push((self.len, std::mem::take(name))),
            Put::Peeled(oid) => peel(&mut self.text, oid),
            Put::Record { name, oid, peeled } => {
                self.text.extend_from_slice(oid.to_hex().as_bytes());
                self.text.push(b' ');
                self.text.extend_from_slice(name);
                self.text.push(b'\n');
                if let Some(oid) = peeled {
                    peel(&mut self.text, oid);
                }
            }
        }
        self.len = self.len.saturating_add(self.text.len().saturating_sub(start));
        match self.steps.last_mut() {
            Some(Planned::Put(last)) if last.end == start && last.start > 0 => last.end = self.text.len(),
            _ => self.steps.push(Planned::Put(start..self.text.len())),
        }
    }

    /// What the new file consists of, its header first.
    pub fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        self.steps.iter().map(|step| match step {
            Planned::Keep(span) => Step::Keep(span.clone()),
            Planned::Put(span) => Step::Put(self.text.get(span.clone()).unwrap_or_default()),
        })
    }

    /// A check of what the steps give: in order, also with the records that are gone.
    #[must_use]
    pub fn checker(&self, base: &Base) -> Checker {
        Checker::new(base.hash(), self.header_len()).with_gaps(self.gaps.clone())
    }

    /// The bytes of the header.
    fn header_len(&self) -> usize {
        match self.steps.first() {
            Some(Planned::Put(span)) => span.len(),
            _ => 0,
        }
    }

    /// What the header claims.
    #[must_use]
    pub fn traits(&self) -> &[&'static str] {
        &self.traits
    }

    /// The offset in the old file of what the new one has at an offset; of what is put, that of what follows it.
    #[must_use]
    pub fn origin(&self, offset: usize) -> usize {
        let (mut at, mut last) = (0_usize, 0);
        for step in &self.steps {
            let (Planned::Keep(span) | Planned::Put(span)) = step;
            let end = at.saturating_add(span.len());
            if let Planned::Keep(kept) = step {
                if offset < end {
                    return kept.start.saturating_add(offset.saturating_sub(at));
                }
                last = kept.end;
            }
            at = end;
        }
        last
    }
}
