//! Stacks of generated tables against maps: merges, seeks, ranges, look-ups, searches, logs, interrupts.

mod table_writer;

use std::collections::BTreeMap;
use std::sync::Arc;

use refspan::model::{Error, Oid, Selection};
use refspan::reftable::{self, Keyed, Merge, RefCursor};
use refspan::store::{Found, RefWalk, TableFile, Tables};
use table_writer::{Logs, Refs, Value, open, write};

const ROUNDS: u64 = 150;

/// Marsaglia's xorshift: the same numbers in each run.
struct Random(u64);

impl Random {
    fn new(round: u64) -> Self {
        Self((round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    /// A name of components whose order is easily got wrong, longer and shorter than what a merge compares first.
    fn name(&mut self) -> Vec<u8> {
        let mut name =
            [&b"refs/heads/topic"[..], b"refs/heads", b"refs/tags", b"a", b"\xff\xff"][self.below(5)].to_vec();
        for _ in 0..self.below(4) {
            name.extend([&b"/a"[..], b"/b", b"-", b".x", b"0", b"\xb1", b"/zz", b"\x01", b"\0"][self.below(9)]);
        }
        name
    }

    fn oid(&mut self) -> [u8; 20] {
        [u8::try_from(self.below(6)).unwrap() + 1; 20]
    }

    fn refs(&mut self) -> Refs {
        let count = self.below(60);
        let value = |random: &mut Self| match random.below(6) {
            0 | 1 => Value::Deletion,
            2 => Value::Peeled(random.oid(), random.oid()),
            3 => Value::Symref(random.name()),
            _ => Value::Oid(random.oid()),
        };
        (0..count).map(|_| (self.name(), value(self))).collect()
    }

    fn logs(&mut self) -> Logs {
        let entry = |random: &mut Self| (random.below(3) > 0).then(|| random.name());
        let name = |random: &mut Self| random.name().into_iter().filter(|byte| *byte != 0).collect();
        (0..self.below(40)).map(|_| ((name(self), !(self.below(5) as u64)), entry(self))).collect()
    }
}

/// A stack of generated tables, and what it holds.
struct Generated {
    random: Random,
    tables: Tables,
    refs: BTreeMap<Vec<u8>, Value>,
    logs: Logs,
    _directories: Vec<tempfile::TempDir>,
}

/// Calls `check` with many stacks, of none to five tables.
fn for_each_stack(mut check: impl FnMut(Generated)) {
    for round in 0..ROUNDS {
        let mut random = Random::new(round);
        let (mut refs, mut logs) = (Refs::new(), Logs::new());
        let (mut directories, mut files): (Vec<_>, Vec<Arc<TableFile>>) = Default::default();
        for _ in 0..random.below(6) {
            let (some_refs, some_logs) = (random.refs(), random.logs());
            let (block_size, has_index) = ([160, 512, 4096][random.below(3)], random.below(2) == 0);
            let (directory, file) = open(&write(&some_refs, &some_logs, block_size, has_index));
            directories.push(directory);
            files.push(file);
            refs.extend(some_refs);
            logs.extend(some_logs);
        }
        refs.retain(|_, value| *value != Value::Deletion);
        logs.retain(|_, entry| entry.is_some());
        check(Generated { random, tables: Tables::stacked(files, None), refs, logs, _directories: directories });
    }
}

fn value_of(value: reftable::Value, data: &[u8]) -> Value {
    let oid = |span: std::ops::Range<usize>| data[span].try_into().unwrap();
    match value {
        reftable::Value::Deletion => Value::Deletion,
        reftable::Value::Oid(span) => Value::Oid(oid(span)),
        reftable::Value::Peeled(span, peeled) => Value::Peeled(oid(span), oid(peeled)),
        reftable::Value::Symref(span) => Value::Symref(data[span].to_vec()),
    }
}

fn here(cursor: &RefCursor) -> (Vec<u8>, Value) {
    (cursor.key().unwrap().to_vec(), value_of(cursor.record().unwrap().value(), cursor.table().data()))
}

fn walk(tables: &Tables, mut walk: RefWalk) -> Vec<(Vec<u8>, Value)> {
    let mut refs = Vec::new();
    while let Some(number) = tables.next(&mut walk).unwrap() {
        refs.push(here(walk.cursor(number).unwrap()));
    }
    refs
}

fn found(tables: &Tables, found: &Found) -> (Vec<u8>, Value) {
    let data = tables.files()[found.table].table().data();
    (found.batch.name(found.index).to_vec(), value_of(found.batch.get(found.index).unwrap().value(), data))
}

#[test]
fn a_walk_shows_of_each_name_what_the_newest_table_says() {
    for_each_stack(|stack| {
        let all = walk(&stack.tables, stack.tables.select(&Selection::default()));
        assert_eq!(all, stack.refs.clone().into_iter().collect::<Vec<_>>());
        assert_eq!(stack.tables.count(&mut || true).unwrap(), stack.refs.len());
    });
}

#[test]
fn a_single_table_shows_its_tombstones() {
    for round in 0..ROUNDS {
        let refs = Random::new(round).refs();
        let (_directory, file) = open(&write(&refs, &Logs::new(), 256, round % 2 == 0));
        let tables = Tables::single(file);
        assert_eq!(walk(&tables, tables.select(&Selection::default())), refs.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_seek_goes_to_the_first_name_that_is_not_less() {
    for_each_stack(|stack| {
        let cursors = stack.tables.files().iter().map(|file| RefCursor::new(file.table().clone())).collect();
        let mut merge = Merge::new(cursors);
        for key in stack.refs.keys().cloned().chain([b"".to_vec(), b"\xff\xff\xff".to_vec()]) {
            for key in [key.clone(), [&key[..], b"\0"].concat()] {
                merge.seek(&key).unwrap();
                let first = loop {
                    let cursor = merge.step().unwrap().map(|number| merge.cursor(number).unwrap());
                    match cursor {
                        Some(cursor) if cursor.record().unwrap().is_deletion() => {}
                        cursor => break cursor.map(here),
                    }
                };
                assert_eq!(first, stack.refs.range(key..).next().map(|(name, value)| (name.clone(), value.clone())));
            }
        }
    });
}

#[test]
fn a_selection_is_a_filter() {
    for_each_stack(|mut stack| {
        for _ in 0..5 {
            let (prefix, after) = (stack.random.name(), stack.random.name());
            let exclude = [stack.random.name(), [&stack.random.name()[..], b"/"].concat()];
            let exclude: Vec<&[u8]> = exclude.iter().map(|name| &name[..]).collect();
            let prefix = &prefix[..stack.random.below(prefix.len() + 1)];
            let start_after = (stack.random.below(2) == 0).then_some(&after[..]);
            let is_below = |name: &[u8], top: &[u8]| match top.strip_suffix(b"/") {
                Some(_) => name.starts_with(top),
                None => name == top || name.strip_prefix(top).is_some_and(|rest| rest.starts_with(b"/")),
            };
            let is_selected = |name: &[u8]| {
                name.starts_with(prefix)
                    && start_after.is_none_or(|after| name > after)
                    && !exclude.iter().any(|top| is_below(name, top))
            };
            let expected: Vec<_> = stack.refs.clone().into_iter().filter(|(name, _)| is_selected(name)).collect();
            let selection = Selection { prefix, start_after, exclude: &exclude };
            assert_eq!(walk(&stack.tables, stack.tables.select(&selection)), expected);
        }
    });
}

#[test]
fn a_look_up_finds_the_names_that_are_there_and_no_others() {
    for_each_stack(|mut stack| {
        let absent: Vec<_> = (0..20).map(|_| stack.random.name()).collect();
        for name in stack.refs.keys().chain(&absent) {
            let there = stack.tables.find(name).unwrap().map(|it| found(&stack.tables, &it));
            assert_eq!(there, stack.refs.get_key_value(name).map(|(name, value)| (name.clone(), value.clone())));
        }
    });
}

#[test]
fn a_search_finds_the_refs_that_point_at_an_object() {
    for_each_stack(|stack| {
        for byte in 1..8 {
            let raw = [byte; 20];
            let is_it = |value: &Value| match value {
                Value::Oid(oid) => *oid == raw,
                Value::Peeled(oid, peeled) => *oid == raw || *peeled == raw,
                Value::Deletion | Value::Symref(_) => false,
            };
            let hits = stack.tables.points_at(&Oid::from_raw(&raw).unwrap(), &mut || true).unwrap();
            let hits: Vec<_> = hits.iter().map(|hit| found(&stack.tables, hit)).collect();
            let expected: Vec<_> = stack.refs.clone().into_iter().filter(|(_, value)| is_it(value)).collect();
            assert_eq!(hits, expected);
        }
    });
}

#[test]
fn a_walk_over_logs_shows_the_entries_that_no_tombstone_cancels() {
    for_each_stack(|mut stack| {
        for prefix in [b"".to_vec(), stack.random.name(), b"refs/".to_vec()] {
            let mut walk = stack.tables.logs(&prefix);
            let mut logs = Logs::new();
            while let Some(number) = stack.tables.next_log(&mut walk).unwrap() {
                let record = walk.cursor(number).unwrap().record().unwrap();
                let message = record.update.unwrap().message.to_vec();
                logs.insert((record.refname.to_vec(), !record.update_index), Some(message));
            }
            let expected = stack.logs.clone().into_iter().filter(|((name, _), _)| name.starts_with(&prefix));
            assert_eq!(logs, expected.collect(), "{prefix:x?}");
        }
    });
}

#[test]
fn an_interrupt_ends_long_work() {
    let refs = (0..70_000).map(|i| (format!("refs/heads/{i:06}").into_bytes(), Value::Oid([1; 20]))).collect();
    let logs = (0..70_000).map(|i| ((format!("refs/heads/{i:06}").into_bytes(), !1), None)).collect();
    let (_directory, file) = open(&write(&refs, &logs, 4096, false));
    let tables = Tables::single(file.clone());
    let stop = &mut || false;
    let oid = Oid::from_raw(&[1; 20]).unwrap();
    assert!(matches!(tables.count(stop), Err(Error::Interrupted)));
    assert!(matches!(tables.check_logs(stop), Err(Error::Interrupted)));
    assert!(matches!(tables.points_at(&oid, stop), Err(Error::Interrupted)));
    assert!(matches!(file.blocks(stop), Err(Error::Interrupted)));
    assert_eq!(tables.count(&mut || true).unwrap(), 70_000);
}
