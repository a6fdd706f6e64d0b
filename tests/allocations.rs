//! What a reader may allocate: nothing for a record, nothing for a lookup.

mod counting;
mod table_writer;

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;

use counting::{SORTED, allocations, packed_refs};
use refspan::model::Selection;
use refspan::packed::Snapshot;
use refspan::reftable::Kind;
use refspan::store::{Diff, PackedFile, Query, Tables, View};
use table_writer::{Logs, Refs, Value};

fn open(path: PathBuf) -> PackedFile {
    PackedFile::open(path, None, true, &mut || true).unwrap()
}

fn walk(packed: &PackedFile, selection: Selection<'_>) -> usize {
    let mut cursor = packed.select(selection).unwrap();
    let mut count = 0;
    while packed.next(&mut cursor).unwrap().is_some() {
        count += 1;
    }
    count
}

/// The allocations of `work` on a reader of 1 000 records and on one of 100 000.
fn small_and_large(work: impl Fn(&PackedFile)) -> [usize; 2] {
    [1_000, 100_000].map(|count| {
        let (_directory, path) = packed_refs(SORTED, count);
        let packed = open(path);
        allocations(|| work(&packed)).0
    })
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(black_box(Box::new(1)))).0, 1);
    assert_eq!(allocations(|| ()).0, 0);
}

#[test]
fn opening_a_sorted_file_does_not_depend_on_its_records() {
    // Both files are mapped: a smaller one would be read into memory.
    let [small, large] = [1_000, 100_000].map(|count| {
        let (_directory, path) = packed_refs(SORTED, count);
        allocations(|| open(path)).0
    });
    assert_eq!(small, large);
}

#[test]
fn opening_a_file_that_turns_out_to_be_sorted_does_not_either() {
    let [small, large] = [1_000, 100_000].map(|count| {
        let (_directory, path) = packed_refs("", count);
        allocations(|| open(path)).0
    });
    assert_eq!(small, large);
}

#[test]
fn a_walk_allocates_the_same_for_few_and_for_many_records() {
    let [small, large] = small_and_large(|packed| assert!(walk(packed, Selection::default()) >= 1_000));
    assert_eq!(small, large);
}

#[test]
fn a_prefix_walk_allocates_the_same_for_few_and_for_many_records() {
    let selection = Selection {
        prefix: b"refs/heads/topic/",
        start_after: Some(b"refs/heads/topic/0000007"),
        exclude: &[b"refs/heads/topic/0000010", b"refs/heads/topic/0000020/"],
    };
    let [small, large] = small_and_large(|packed| assert!(walk(packed, selection) >= 990));
    assert_eq!(small, large);
}

#[test]
fn a_lookup_allocates_nothing() {
    let (_directory, path) = packed_refs(SORTED, 1_000);
    let packed = open(path);
    let (count, ()) = allocations(|| {
        assert!(packed.find(b"refs/heads/topic/0000500").unwrap().is_some());
        assert!(packed.find(b"refs/heads/topic/0000999").unwrap().is_some());
        assert!(packed.find(b"refs/absent").unwrap().is_none());
    });
    assert_eq!(count, 0);
}

#[test]
fn telling_what_is_broken_allocates_nothing() {
    let (_directory, path) = packed_refs(SORTED, 1_000);
    let packed = open(path);
    let snapshot: &Snapshot = packed.snapshot();
    let record = packed.find(b"refs/heads/topic/0000500").unwrap().unwrap();
    assert_eq!(allocations(|| assert!(snapshot.broken(&record).is_none())).0, 0);
}

#[test]
fn a_count_by_one_thread_allocates_nothing() {
    // Larger files are counted by two threads, and starting those takes memory.
    let (_directory, path) = packed_refs(SORTED, 40_000);
    let packed = open(path);
    assert_eq!(allocations(|| assert_eq!(packed.count(&mut || true).unwrap(), 40_000)).0, 0);
}

#[test]
fn a_count_by_two_threads_allocates_the_same_for_many_and_for_more_records() {
    let [many, more] = [80_000, 160_000].map(|count| {
        let (_directory, path) = packed_refs(SORTED, count);
        let packed = open(path);
        allocations(|| assert_eq!(packed.count(&mut || true).unwrap(), count)).0
    });
    assert_eq!(many, more);
}

/// So many tables, of so many refs and log entries each, no two of one name; and the directories that hold them.
fn stack(tables: usize, count: usize) -> (Vec<tempfile::TempDir>, Tables) {
    let (directories, files) = (0..tables)
        .map(|table| {
            let name = |i: usize| format!("refs/heads/topic/{:07}", i * tables + table).into_bytes();
            let value = |i: usize| match i % 4 {
                0 if i > 0 => Value::Deletion,
                1 => Value::Peeled([1; 20], [2; 20]),
                2 => Value::Symref(b"refs/heads/main".to_vec()),
                _ => Value::Oid([1; 20]),
            };
            let refs: Refs = (0..count).map(|i| (name(i), value(i))).collect();
            let logs: Logs = (0..count).map(|i| ((name(i), !1), Some(b"message".to_vec()))).collect();
            table_writer::open(&table_writer::write(&refs, &logs, 4096, true))
        })
        .unzip();
    (directories, Tables::stacked(files, None))
}

