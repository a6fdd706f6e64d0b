//! Which refs lead to an object: directly, as symbolic refs, or through annotated tags, at every level of nested ones.

use super::entry::Peeled;
use super::known::Known;
use super::lookup::Lookup;
use super::objects::Asker;
use super::{Entry, Query};
use crate::model::{Error, Interrupt, Oid, RefValue, Result, Value};

impl Lookup {
    /// The refs below `refs/` that lead to `oid`, in order.
    ///
    /// # Errors
    /// As [`Self::view`].
    pub fn points_at(&self, oid: &Oid, interrupt: Interrupt<'_>) -> Result<Vec<Entry>> {
        let view = self.view(&Query::default(), interrupt)?;
        let mut search = Search::new(*oid, view.repository().map(|repository| repository.objects.asker()).transpose()?);
        let frozen = Self::Frozen(view.clone());
        let mut walk = view.walk(Query::default())?;
        let mut found = Vec::new();
        while let Some(step) = walk.next(interrupt)? {
            let item = walk.item(&step);
            let leads = match item.value() {
                Value::Nothing => false,
                Value::Symref(target) => match frozen.resolve_any(self, target, interrupt) {
                    Ok(entry) => search.is_met_by(entry.item().value(), entry.item().peeled()),
                    Err(Error::NoRef(_) | Error::Corrupt { .. }) => false,
                    Err(error) => return Err(error),
                },
                value => search.is_met_by(value, item.peeled()),
            };
            if leads {
                found.extend(walk.entry(step));
            }
        }
        Ok(found)
    }

    /// [`Self::resolve_target`]; what this does not have, such as a root ref or another worktree's, may be elsewhere.
    fn resolve_any(&self, elsewhere: &Self, name: &[u8], interrupt: Interrupt<'_>) -> Result<Entry> {
        match self.resolve_target(name, interrupt) {
            Err(Error::NoRef(_) | Error::Unsupported { .. }) => elsewhere.resolve_target(name, interrupt),
            resolved => resolved,
        }
    }
}

struct Search {
    oid: Oid,
    hex: String,
    objects: Option<Asker>,
    /// If the object is itself a tag, what it peels to: only what peels to the same can lead to it.
    end: Option<Oid>,
    /// Objects that do not lead there.
    known: Known,
}

impl Search {
    fn new(oid: Oid, mut objects: Option<Asker>) -> Self {
        let end = objects.as_mut().and_then(|objects| objects.peel(&oid));
        Self { oid, hex: oid.to_hex(), objects, end, known: Known::new() }
    }

    fn is_met_by(&mut self, value: Value<'_>, peeled: Peeled<'_>) -> bool {
        if self.is_it(value) {
            return true;
        }
        match peeled {
            Peeled::To(end) => self.is_it(end) || (self.ends_there(end) && self.chain_has_it(value)),
            // Git 2.53 and newer may claim `fully-peeled` over tags that are not, so what says nothing is not believed.
            Peeled::Nowhere | Peeled::Unknown => self.chain_has_it(value),
        }
    }

    fn is_it(&self, value: Value<'_>) -> bool {
        match value {
            Value::Hex(digits) => digits.eq_ignore_ascii_case(self.hex.as_bytes()),
            Value::Raw(bytes) => bytes == self.oid.as_raw(),
            Value::Symref(_) | Value::Nothing => false,
        }
    }

    fn ends_there(&self, end: Value<'_>) -> bool {
        self.end.is_some_and(|mine| end.to_owned() == Some(RefValue::Oid(mine)))
    }

    fn chain_has_it(&mut self, value: Value<'_>) -> bool {
        let (sought, objects) = (self.oid, &mut self.objects);
        let leads_elsewhere = || match (value.to_owned(), objects) {
            (Some(RefValue::Oid(oid)), Some(objects)) => !objects.chain(&oid).contains(&sought),
            _ => true,
        };
        !self.known.holds(value, leads_elsewhere)
    }
}
