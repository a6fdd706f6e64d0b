//! Peeled lines that a rewrite adds, and what the header claims with them.

mod generator;
mod rewrite;

use std::io::ErrorKind;

use generator::{Random, Ref, SORTED, for_each_file, generate_many, with_duplicates, write};
use refspan::fs::Unspliced;
use refspan::model::{HashKind, Oid};
use refspan::packed::{Base, Header, Peel, Plan};
use rewrite::{Edits, Failure, PIECE, edited, edits, failure, file, header_line, numbered, open, patches, spliced};

const HEADERS: [&[u8]; 6] = [
    b"",
    b"# pack-refs with: sorted \n",
    b"# pack-refs with: peeled \n",
    b"# pack-refs with: peeled sorted \n",
    b"# pack-refs with: fully-peeled sorted \n",
    SORTED,
];

fn oid(digits: &[u8]) -> Oid {
    Oid::from_hex(digits).unwrap()
}

/// An object database: what is named by a repeated `a` is a tag, and what begins with `unknown` is not there.
fn look_up(oid: &Oid, unknown: &str) -> Peel {
    let digits = oid.to_hex();
    if digits.starts_with(unknown) {
        Peel::Unknown
    } else if digits.starts_with("aaaa") {
        Peel::To(Oid::from_hex(digits.replace("aa", "b1").as_bytes()).unwrap())
    } else {
        Peel::NoTag
    }
}

/// What no object id of the generator begins with.
const NOTHING: &str = "ffff";

/// Whether the peeled value of a record is to be looked up.
fn is_asked((name, _, peeled): &Ref, header: Header) -> bool {
    peeled.is_none() && !header.fully_peeled && !(header.peeled && name.starts_with(b"refs/tags/"))
}

/// Adds what is missing, makes the edits, and compares with a naive program that does the same.
fn check(base: &Base, refs: &[Ref], edits: &Edits, unknown: &str) {
    let header = base.header();
    let mut asked = Vec::new();
    let peel = &mut |oid: &Oid| {
        asked.push(oid.to_hex());
        look_up(oid, unknown)
    };
    let (added, claims) = base.peeled(&[], peel, &mut || true).unwrap();
    let (mut expected, mut expected_asked, mut is_all_known) = (Vec::new(), Vec::new(), true);
    for record in refs {
        let (name, digits, mut peeled) = record.clone();
        if is_asked(record, header) {
            expected_asked.push(oid(&digits).to_hex());
            match look_up(&oid(&digits), unknown) {
                Peel::To(target) => peeled = Some(target.to_hex().into_bytes()),
                Peel::NoTag => {}
                Peel::Unknown => is_all_known = false,
            }
        }
        expected.push((name, digits, peeled));
    }
    assert_eq!(asked, expected_asked);
    let fully_peeled = header.fully_peeled || is_all_known;
    assert_eq!((claims.peeled, claims.fully_peeled), (header.peeled || fully_peeled, fully_peeled));
    let expected = write(&header_line(claims), &edited(&expected, edits));
    let changes = patches(base, edits).unwrap();
    // Which of both kinds comes first says nothing.
    let all = if refs.len().is_multiple_of(2) { [added, changes].concat() } else { [changes, added].concat() };
    let new = spliced(base, &Plan::new(base, all, claims)).unwrap();
    assert!(new == expected, "{}\nis not\n{}", new.escape_ascii(), expected.escape_ascii());
}

#[test]
fn peeled_lines_are_added_where_the_header_does_not_claim_them() {
    for_each_file(|random, hash, refs| {
        for header in HEADERS {
            let base = open(&write(header, &refs), hash).unwrap();
            check(&base, &refs, &Edits::new(), NOTHING);
            check(&base, &refs, &edits(random, hash, &refs, 3), NOTHING);
        }
    });
}

#[test]
fn objects_that_are_not_there_drop_the_claims() {
    for_each_file(|random, hash, refs| {
        let refs = with_duplicates(random, hash, refs, 8, 3);
        let edits = edits(random, hash, &refs, 4);
        for header in HEADERS {
            let base = open(&write(header, &refs), hash).unwrap();
            check(&base, &refs, &edits, ["1a", "abcdef", "aaaa", ""][random.below(4)]);
        }
    });
}

#[test]
fn peeled_lines_are_added_in_a_file_that_is_not_in_order() {
    for_each_file(|random, hash, mut refs| {
        let edits = edits(random, hash, &refs, 4);
        let sorted = refs.clone();
        refs.reverse();
        for header in [HEADERS[0], HEADERS[2]] {
            check(&open(&write(header, &refs), hash).unwrap(), &sorted, &edits, NOTHING);
        }
    });
}

#[test]
fn peeled_lines_are_added_in_files_of_many_pieces() {
    for round in 0..4 {
        let mut random = Random::new(round);
        let hash = HashKind::ALL[random.below(2)];
        let refs = generate_many(&mut random, hash, 8_000, 2 * PIECE);
        let edits = edits(&mut random, hash, &refs, 50);
        for header in [HEADERS[1], HEADERS[3]] {
            check(&open(&write(header, &refs), hash).unwrap(), &refs, &edits, NOTHING);
        }
    }
}

/// Two tags without peeled lines under a header that says nothing of those.
fn two_tags() -> Vec<Ref> {
    [b"refs/tags/a", b"refs/tags/c"].map(|name| (name.to_vec(), b"a".repeat(40), None)).into()
}

