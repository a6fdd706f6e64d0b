//! Files so large that they are counted by two threads, and that long work in them can be interrupted.

use std::ops::Range;

use refspan::fs::Backing;
use refspan::model::{Error, Oid, Selection};
use refspan::packed::{Damage, Reason, Snapshot, Stop};
use refspan::store::PackedFile;

const SORTED: &[u8] = b"# pack-refs with: peeled fully-peeled sorted \n";

/// All records of a file have this length.
const RECORD: usize = 256;
const HEX: &[u8] = b"1234567890abcdef1234567890abcdef12345678";

/// One record, without a `^` line if `tag` is false.
fn record(number: usize, tag: bool) -> Vec<u8> {
    let peeled = if tag { [b"^", HEX, b"\n"].concat() } else { Vec::new() };
    let mut record = [HEX, format!(" refs/heads/{number:0>8}-").as_bytes()].concat();
    record.resize(RECORD - peeled.len() - 1, b'x');
    record.push(b'\n');
    record.extend(peeled);
    record
}

/// A file with a body of at least `size` bytes, every other record a tag.
fn file(header: &[u8], size: usize) -> Vec<u8> {
    let mut data = header.to_vec();
    for number in 0..size.div_ceil(RECORD) {
        data.extend(record(number, number % 2 == 1));
    }
    data
}

fn open(data: Vec<u8>) -> Snapshot {
    Snapshot::new(Backing::Owned(data), None, &mut || true).unwrap()
}

/// The count that one walk by one thread makes.
fn walk(snapshot: &Snapshot) -> Result<usize, Damage> {
    let mut cursor = snapshot.select(Selection::default())?;
    let mut count = 0;
    while snapshot.next(&mut cursor)?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// Puts `bytes` in the place of a range of the file; counts and walks; returns the damage, which both must find.
fn damage(sound: &[u8], range: Range<usize>, bytes: &[u8]) -> Damage {
    let data = [&sound[..range.start], bytes, &sound[range.end..]].concat();
    let walked = walk(&open(data.clone())).unwrap_err();
    assert_eq!(open(data).count(&mut || true), Err(Stop::Damage(walked)), "in the place of {range:?}");
    walked
}

/// The start of the record with that number.
fn start(number: usize) -> usize {
    SORTED.len() + number * RECORD
}

const BODY: usize = 9 << 20;
const COUNT: usize = BODY / RECORD;

#[test]
fn two_threads_count_what_one_walks() {
    let snapshot = open(file(SORTED, BODY));
    assert_eq!(walk(&snapshot), Ok(COUNT));
    assert_eq!(snapshot.count(&mut || true), Ok(COUNT));
}

#[test]
fn two_threads_find_the_damage_that_a_walk_finds() {
    let sound = file(SORTED, BODY);
    for number in [0, 1, COUNT / 4, COUNT / 2 - 2, COUNT / 2 - 1, COUNT / 2, COUNT / 2 + 1, COUNT / 2 + 2, COUNT - 9] {
        let at = start(number);
        let found = damage(&sound, at..at + 1, b"g");
        assert_eq!(found.offset, at, "an object id that is not hex");
        assert_eq!(damage(&sound, at..at, b"\n").reason, Reason::BlankLine);
        assert_eq!(damage(&sound, at + 40..at + 41, b"X").reason, Reason::BadSeparator);
    }
}

#[test]
fn two_threads_find_the_disorder_that_a_walk_finds() {
    let sound = file(SORTED, BODY);
    for number in [1, COUNT / 2 - 1, COUNT / 2, COUNT / 2 + 1, COUNT - 9] {
        let name = start(number) + HEX.len() + 1;
        let found = damage(&sound, name..name + 4, b"refS");
        assert_eq!((found.offset, found.reason), (start(number), Reason::OutOfOrder));
    }
}

#[test]
fn two_threads_find_the_orphan_that_a_walk_finds_wherever_the_middle_falls() {
    let sound = file(SORTED, BODY);
    let orphan = [b"^", HEX, b"\n"].concat();
    // The first name is made longer and longer, which moves the doubled line by as much, and the middle by half of that.
    let end_of_name = start(1) - 1;
    for extra in (0..RECORD).step_by(16) {
        let longer = [&sound[..end_of_name], &vec![b'x'; extra], &sound[end_of_name..]].concat();
        let behind_tag = start(COUNT / 2) + extra;
        let found = damage(&longer, behind_tag..behind_tag, &orphan);
        assert_eq!((found.offset, found.reason), (behind_tag, Reason::OrphanPeeled));
    }
}

#[test]
fn the_first_of_two_damages_is_reported() {
    let mut data = file(SORTED, BODY);
    for number in [COUNT / 4, COUNT / 4 * 3] {
        data[start(number)] = b'g';
    }
    let found = open(data).count(&mut || true);
    assert!(matches!(found, Err(Stop::Damage(Damage { offset, .. })) if offset == start(COUNT / 4)));
}

/// So long that even half of it is more than a thread reads between two questions.
const LONG: usize = 40 << 20;

#[test]
fn an_interrupt_ends_a_count() {
    let snapshot = open(file(SORTED, LONG));
    assert_eq!(snapshot.count(&mut || false), Err(Stop::Interrupted));
    assert_eq!(snapshot.count(&mut || true), Ok(LONG / RECORD), "it can be asked again");
}

#[test]
fn an_interrupt_ends_the_opening_of_an_unsorted_file() {
    let open = |go_on: bool| Snapshot::new(Backing::Owned(file(b"", LONG / 2)), None, &mut || go_on);
    assert!(matches!(open(false), Err(Stop::Interrupted)));
    assert!(open(true).is_ok());
}

#[test]
fn an_interrupt_is_an_error_of_its_own_where_the_file_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("packed-refs");
    std::fs::write(&path, file(b"", LONG / 2)).unwrap();
    assert!(matches!(PackedFile::open(path, None, true, &mut || false), Err(Error::Interrupted)));
}

#[test]
fn an_interrupt_ends_a_search() {
    let snapshot = open(file(SORTED, LONG / 2));
    let oid = Oid::from_hex(HEX).unwrap();
    assert_eq!(snapshot.points_at(&oid, &mut || false), Err(Stop::Interrupted));
    assert_eq!(snapshot.points_at(&oid, &mut || true).map(|found| found.len()), Ok(LONG / 2 / RECORD));
}

#[test]
fn short_work_is_done_before_anybody_asks() {
    let snapshot = open(file(SORTED, RECORD));
    assert_eq!(snapshot.count(&mut || false), Ok(1));
}
