//! The packed-refs reader against naive ones, on generated files: walks, selections, lookups, searches.

use std::collections::BTreeMap;

use refspan::fs::Backing;
use refspan::model::{HashKind, Oid, Selection};
use refspan::packed::{Cursor, Damage, Record, Snapshot};

const ROUNDS: u64 = 300;
const SORTED: &[u8] = b"# pack-refs with: peeled fully-peeled sorted \n";

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

    fn pick<'a>(&mut self, from: &[&'a [u8]]) -> &'a [u8] {
        from[self.below(from.len())]
    }

    /// Few enough that refs share them, and with long runs of one digit or of none.
    fn oid(&mut self, hash: HashKind) -> Vec<u8> {
        let digits =
            self.pick(&[b"0", b"a", b"1a", b"abcdef", b"1234567890abcdef", b"ABCDEF12", b"aaaaaaaaa1", b"77777f"]);
        digits.iter().copied().cycle().take(hash.hex_len()).collect()
    }

    /// A name of components whose order is easily got wrong: `a-` < `a.` < `a/` < `a0`; now and then one like an oid.
    fn name(&mut self, hash: HashKind) -> Vec<u8> {
        let mut name = self.pick(&[b"refs/heads", b"refs/tags", b"refs", b"a"]).to_vec();
        for _ in 0..self.below(4) {
            name.extend_from_slice(self.pick(&[b"/a", b"/b", b"/ab", b"-", b".x", b"0", b"/\xb1", b"/z", b"\x01"]));
        }
        if self.below(10) == 0 {
            name.push(b'/');
            name.extend(self.oid(hash));
        }
        name
    }
}

/// A ref by its three fields, as bytes.
type Ref = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

/// Refs with distinct names, in order.
fn generate(random: &mut Random, hash: HashKind) -> Vec<Ref> {
    let mut refs = BTreeMap::new();
    for _ in 0..random.below(60) {
        let peeled = if random.below(3) == 0 { Some(random.oid(hash)) } else { None };
        refs.insert(random.name(hash), (random.oid(hash), peeled));
    }
    refs.into_iter().map(|(name, (oid, peeled))| (name, oid, peeled)).collect()
}

fn write(header: &[u8], refs: &[Ref]) -> Vec<u8> {
    let mut data = header.to_vec();
    for (name, oid, peeled) in refs {
        data.extend_from_slice(&[oid, &b" "[..], name, b"\n"].concat());
        if let Some(peeled) = peeled {
            data.extend_from_slice(&[b"^", &peeled[..], b"\n"].concat());
        }
    }
    data
}

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

/// Calls `check` with many generated files, of both hashes.
fn for_each_file(check: impl Fn(&mut Random, HashKind, Vec<Ref>)) {
    for round in 0..ROUNDS {
        let mut random = Random::new(round);
        let hash = HashKind::ALL[random.below(2)];
        let refs = generate(&mut random, hash);
        check(&mut random, hash, refs);
    }
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
