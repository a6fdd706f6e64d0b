//! The keys that a walk with limits visits, as ranges: each is one seek.

use crate::model::Selection;

/// The keys from `start` up to, not including, `end`; to the last one if that is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    /// The least key.
    pub start: Vec<u8>,
    /// What all keys are less than.
    pub end: Option<Vec<u8>>,
}

impl KeyRange {
    /// Every key that starts with `prefix`.
    #[must_use]
    pub fn of_prefix(prefix: &[u8]) -> Self {
        // The least string greater than all of them: the last byte that can grow by one does, and ends it.
        let end = prefix.iter().rposition(|&byte| byte < u8::MAX).and_then(|last| {
            let mut end = prefix.get(..=last)?.to_vec();
            let byte = end.last_mut()?;
            *byte = byte.saturating_add(1);
            Some(end)
        });
        Self { start: prefix.to_vec(), end }
    }

    /// That key alone; of a log's keys, those of the ref of that name.
    #[must_use]
    pub fn of_key(key: &[u8]) -> Self {
        Self { start: key.to_vec(), end: Some(successor(key)) }
    }

    /// The ranges that a selection leaves, ascending and disjoint.
    #[must_use]
    pub fn selected(selection: &Selection<'_>) -> Vec<Self> {
        let Self { mut start, end } = Self::of_prefix(selection.prefix);
        if let Some(name) = selection.start_after {
            start = start.max(successor(name));
        }
        let mut holes: Vec<Self> = Vec::new();
        for &name in selection.exclude {
            if name.ends_with(b"/") {
                holes.push(Self::of_prefix(name));
            } else if !name.is_empty() {
                holes.push(Self::of_key(name));
                holes.push(Self::of_prefix(&[name, b"/"].concat()));
            }
        }
        holes.sort_by(|a, b| a.start.cmp(&b.start));
        let mut kept = Vec::new();
        for hole in holes {
            kept.push(Self { start: start.clone(), end: Some(least(hole.start, end.as_deref())) });
            match hole.end {
                Some(end) => start = start.max(end),
                None => return without_empty(kept),
            }
        }
        kept.push(Self { start, end });
        without_empty(kept)
    }
}

/// The least string that is greater than `key`.
fn successor(key: &[u8]) -> Vec<u8> {
    [key, b"\0"].concat()
}

fn least(key: Vec<u8>, end: Option<&[u8]>) -> Vec<u8> {
    match end {
        Some(end) if end < &key[..] => end.to_vec(),
        _ => key,
    }
}

fn without_empty(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.retain(|range| range.end.as_ref().is_none_or(|end| range.start < *end));
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_the_next_string_of_its_length() {
        assert_eq!(KeyRange::of_prefix(b"refs/").end.unwrap(), b"refs0");
        assert_eq!(KeyRange::of_prefix(b"a\xff\xff").end.unwrap(), b"b");
        assert_eq!(KeyRange::of_prefix(b"\xff\xff").end, None);
        assert_eq!(KeyRange::of_prefix(b"").end, None);
    }

    #[test]
    fn excludes_cut_the_name_and_what_lies_below_it() {
        let exclude: [&[u8]; 2] = [b"b", b"a/"];
        let ranges = KeyRange::selected(&Selection { exclude: &exclude, ..Selection::default() });
        let visits = |key: &[u8]| {
            ranges.iter().any(|range| &range.start[..] <= key && range.end.as_ref().is_none_or(|end| key < &end[..]))
        };
        for kept in [&b"a"[..], b"a0", b"b-", b"b.c", b"b0", b"c", b"", b"\xff\xff"] {
            assert!(visits(kept), "{kept:?}");
        }
        for cut in [&b"a/"[..], b"a/x", b"b", b"b/", b"b/x"] {
            assert!(!visits(cut), "{cut:?}");
        }
    }

    #[test]
    fn limits_that_leave_nothing_leave_no_range() {
        let selection = Selection { prefix: b"a/", start_after: Some(b"b"), exclude: &[] };
        assert_eq!(KeyRange::selected(&selection), []);
        let selection = Selection { prefix: b"a/b/", start_after: None, exclude: &[b"a"] };
        assert_eq!(KeyRange::selected(&selection), []);
    }
}
