//! What becomes of packed-refs: which records go, which are new, what the header may claim.

use std::cell::OnceCell;

use super::packed::PackedRefs;
use crate::model::{Interrupt, Oid, Result, Value};
use crate::packed::{Base, Header, Patch, Peel, Plan, Put, Site};
use crate::store::known::Known;
use crate::store::{Asker, Objects};

/// A change of the packed records of one name.
#[derive(Debug, Clone)]
pub(super) struct Change<'a> {
    pub(super) name: &'a [u8],
    /// `None` if they go.
    pub(super) new: Option<Oid>,
}

/// The plan for changes, which are sorted by name; `sites` tells where each name stands.
///
/// # Errors
/// [`Error::Corrupt`](crate::model::Error::Corrupt) for damage, or an object database that cannot be opened; an interrupt.
pub(super) fn plan<'a>(
    packed: &PackedRefs,
    base: &Base,
    changes: Vec<(Change<'a>, &'a Site)>,
    objects: &Objects,
    interrupt: Interrupt<'_>,
) -> Result<Plan> {
    let mut lookup = Lookup { objects, asker: OnceCell::new(), no_tags: Known::new() };
    let gone: Vec<_> = changes.iter().map(|(_, site)| site.span.clone()).filter(|span| !span.is_empty()).collect();
    let (mut patches, mut claims) =
        base.peeled(&gone, &mut |oid| lookup.peel(oid), interrupt).map_err(|unspliced| {
            packed.unspliced(base, packed.path(), unspliced, |offset| base.body().start.saturating_add(offset))
        })?;
    for (Change { name, new }, site) in changes {
        let put = match new {
            None => Put::Nothing(name.to_vec()),
            Some(oid) => {
                let target = match lookup.peel(&oid) {
                    Peel::To(target) => Some(target),
                    Peel::NoTag => None,
                    Peel::Unknown => {
                        claims = without(claims, name);
                        None
                    }
                };
                Put::Record { name: name.to_vec(), oid, peeled: target }
            }
        };
        patches.push(Patch { span: site.span.clone(), put });
    }
    Ok(Plan::new(base, patches, claims))
}

/// What may still be claimed beside a record of that name whose object cannot be read.
fn without(claims: Header, name: &[u8]) -> Header {
    Header { peeled: claims.peeled && !name.starts_with(b"refs/tags/"), fully_peeled: false, ..claims }
}

struct Lookup<'a> {
    objects: &'a Objects,
    /// Opened when it is first needed; an error where it cannot be.
    asker: OnceCell<Result<Asker>>,
    no_tags: Known,
}

impl Lookup<'_> {
    fn peel(&mut self, oid: &Oid) -> Peel {
        // A database that cannot be opened tells nothing of any object.
        self.asker.get_or_init(|| self.objects.asker());
        let Some(Ok(asker)) = self.asker.get_mut() else { return Peel::Unknown };
        let mut found = Peel::NoTag;
        self.no_tags.holds(Value::Raw(oid.as_raw()), || {
            found = asker.peel_to_store(oid);
            found == Peel::NoTag
        });
        found
    }
}