fn walk_tables(tables: &Tables) -> usize {
    let mut walk = tables.select(&Selection::default());
    let mut count = 0;
    while tables.next(&mut walk).unwrap().is_some() {
        count += 1;
    }
    count
}

/// The allocations of `work` on stacks with few and with many records in each table.
fn few_and_many(tables: usize, work: impl Fn(&Tables)) -> [usize; 2] {
    [1_000, 20_000].map(|count| {
        let (_directories, tables) = stack(tables, count);
        allocations(|| work(&tables)).0
    })
}

#[test]
fn a_walk_over_a_table_whose_batches_nobody_holds_allocates_the_same_for_few_and_for_many_records() {
    let [few, many] = few_and_many(1, |tables| assert!(walk_tables(tables) > 700));
    assert_eq!(few, many);
}

#[test]
fn a_walk_over_a_table_whose_batches_are_held_allocates_three_times_a_block_at_the_most() {
    let (_directories, tables) = stack(1, 20_000);
    let blocks = tables.files()[0].blocks(&mut || true).unwrap();
    let blocks = blocks.iter().filter(|summary| summary.block.kind == Kind::Ref).count();
    let mut held = Vec::with_capacity(blocks);
    let (count, ()) = allocations(|| {
        let mut walk = tables.select(&Selection::default());
        while let Some(number) = tables.next(&mut walk).unwrap() {
            let batch = walk.cursor(number).unwrap().batch();
            if held.last().is_none_or(|last| !Arc::ptr_eq(last, batch)) {
                held.push(batch.clone());
            }
        }
    });
    assert_eq!(held.len(), blocks);
    // The walk itself takes a few.
    assert!(count <= 3 * blocks + 20, "{count} for {blocks} blocks");
}

#[test]
fn a_merge_of_ten_tables_allocates_the_same_for_few_and_for_many_records() {
    let [few, many] = few_and_many(10, |tables| assert!(walk_tables(tables) > 7_000));
    assert_eq!(few, many);
}

#[test]
fn a_walk_over_logs_allocates_the_same_for_few_and_for_many_records() {
    let [few, many] = few_and_many(10, |tables| tables.check_logs(&mut || true).unwrap());
    assert_eq!(few, many);
}

#[test]
fn a_look_up_in_a_table_allocates_the_same_among_few_and_among_many_records() {
    let [few, many] = few_and_many(1, |tables| {
        assert!(tables.find(b"refs/heads/topic/0000501").unwrap().is_some());
        assert!(tables.find(b"refs/absent").unwrap().is_none());
    });
    assert_eq!(few, many);
    assert!(many <= 20, "{many}");
}

#[test]
fn a_count_of_tables_allocates_the_same_for_few_and_for_many_records() {
    let [few, many] = few_and_many(10, |tables| assert!(tables.count(&mut || true).unwrap() > 7_000));
    assert_eq!(few, many);
}

#[test]
fn walks_and_comparisons_of_views_do_not_allocate_for_a_ref() {
    let view = |count: usize| {
        let (directory, path) = packed_refs(SORTED, count);
        (directory, Arc::new(View::of_packed(Arc::new(open(path)))))
    };
    let [small, large] = [1_000, 100_000].map(|count| {
        let ((_a, a), (_b, b)) = (view(count), view(count));
        let walked = allocations(|| {
            let mut walk = a.walk(Query::default()).unwrap();
            while let Some(step) = walk.next(&mut || true).unwrap() {
                black_box(walk.item(&step).broken());
            }
        });
        let mut diff = Diff::new(a.clone(), b, &mut || true).unwrap();
        let compared = allocations(|| assert_eq!(diff.next(&mut || true).unwrap(), None));
        (walked.0, compared.0)
    });
    assert_eq!(small, large);
}

/// The refs of [`packed_refs`] in a table.
fn same_in_a_table(count: usize) -> (tempfile::TempDir, Arc<View>) {
    let refs: Refs = (0..count)
        .map(|i| {
            let mut oid = [0; 20];
            oid[12..].copy_from_slice(&(i as u64).to_be_bytes());
            (format!("refs/heads/topic/{i:07}").into_bytes(), Value::Oid(oid))
        })
        .collect();
    let (directory, file) = table_writer::open(&table_writer::write(&refs, &Logs::new(), 4096, true));
    (directory, Arc::new(View::of_tables(Arc::new(Tables::stacked(vec![file], None)))))
}

#[test]
fn a_comparison_of_both_formats_does_not_allocate_for_a_ref() {
    let [few, many] = [1_000, 50_000].map(|count| {
        let (_a, path) = packed_refs(SORTED, count);
        let a = Arc::new(View::of_packed(Arc::new(open(path))));
        let (_b, b) = same_in_a_table(count);
        let mut diff = Diff::new(a, b, &mut || true).unwrap();
        // One zero object id on either side is the same, too.
        let (count, difference) = allocations(|| diff.next(&mut || true).unwrap());
        assert_eq!(difference, None);
        count
    });
    assert_eq!(few, many);
}
