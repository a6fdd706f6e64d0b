//! Finding names in a packed-refs file by bisection over a few reads, against a scan of all records.

mod generator;
mod rewrite;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use generator::{Random, Ref, SORTED, for_each_file, generate_many, with_duplicates, write};
use refspan::fs::ReadAt;
use refspan::model::{HashKind, Oid};
use refspan::packed::{Base, Locator, Site};
use rewrite::{Failure, NUMBERED, numbered, numbered_name, open, records};

/// Bytes that are read at once near the end of a search.
const WINDOW: usize = 16 << 10;

fn len((name, oid, peeled): &Ref) -> usize {
    oid.len() + 1 + name.len() + 1 + peeled.as_ref().map_or(0, |peeled| peeled.len() + 2)
}

/// Where a scan of all records, the first of which starts at `start`, finds a name.
fn scan(refs: &[Ref], start: usize, wanted: &[u8]) -> Site {
    let before = refs.iter().take_while(|(name, ..)| &name[..] < wanted).count();
    let copies = refs[before..].iter().take_while(|(name, ..)| name == wanted).count();
    let from = start + refs[..before].iter().map(len).sum::<usize>();
    let to = from + refs[before..][..copies].iter().map(len).sum::<usize>();
    let next = refs.get(before + copies);
    Site {
        span: from..to,
        copies,
        oid: (copies > 0).then(|| Oid::from_hex(&refs[before].1).unwrap()),
        is_continued: next.is_some_and(|(name, ..)| name.starts_with(wanted)),
    }
}

/// Names to ask for, in order: one in so many of those that are there, some near them, and some before and behind all.
fn wanted(random: &mut Random, hash: HashKind, refs: &[Ref], one_in: usize) -> Vec<Vec<u8>> {
    let mut names = vec![b"\0".to_vec(), b"\xff\xff".to_vec()];
    for (name, ..) in refs.iter().filter(|_| random.below(one_in) == 0).collect::<Vec<_>>() {
        names.push(name.clone());
        match random.below(6) {
            0 => names.push([name, &b"/"[..]].concat()),
            1 => names.push([name, &b"\0"[..]].concat()),
            2 => names.push(name[..name.len() - 1].to_vec()),
            3 => names.push(name[..random.below(name.len())].to_vec()),
            4 => names.push(name.clone()),
            _ => names.push(random.name(hash)),
        }
    }
    names.sort();
    names
}

/// Asks one search for all the names, and compares with what scans find.
fn check(base: &Base, refs: &[Ref], names: &[Vec<u8>]) {
    assert_eq!(records(base), write(b"", refs));
    let mut locator = Locator::new(base);
    for name in names {
        let expected = scan(refs, base.body().start, name);
        assert_eq!(locator.locate(name).unwrap(), expected, "{}", name.escape_ascii());
    }
}

/// Calls `check` with files of which each is many windows long, with names in them that are longer than a window.
fn for_each_large_file(check: impl Fn(&mut Random, HashKind, Vec<Ref>)) {
    for round in 0..24 {
        let mut random = Random::new(round);
        let hash = HashKind::ALL[random.below(2)];
        let count = [300, 1_000, 4_000][random.below(3)];
        let refs = generate_many(&mut random, hash, count, 5 * WINDOW);
        check(&mut random, hash, refs);
    }
}

#[test]
fn names_are_found_where_a_scan_finds_them() {
    for_each_file(|random, hash, refs| {
        let refs = with_duplicates(random, hash, refs, 5, 4);
        for one_in in [1, 4] {
            let names = wanted(random, hash, &refs, one_in);
            check(&open(&write(SORTED, &refs), hash).unwrap(), &refs, &names);
        }
    });
}

#[test]
fn names_are_found_in_files_of_many_windows_however_far_apart_they_are() {
    for_each_large_file(|random, hash, refs| {
        let refs = with_duplicates(random, hash, refs, 20, 4);
        let base = open(&write(SORTED, &refs), hash).unwrap();
        for one_in in [refs.len() / 300 + 1, refs.len() / 3 + 1, refs.len()] {
            check(&base, &refs, &wanted(random, hash, &refs, one_in));
        }
    });
}

#[test]
fn names_are_found_that_stand_in_more_records_than_a_window_holds() {
    for_each_large_file(|random, hash, mut refs| {
        refs.truncate(300);
        refs.retain(|(name, ..)| name.len() < 100);
        let refs = with_duplicates(random, hash, refs, 40, 1_500);
        let base = open(&write(SORTED, &refs), hash).unwrap();
        let mut names: Vec<_> = refs.iter().map(|(name, ..)| name.clone()).collect();
        names.dedup();
        check(&base, &refs, &names);
        // Each on its own, too: the search comes from afar then.
        for name in names.iter().step_by(17) {
            check(&base, &refs, std::slice::from_ref(name));
        }
    });
}

