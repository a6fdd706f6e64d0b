//! The packed-refs reader against naive ones, on generated files: walks, selections, lookups, searches.

mod generator;

use generator::{Ref, SORTED, for_each_file, write};
use refspan::fs::Backing;
use refspan::model::{HashKind, Oid, Selection};
use refspan::packed::{Cursor, Damage, Record, Snapshot};

/// What a reader of lines makes of a sound file.
fn read_lines(data: &[u8]) -> Vec<Ref> {
    let mut refs: Vec<Ref> = Vec::new();
    for line in data.split(|&b| b == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#")) {
        if let Some(peeled) = line.strip_prefix(b"^") {
            refs.last_mut().unwrap().2 = Some(peeled.to_vec());
        } else {
            let space = line.iter().position(|&b| b == b' ').unwrap();
            refs.push((line[space + 1..].to_vec(), line[..space].to_vec(), None));
        }
    }
    refs
}

fn open(data: Vec<u8>, hash: HashKind) -> Snapshot {
    Snapshot::new(Backing::Owned(data), Some(hash), &mut || true).unwrap()
}

fn fields(snapshot: &Snapshot, record: &Record) -> Ref {
    let bytes = |span| snapshot.bytes(span).to_vec();
    (bytes(record.name()), bytes(record.oid()), record.peeled().map(bytes))
}

fn walk(snapshot: &Snapshot, mut cursor: Cursor) -> Result<Vec<Ref>, Damage> {
    let mut refs = Vec::new();
    while let Some(record) = snapshot.next(&mut cursor)? {
        refs.push(fields(snapshot, &record));
    }
    Ok(refs)
}

fn select(snapshot: &Snapshot, selection: Selection<'_>) -> Vec<Ref> {
    walk(snapshot, snapshot.select(selection).unwrap()).unwrap()
}

#[test]
fn a_walk_finds_what_a_reader_of_lines_finds() {
    for_each_file(|_, hash, refs| {
        let data = write(SORTED, &refs);
        let snapshot = open(data.clone(), hash);
        assert_eq!(read_lines(&data), refs);
        assert_eq!(select(&snapshot, Selection::default()), refs);
        assert_eq!(snapshot.count(&mut || true), Ok(refs.len()));
        assert_eq!(snapshot.is_empty(), refs.is_empty());
    });
}

#[test]
fn the_spans_of_all_records_make_up_the_file() {
    for_each_file(|_, hash, refs| {
        let snapshot = open(write(SORTED, &refs), hash);
        let mut cursor = snapshot.select(Selection::default()).unwrap();
        let mut end = SORTED.len();
        while let Some(record) = snapshot.next(&mut cursor).unwrap() {
            assert_eq!(record.start(), end);
            assert_eq!(record.span(), record.start()..record.end());
            end = record.end();
        }
        assert_eq!(end, snapshot.data().len());
    });
}

#[test]
fn a_selection_is_a_filter() {
    for_each_file(|random, hash, refs| {
        let snapshot = open(write(SORTED, &refs), hash);
        for _ in 0..8 {
            let mut prefix = random.name(hash);
            prefix.truncate(random.below(14));
            let start_after = if random.below(2) == 0 { Some(random.name(hash)) } else { None };
            let mut exclude = Vec::new();
            for _ in 0..random.below(4) {
                let mut name = random.name(hash);
                if random.below(3) == 0 {
                    name.push(b'/');
                }
                exclude.push(name);
            }
            let is_below = |name: &[u8], top: &[u8]| {
                let top = top.strip_suffix(b"/").unwrap_or(top);
                name.strip_prefix(top).is_some_and(|rest| rest.starts_with(b"/"))
            };
            let expected: Vec<Ref> = refs
                .iter()
                .filter(|(name, ..)| name.starts_with(&prefix))
                .filter(|(name, ..)| start_after.as_ref().is_none_or(|after| name > after))
                .filter(|(name, ..)| !exclude.iter().any(|top| name == top || is_below(name, top)))
                .cloned()
                .collect();
            let exclude: Vec<&[u8]> = exclude.iter().map(Vec::as_slice).collect();
            let selection = Selection { prefix: &prefix, start_after: start_after.as_deref(), exclude: &exclude };
            assert_eq!(select(&snapshot, selection), expected, "{selection:?}");
        }
    });
}

#[test]
fn every_name_is_found_and_no_other() {
    for_each_file(|random, hash, refs| {
        let snapshot = open(write(SORTED, &refs), hash);
        let find = |name: &[u8]| snapshot.find(name).unwrap().map(|record| fields(&snapshot, &record));
        for there in &refs {
            assert_eq!(find(&there.0).as_ref(), Some(there));
        }
        for _ in 0..20 {
            let name = random.name(hash);
            assert_eq!(find(&name), refs.iter().find(|(other, ..)| *other == name).cloned());
        }
        for name in [&b""[..], b"\0", b"\xff", b"refs/", b"refs/heads/a\n"] {
            assert_eq!(find(name), None);
        }
    });
}

#[test]
fn a_search_for_an_object_finds_the_refs_that_a_filter_finds() {
    for_each_file(|random, hash, refs| {
        let snapshot = open(write(SORTED, &refs), hash);
        for _ in 0..8 {
            let oid = random.oid(hash);
            let is_it = |hex: &Vec<u8>| hex.eq_ignore_ascii_case(&oid);
            let expected: Vec<Ref> = refs
                .iter()
                .filter(|(_, oid, peeled)| is_it(oid) || peeled.as_ref().is_some_and(is_it))
                .cloned()
                .collect();
            let found = snapshot.points_at(&Oid::from_hex(&oid).unwrap(), &mut || true).unwrap();
            let found: Vec<Ref> = found.iter().map(|record| fields(&snapshot, record)).collect();
            assert_eq!(found, expected, "{}", oid.escape_ascii());
        }
    });
}

#[test]
fn an_object_of_the_other_hash_is_nowhere() {
    let refs = [(b"refs/a".to_vec(), b"12".repeat(32), None)];
    let snapshot = open(write(SORTED, &refs), HashKind::Sha256);
    let oid = Oid::from_hex(&b"12".repeat(20)).unwrap();
    assert_eq!(snapshot.points_at(&oid, &mut || true), Ok(Vec::new()));
}

#[test]
fn an_unsorted_file_is_read_as_if_it_were_sorted() {
    for_each_file(|random, hash, refs| {
        let mut shuffled = refs.clone();
        for i in (1..shuffled.len()).rev() {
            shuffled.swap(i, random.below(i + 1));
        }
        for header in [&b""[..], b"# pack-refs with: peeled \n"] {
            let snapshot = open(write(header, &shuffled), hash);
            assert_eq!(select(&snapshot, Selection::default()), refs);
            assert_eq!(snapshot.count(&mut || true), Ok(refs.len()));
            for there in &refs {
                let found = snapshot.find(&there.0).unwrap().map(|record| fields(&snapshot, &record));
                assert_eq!(found.as_ref(), Some(there));
            }
        }
    });
}

#[test]
fn duplicates_of_an_unsorted_file_keep_its_order() {
    let mut refs: Vec<Ref> = Vec::new();
    for (name, digit) in [("refs/m", b"1"), ("refs/z", b"2"), ("refs/m", b"3"), ("refs/a", b"4"), ("refs/m", b"5")] {
        refs.push((name.into(), digit.repeat(40), None));
    }
    let snapshot = open(write(b"", &refs), HashKind::Sha1);
    refs.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(select(&snapshot, Selection::default()), refs);
}
