//! Names in each other's way: as files, `a` and `a/b` cannot be at the same time.
//!
//! Of refs that do not exist yet. Loose ones are in the way of a lock or directory; here the packed ones are looked up, and
//! those of the same transaction, whatever is done with them: git refuses to delete `a` and create `a/b` at once.

use std::collections::HashMap;

use crate::model::{Edit, Error};
use crate::packed::{Base, Locator, Site, Unread};

/// The names that a name lies below.
pub(super) fn prefixes(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = name.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.filter_map(|(at, _)| name.get(..at)).skip_while(|prefix| *prefix == b"refs")
}

/// For each edit those of the same transaction that are in its way; `order` sorts them by name.
pub(super) fn among(edits: &[Edit], order: &[usize]) -> HashMap<usize, Vec<usize>> {
    let name = |number: &usize| edits.get(*number).map(|edit| &edit.name[..]).unwrap_or_default();
    let mut found: HashMap<usize, Vec<usize>> = HashMap::new();
    // Neighbours mostly lie below the same names.
    let (mut dir, mut above): (&[u8], Vec<usize>) = (b"", Vec::new());
    for number in order {
        let last = prefixes(name(number)).last().unwrap_or_default();
        if last != dir {
            let find = |prefix| order.binary_search_by(|other| name(other).cmp(prefix)).ok();
            above = prefixes(name(number)).filter_map(find).filter_map(|at| order.get(at).copied()).collect();
            dir = last;
        }
        for other in &above {
            found.entry(*number).or_default().push(*other);
            found.entry(*other).or_default().push(*number);
        }
    }
    found
}

/// The packed refs that are in the way of names, which are sorted; `sites` are where those would stand.
///
/// # Errors
/// As [`Locator::locate`].
pub(super) fn with_packed<'a>(
    base: &Base,
    names: &[(usize, &'a [u8])],
    sites: &[Site],
) -> Result<HashMap<usize, Vec<u8>>, Unread> {
    let mut found = HashMap::new();
    if base.body().is_empty() {
        return Ok(found);
    }
    // In one sweep each: prefixes of sorted names are not sorted among the names themselves.
    let mut above: Vec<&'a [u8]> = Vec::new();
    for (_, name) in names {
        let last = prefixes(name).last();
        if last != above.last().copied() {
            above.extend(prefixes(name));
        }
    }
    above.sort_unstable();
    above.dedup();
    let mut locator = Locator::new(base);
    let mut packed: Vec<&[u8]> = Vec::new();
    for prefix in above {
        if locator.locate(prefix)?.copies > 0 {
            packed.push(prefix);
        }
    }
    let mut continued: Vec<(Vec<u8>, usize)> = Vec::new();
    for (number, name) in names {
        if let Some(prefix) = prefixes(name).find(|prefix| packed.binary_search(prefix).is_ok()) {
            found.insert(*number, prefix.to_vec());
        } else if sites.get(*number).is_some_and(|site| site.is_continued) {
            continued.push(([name, &b"/"[..]].concat(), *number));
        }
    }
    continued.sort_unstable();
    let mut locator = Locator::new(base);
    for (below, number) in continued {
        if let Some(other) = locator.first_below(&below)? {
            found.insert(number, other);
        }
    }
    Ok(found)
}

/// The error for a name in whose way another one is.
pub(super) fn conflict(name: &[u8], other: &[u8]) -> Error {
    Error::Conflict { name: name.to_vec(), other: other.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Expected, Verb};

    fn edits(names: &[&str]) -> Vec<Edit> {
        let edit =
            |name: &&str| Edit { verb: Verb::Verify, name: name.as_bytes().to_vec(), new: None, old: Expected::Any };
        names.iter().map(edit).collect()
    }

    #[test]
    fn prefixes_are_what_could_be_refs() {
        assert_eq!(prefixes(b"refs/heads/a/b").collect::<Vec<_>>(), [&b"refs/heads"[..], b"refs/heads/a"]);
        assert_eq!(prefixes(b"HEAD").count(), 0);
    }

    #[test]
    fn names_in_each_others_way_are_found_from_both_ends() {
        let edits = edits(&["refs/x/a/b/c", "refs/x/a-", "refs/x/a", "refs/x/a/b", "refs/x/ab"]);
        let mut order: Vec<_> = (0..edits.len()).collect();
        order.sort_by_key(|number| &edits[*number].name);
        let mut found = among(&edits, &order);
        for others in found.values_mut() {
            others.sort_unstable();
        }
        assert_eq!(found, HashMap::from([(0, vec![2, 3]), (2, vec![0, 3]), (3, vec![0, 2])]));
    }
}