#[test]
fn names_are_found_in_a_file_that_is_not_in_order() {
    for_each_file(|random, hash, refs| {
        let refs = with_duplicates(random, hash, refs, 5, 4);
        let names = wanted(random, hash, &refs, 2);
        let mut shuffled = refs.clone();
        for i in (1..shuffled.len()).rev() {
            shuffled.swap(i, random.below(i + 1));
        }
        // Records of one name stay in the order of the file.
        let mut sorted = shuffled.clone();
        sorted.sort_by(|a, b| a.0.cmp(&b.0));
        for header in [&b""[..], b"# pack-refs with: peeled \n"] {
            check(&open(&write(header, &refs), hash).unwrap(), &refs, &names);
            check(&open(&write(header, &shuffled), hash).unwrap(), &sorted, &names);
        }
    });
}

#[test]
fn a_file_without_records_has_room_for_every_name_at_its_end() {
    for hash in HashKind::ALL {
        for base in [Base::empty(hash), open(b"", hash).unwrap(), open(SORTED, hash).unwrap()] {
            check(&base, &[], &[b"\0".to_vec(), b"refs/heads/a".to_vec(), b"\xff".to_vec()]);
        }
    }
}

#[test]
fn the_first_name_below_a_prefix_is_the_one_that_a_scan_finds() {
    let check = |random: &mut Random, hash: HashKind, refs: Vec<Ref>| {
        let refs = with_duplicates(random, hash, refs, 9, 3);
        let base = open(&write(SORTED, &refs), hash).unwrap();
        let mut locator = Locator::new(&base);
        let one_in = refs.len() / 100 + 1;
        for prefix in wanted(random, hash, &refs, one_in) {
            // One search answers both questions, in any order.
            if random.below(3) == 0 {
                assert_eq!(locator.locate(&prefix).unwrap(), scan(&refs, base.body().start, &prefix));
            }
            let expected = refs.iter().map(|(name, ..)| name).find(|name| name.starts_with(&prefix));
            assert_eq!(locator.first_below(&prefix).unwrap().as_ref(), expected, "{}", prefix.escape_ascii());
        }
    };
    for_each_file(check);
    for_each_large_file(check);
}

#[test]
fn one_name_among_a_billion_takes_few_comparisons_and_few_bytes() {
    const COUNT: usize = 1_000_000_000;
    let bytes = Arc::new(AtomicUsize::new(0));
    let counted = bytes.clone();
    let base = numbered(COUNT, move |len| _ = counted.fetch_add(len, Relaxed));
    for number in [0, 1, 300, 123_456_789, COUNT / 2, COUNT - 300, COUNT - 1] {
        bytes.store(0, Relaxed);
        let mut locator = Locator::new(&base);
        let site = locator.locate(&numbered_name(number)).unwrap();
        let start = SORTED.len() + number * NUMBERED;
        assert_eq!(site.span, start..start + NUMBERED);
        assert!(locator.compared() < 64, "{} for {number}", locator.compared());
        assert!(bytes.load(Relaxed) < 64 * 512 + 2 * WINDOW, "{} for {number}", bytes.load(Relaxed));
    }
}

#[test]
fn names_side_by_side_take_little_more_than_a_walk() {
    const COUNT: usize = 10_000_000;
    let base = numbered(COUNT, |_| ());
    let mut locator = Locator::new(&base);
    let (from, asked) = (COUNT / 3, 5_000);
    for number in from..from + asked {
        assert_eq!(locator.locate(&numbered_name(number)).unwrap().copies, 1);
    }
    // The logarithm of the records in a window for each, not that of all records.
    assert!(locator.compared() < 12 * asked, "{}", locator.compared());
}

#[test]
fn a_file_that_ends_before_its_length_is_an_error() {
    let refs = generate_many(&mut Random::new(1), HashKind::Sha1, 2_000, WINDOW);
    let data = write(SORTED, &refs);
    let end = Failure::Io(io::ErrorKind::UnexpectedEof);
    let short = |len: usize| -> Result<Base, Failure> {
        Ok(Base::new(Box::new(rewrite::file(&data[..len])), data.len(), HashKind::Sha1, &mut || true)?)
    };
    for len in [0, 10, SORTED.len(), data.len() / 2, data.len() - 1] {
        assert_eq!(short(len).err(), Some(end), "{len}");
    }
}

#[test]
fn a_file_that_is_cut_in_place_is_an_error_or_was_read_before() {
    let refs = generate_many(&mut Random::new(2), HashKind::Sha1, 1_000, 2 * WINDOW);
    let data = write(SORTED, &refs);
    for len in (0..data.len()).step_by(data.len() / 40) {
        let file = rewrite::file(&data);
        let handle = file.try_clone().unwrap();
        let base = Base::new(Box::new(file), data.len(), HashKind::Sha1, &mut || true).unwrap();
        let mut locator = Locator::new(&base);
        handle.set_len(len as u64).unwrap();
        let mut is_any_lost = false;
        for (name, ..) in &refs {
            match locator.locate(name) {
                Ok(site) => assert_eq!(site, scan(&refs, base.body().start, name)),
                Err(error) => {
                    assert_eq!(Failure::from(error), Failure::Io(io::ErrorKind::UnexpectedEof));
                    is_any_lost = true;
                }
            }
        }
        assert!(is_any_lost, "cut to {len}");
        let mut byte = [0];
        assert_eq!(base.read_at(&mut byte, len).unwrap(), 0);
    }
}
