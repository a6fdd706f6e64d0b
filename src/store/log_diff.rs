//! Which reflogs are not the same on both sides, and where they begin to differ.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::LogItem;
use super::logs::BREATH;
use super::lookup::Lookup;
use super::view::{Kept, View};
use crate::model::{Error, Interrupt, Result};

/// A log that is not the same on both sides: its first entry that differs.
#[derive(Debug)]
pub struct LogDifference<T> {
    /// The name of the ref.
    pub name: Vec<u8>,
    /// What the first side has there.
    pub before: Option<T>,
    /// What the second side has there.
    pub after: Option<T>,
}

/// The names of all logs of two sides, and for each its first difference.
#[derive(Debug)]
pub struct LogDiff {
    sides: [Lookup; 2],
    names: VecDeque<Vec<u8>>,
}

impl LogDiff {
    /// The differences in the logs of two views.
    ///
    /// # Errors
    /// As [`Lookup::log_names`]; [`Error::Unsupported`] for a packed-refs file, which has none.
    pub fn new(before: Arc<View>, after: Arc<View>, interrupt: Interrupt<'_>) -> Result<Self> {
        for view in [&before, &after] {
            if let Kept::Files { packed: Some(packed), logs: None, .. } = view.kept() {
                let reason = "a packed-refs file holds no reflogs to compare".to_owned();
                return Err(Error::Unsupported { path: packed.path().to_owned(), reason });
            }
        }
        let root_refs = before.repository().is_some() && after.repository().is_some();
        let sides = [Lookup::Frozen(before), Lookup::Frozen(after)];
        let mut names = BTreeSet::new();
        for side in &sides {
            names.extend(side.log_names(interrupt)?);
        }
        names.retain(|name| root_refs || name.starts_with(b"refs/"));
        Ok(Self { sides, names: names.into_iter().collect() })
    }

    /// The next log that differs; `take` keeps an entry of it.
    ///
    /// # Errors
    /// As [`Lookup::log`].
    pub fn next<T>(
        &mut self,
        mut take: impl FnMut(&[u8], LogItem<'_>) -> T,
        interrupt: Interrupt<'_>,
    ) -> Result<Option<LogDifference<T>>> {
        while let Some(name) = self.names.front() {
            // Taken away when it is done with: after an error or an interrupt it is read again.
            let difference = first_difference(&self.sides, name, &mut take, interrupt)?;
            let name = self.names.pop_front().unwrap_or_default();
            if let Some((before, after)) = difference {
                return Ok(Some(LogDifference { name, before, after }));
            }
            if !interrupt() {
                return Err(Error::Interrupted);
            }
        }
        Ok(None)
    }
}

/// The first entries that are not the same in the logs of one ref; `None` if all are.
fn first_difference<T>(
    [before, after]: &[Lookup; 2],
    name: &[u8],
    take: &mut impl FnMut(&[u8], LogItem<'_>) -> T,
    interrupt: Interrupt<'_>,
) -> Result<Option<(Option<T>, Option<T>)>> {
    let (mut before, mut after) =
        (before.log(name, false, interrupt)?.dated(), after.log(name, false, interrupt)?.dated());
    for count in 1_usize.. {
        let (before, after) = (before.next_entry(interrupt)?, after.next_entry(interrupt)?);
        let is_same = match (&before, &after) {
            (Some(before), Some(after)) => before.is(after),
            (None, None) => break,
            _ => false,
        };
        if !is_same {
            return Ok(Some((before.map(|item| take(name, item)), after.map(|item| take(name, item)))));
        }
        if count.is_multiple_of(BREATH) && !interrupt() {
            return Err(Error::Interrupted);
        }
    }
    Ok(None)
}