/// What the edits make of [`two_tags`], behind the header.
fn made_of_two_tags(edits: &Edits) -> String {
    let base = open(&write(HEADERS[1], &two_tags()), HashKind::Sha1).unwrap();
    let (mut all, claims) = base.peeled(&[], &mut |oid| look_up(oid, NOTHING), &mut || true).unwrap();
    all.extend(patches(&base, edits).unwrap());
    let new = String::from_utf8(spliced(&base, &Plan::new(&base, all, claims)).unwrap()).unwrap();
    let records = new.strip_prefix(str::from_utf8(SORTED).unwrap()).unwrap();
    records.replace(&"a".repeat(40), "<tag>").replace(&"b1".repeat(20), "<target>").replace(&"c".repeat(40), "<new>")
}

#[test]
fn a_record_that_goes_leaves_no_peeled_line_behind() {
    let gone = |name: &[u8]| Edits::from([(name.to_vec(), None)]);
    assert_eq!(made_of_two_tags(&gone(b"refs/tags/a")), "<tag> refs/tags/c\n^<target>\n");
    assert_eq!(made_of_two_tags(&gone(b"refs/tags/c")), "<tag> refs/tags/a\n^<target>\n");
}

#[test]
fn a_record_that_is_replaced_has_the_peeled_line_of_its_new_value() {
    let set = |peeled: Option<Vec<u8>>| Edits::from([(b"refs/tags/a".to_vec(), Some((b"c".repeat(40), peeled)))]);
    let other = "<tag> refs/tags/c\n^<target>\n";
    assert_eq!(made_of_two_tags(&set(None)), format!("<new> refs/tags/a\n{other}"));
    assert_eq!(made_of_two_tags(&set(Some(b"c".repeat(40)))), format!("<new> refs/tags/a\n^<new>\n{other}"));
}

#[test]
fn a_record_that_is_new_stands_behind_the_peeled_line_of_the_one_above() {
    let new = Edits::from([(b"refs/tags/b".to_vec(), Some((b"c".repeat(40), None)))]);
    assert_eq!(
        made_of_two_tags(&new),
        "<tag> refs/tags/a\n^<target>\n<new> refs/tags/b\n<tag> refs/tags/c\n^<target>\n"
    );
    let behind_all = Edits::from([(b"refs/tags/d".to_vec(), Some((b"c".repeat(40), None)))]);
    assert_eq!(
        made_of_two_tags(&behind_all),
        "<tag> refs/tags/a\n^<target>\n<tag> refs/tags/c\n^<target>\n<new> refs/tags/d\n"
    );
}

#[test]
fn a_record_that_is_new_between_one_that_goes_and_one_that_is_replaced_stands_alone() {
    let new = Some((b"c".repeat(40), None));
    let edits = Edits::from([
        (b"refs/tags/a".to_vec(), None),
        (b"refs/tags/b".to_vec(), new.clone()),
        (b"refs/tags/c".to_vec(), new),
    ]);
    assert_eq!(made_of_two_tags(&edits), "<new> refs/tags/b\n<new> refs/tags/c\n");
}

#[test]
fn nothing_is_looked_up_where_the_header_claims_all() {
    let base = numbered(1_000_000_000, |_| ());
    let (added, claims) = base.peeled(&[], &mut |_| unreachable!(), &mut || false).unwrap();
    assert!(added.is_empty());
    assert!(claims.peeled && claims.fully_peeled);
}

#[test]
fn a_file_without_records_is_peeled_and_sorted() {
    for base in [Base::empty(HashKind::Sha1), open(b"", HashKind::Sha1).unwrap()] {
        let (added, claims) = base.peeled(&[], &mut |_| unreachable!(), &mut || true).unwrap();
        assert_eq!(Plan::new(&base, added, claims).traits(), ["peeled", "fully-peeled", "sorted"]);
    }
}

#[test]
fn a_file_that_shrinks_before_it_is_looked_through_is_an_error() {
    let data = write(HEADERS[1], &generate_many(&mut Random::new(3), HashKind::Sha1, 10_000, 100));
    for len in [0, HEADERS[1].len(), PIECE - 1, PIECE, PIECE + 1, data.len() - 1] {
        let file = file(&data);
        let handle = file.try_clone().unwrap();
        let base = Base::new(Box::new(file), data.len(), HashKind::Sha1, &mut || true).unwrap();
        handle.set_len(len as u64).unwrap();
        let error = base.peeled(&[], &mut |_| Peel::NoTag, &mut || true).unwrap_err();
        assert_eq!(failure(&base, error, |offset| offset), Failure::Io(ErrorKind::UnexpectedEof), "{len}");
    }
}

#[test]
fn an_interrupt_ends_the_look_up_in_a_large_file() {
    let refs = generate_many(&mut Random::new(4), HashKind::Sha1, 1_000, 100);
    let long = refs.into_iter().map(|(name, ..)| ([name, vec![b'l'; 20_000]].concat(), b"1".repeat(40), None));
    let data = write(HEADERS[1], &long.collect::<Vec<Ref>>());
    assert!(data.len() > 64 * PIECE);
    let base = open(&data, HashKind::Sha1).unwrap();
    let done = base.peeled(&[], &mut |_| Peel::NoTag, &mut || false);
    assert!(matches!(done, Err(Unspliced::Interrupted)));
}
