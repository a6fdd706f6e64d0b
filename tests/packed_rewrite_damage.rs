//! Damage in a packed-refs file that is rewritten: found before it is written on, and named where it is.

mod generator;
mod rewrite;

use std::ops::Range;

use generator::{Random, SORTED};
use refspan::model::{HashKind, Oid};
use refspan::packed::{Base, Damage, Locator, Patch, Peel, Plan, Put, Reason};
use rewrite::{Failure, Fake, PIECE, failure, spliced};

const HASH: HashKind = HashKind::Sha1;
const UNPEELED: &[u8] = b"# pack-refs with: sorted \n";

fn hex() -> Vec<u8> {
    b"1234567890".repeat(4)
}

fn name(number: usize) -> Vec<u8> {
    format!("refs/heads/{number:06}").into_bytes()
}

/// A record in its parts: what a damage takes the place of.
fn record(name: &[u8]) -> Vec<u8> {
    [&hex(), &b" "[..], name, b"\n^", &hex(), b"\n"].concat()
}

/// One way to damage a record: the text in its place, and where the damaged line starts in that.
#[derive(Debug, Clone)]
struct Harm {
    reason: Reason,
    text: Vec<u8>,
    at: usize,
}

/// All ways to damage a record of that name, which follows another one.
fn harms(name: &[u8], name_before: &[u8]) -> Vec<Harm> {
    let (sound, hex) = (record(name), hex());
    let line = [&hex, &b" "[..], name, b"\n"].concat();
    let front = |reason, text: Vec<u8>| Harm { reason, text, at: 0 };
    let peeled = |text: &[u8]| Harm {
        reason: Reason::BadPeeled(HASH),
        text: [&line, &b"^"[..], text].concat(),
        at: line.len(),
    };
    vec![
        front(Reason::BlankLine, [b"\n", &sound[..]].concat()),
        front(Reason::LateHeader, [UNPEELED, &sound].concat()),
        front(Reason::LateHeader, [b"#\n", &sound[..]].concat()),
        front(Reason::BadOid(HASH), [b"g", &sound[1..]].concat()),
        front(Reason::BadOid(HASH), sound[1..].to_vec()),
        front(Reason::BadOid(HASH), [b" ", &sound[..]].concat()),
        front(Reason::BadSeparator, [&hex, &b"X"[..], name, b"\n"].concat()),
        front(Reason::BadSeparator, [b"0", &sound[..]].concat()),
        front(Reason::NoName, [&hex, &b"\n"[..]].concat()),
        front(Reason::NoName, [&hex, &b" \n"[..]].concat()),
        front(Reason::OutOfOrder, record(b"a")),
        front(Reason::Duplicate, record(name_before)),
        Harm { reason: Reason::OrphanPeeled, at: sound.len(), text: [&sound, &b"^"[..], &hex, b"\n"].concat() },
        peeled(&[&hex[1..], b"\n"].concat()),
        peeled(&[&hex, &b"\r\n"[..]].concat()),
        peeled(&[b"x", &hex[1..], b"\n"].concat()),
        peeled(b"\n"),
    ]
}

/// The ways in which a look at a single record shows the damage.
fn visible_harms(name: &[u8]) -> Vec<Harm> {
    let mut harms = harms(name, name);
    harms.retain(|harm| !matches!(harm.reason, Reason::OutOfOrder | Reason::Duplicate));
    harms
}

/// A file in which one record is damaged, and what is to be found.
struct Damaged {
    data: Vec<u8>,
    /// Where each record is.
    spans: Vec<Range<usize>>,
    found: Damage,
}

fn damaged(header: &[u8], names: &[Vec<u8>], number: usize, harm: &Harm) -> Damaged {
    let (mut data, mut spans, mut offset) = (header.to_vec(), Vec::new(), 0);
    for (at, name) in names.iter().enumerate() {
        let start = data.len();
        if at == number {
            offset = start + harm.at;
            data.extend_from_slice(&harm.text);
        } else {
            data.extend(record(name));
        }
        spans.push(start..data.len());
    }
    Damaged { found: damage_at(&data, offset, harm.reason), data, spans }
}

fn damage_at(data: &[u8], offset: usize, reason: Reason) -> Damage {
    Damage { offset, line: 1 + data[..offset].iter().filter(|&&byte| byte == b'\n').count(), reason }
}

/// Opens what is in memory, as if it was a file.
fn open(data: Vec<u8>) -> Result<Base, Failure> {
    let len = data.len();
    let read_at = move |buffer: &mut [u8], at: usize| {
        let rest = &data[at.min(data.len())..];
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    };
    Ok(Base::new(Box::new(Fake(read_at)), len, HASH, &mut || true)?)
}

fn put(name: Vec<u8>) -> Put {
    Put::Record { name, oid: Oid::from_hex(&hex()).unwrap(), peeled: None }
}

/// Splices a file with these patches, all of which leave the damage in place, and compares what is found.
fn check_splice(damaged: Damaged, patches: Vec<Patch>, context: &str) {
    let base = match open(damaged.data) {
        Ok(base) => base,
        // The last record is looked at when a file is opened.
        Err(found) => return assert_eq!(found, Failure::Damage(damaged.found), "{context}"),
    };
    let plan = Plan::new(&base, patches, base.header());
    assert_eq!(spliced(&base, &plan), Err(Failure::Damage(damaged.found)), "{context}");
}

#[test]
fn damage_in_what_is_kept_is_named_whatever_is_put_before_and_behind_it() {
    const COUNT: usize = 12;
    let names: Vec<_> = (0..COUNT).map(name).collect();
    let mut random = Random::new(0);
    for number in 1..COUNT {
        for harm in harms(&names[number], &names[number - 1]) {
            let file = damaged(SORTED, &names, number, &harm);
            let mut patches = Vec::new();
            for (at, span) in file.spans.iter().enumerate() {
                // Order is a matter of neighbours: those of the damaged record stay.
                if at + 1 < number || at > number + 1 {
                    match random.below(5) {
                        0 => patches.push(Patch { span: span.clone(), put: Put::Nothing }),
                        1 => patches.push(Patch { span: span.clone(), put: put(names[at].clone()) }),
                        2 => {
                            let new = [&names[at], &b"-"[..]].concat();
                            patches.push(Patch { span: span.end..span.end, put: put(new) });
                        }
                        _ => {}
                    }
                }
            }
            check_splice(file, patches, &format!("{number} {harm:?}"));
        }
    }
}

#[test]
fn damage_is_named_where_it_is_when_a_new_record_right_before_it_is_out_of_order() {
    let names: Vec<_> = (0..5).map(name).collect();
    let harm = Harm { reason: Reason::OutOfOrder, text: record(b"a"), at: 0 };
    let file = damaged(SORTED, &names, 2, &harm);
    let patches = vec![Patch { span: file.spans[2].start..file.spans[2].start, put: put(b"b".to_vec()) }];
    check_splice(file, patches, "the new record is less than the one before");
}

/// Names of which the first is so long that the third record starts at an offset behind `start`.
fn names_that_reach(start: usize, offset: usize) -> Vec<Vec<u8>> {
    let mut names: Vec<_> = (0..6).map(name).collect();
    let len = offset - start - 2 * record(&names[0]).len();
    let end = names[0].len() + len;
    names[0].resize(end, b'l');
    // One more piece behind it.
    let end = names[5].len() + PIECE;
    names[5].resize(end, b'l');
    names
}

#[test]
fn damage_is_named_wherever_the_first_piece_ends() {
    for offset in PIECE - 200..PIECE + 3 {
        let names = names_that_reach(SORTED.len(), offset);
        for harm in harms(&names[2], &names[1]) {
            let file = damaged(SORTED, &names, 2, &harm);
            assert_eq!(file.spans[2].start, offset);
            check_splice(file, Vec::new(), &format!("{offset} {harm:?}"));
        }
    }
}

#[test]
fn damage_is_named_in_the_old_file_wherever_a_piece_of_the_new_one_ends() {
    let new = b"refs/a".to_vec();
    let len = hex().len() + 1 + new.len() + 1;
    for offset in (PIECE - 200..PIECE + 3).step_by(7) {
        let names = names_that_reach(SORTED.len(), offset - len);
        for harm in harms(&names[2], &names[1]) {
            let file = damaged(SORTED, &names, 2, &harm);
            let patches = vec![Patch { span: SORTED.len()..SORTED.len(), put: put(new.clone()) }];
            check_splice(file, patches, &format!("{offset} {harm:?}"));
        }
    }
}

#[test]
fn damage_is_named_in_the_pieces_behind_the_first() {
    let names: Vec<_> = (0..9_000).map(name).collect();
    let mut random = Random::new(1);
    for number in (50..names.len()).step_by(names.len() / 9) {
        for mut harm in harms(b"", b"") {
            let number = number + random.below(40);
            let same = |other: &Harm| (other.reason, other.at) == (harm.reason, harm.at) || other.reason == harm.reason;
            harm = harms(&names[number], &names[number - 1]).into_iter().find(same).unwrap();
            let file = damaged(SORTED, &names, number, &harm);
            let patches = vec![Patch { span: file.spans[3].clone(), put: Put::Nothing }];
            check_splice(file, patches, &format!("{number} {harm:?}"));
        }
    }
}

/// Looks for missing peeled lines, and compares what is found.
fn check_peel(damaged: Damaged, context: &str) {
    let found = open(damaged.data).and_then(|base| {
        let peeled = base.peeled(&mut |_| Peel::NoTag, &mut || true);
        let start = base.body().start;
        peeled.map(drop).map_err(|error| failure(&base, error, |offset| start + offset))
    });
    assert_eq!(found, Err(Failure::Damage(damaged.found)), "{context}");
}

#[test]
fn damage_is_named_where_peeled_lines_are_looked_for() {
    for offset in (PIECE - 200..PIECE + 3).step_by(3) {
        // Here a piece starts with the first record.
        let names = names_that_reach(UNPEELED.len(), UNPEELED.len() + offset);
        for harm in harms(&names[2], &names[1]) {
            // A name that stands twice may be about to be deleted.
            if harm.reason != Reason::Duplicate {
                check_peel(damaged(UNPEELED, &names, 2, &harm), &format!("{offset} {harm:?}"));
            }
        }
    }
}

#[test]
fn damage_is_named_when_a_file_without_order_is_opened() {
    for header in [&b""[..], b"# pack-refs with: peeled \n"] {
        let mut names: Vec<_> = (0..40).map(name).collect();
        names.reverse();
        for number in [1, 20, 39] {
            for harm in visible_harms(&names[number]) {
                let file = damaged(header, &names, number, &harm);
                assert_eq!(open(file.data).err(), Some(Failure::Damage(file.found)), "{number} {harm:?}");
            }
        }
    }
}

#[test]
fn a_name_that_stands_twice_in_a_file_without_order_is_named_where_it_stands_again() {
    let other = [&b"abcdef0123".repeat(4)[..], b" ", &name(2), b"\n"].concat();
    let data = [record(&name(2)), record(&name(1)), other.clone(), record(&name(0))].concat();
    let offset = data.len() - record(&name(0)).len() - other.len();
    let base = open(data.clone()).unwrap();
    let plan = Plan::new(&base, Vec::new(), base.header());
    assert_eq!(spliced(&base, &plan), Err(Failure::Damage(damage_at(&data, offset, Reason::Duplicate))));
}

#[test]
fn a_search_that_meets_damage_names_it_and_no_search_finds_anything_wrong() {
    const COUNT: usize = 700;
    let names: Vec<_> = (0..COUNT).map(name).collect();
    for number in (0..COUNT).step_by(3) {
        for harm in visible_harms(&names[number]) {
            let file = damaged(SORTED, &names, number, &harm);
            let base = match open(file.data) {
                Ok(base) => base,
                Err(found) => {
                    assert_eq!((found, number), (Failure::Damage(file.found), COUNT - 1), "{harm:?}");
                    continue;
                }
            };
            for wanted in [0, number.saturating_sub(1), number, (number + 1).min(COUNT - 1), COUNT - 1] {
                let context = || format!("{wanted} beside {number} {harm:?}");
                match Locator::new(&base).locate(&names[wanted]) {
                    Ok(site) => {
                        assert_ne!(wanted, number, "{}", context());
                        assert_eq!((site.copies, site.span), (1, file.spans[wanted].clone()), "{}", context());
                    }
                    Err(error) => assert_eq!(Failure::from(error), Failure::Damage(file.found), "{}", context()),
                }
            }
        }
    }
}

#[test]
fn a_file_that_ends_within_a_line_is_damaged_there() {
    for header in [SORTED, b""] {
        let data = [header, &record(&name(1)), &record(&name(2))].concat();
        for len in 1..data.len() {
            let cut = data[..len].to_vec();
            let line = cut.iter().rposition(|&byte| byte == b'\n').map_or(0, |lf| lf + 1);
            let found = Failure::Damage(damage_at(&cut, line, Reason::Unterminated));
            let expected = if line == len { None } else { Some(found) };
            assert_eq!(open(cut).err(), expected, "{len}");
        }
    }
}

#[test]
fn a_first_line_that_is_no_header_is_damage() {
    let swallowed = [b"# pack-refs with: peeled ", &record(&name(1))[..]].concat();
    for line in [&b"# packed\n"[..], b"#\n", &swallowed] {
        let found = Damage { offset: 0, line: 1, reason: Reason::BadHeader };
        assert_eq!(open([line, &record(&name(2))].concat()).err(), Some(Failure::Damage(found)));
    }
}

#[test]
fn what_is_damaged_after_it_was_planned_is_named_all_the_same() {
    use std::io::{Seek, SeekFrom, Write};
    let names: Vec<_> = (0..6_000).map(name).collect();
    let sound = names.iter().fold(SORTED.to_vec(), |data, name| [data, record(name)].concat());
    let len = record(&names[0]).len();
    let last = sound.len() - len;
    let peeled_line = sound.len() - hex().len() - 2;
    for (at, byte, offset, reason) in [
        (sound.len() - 1, b'0', peeled_line, Reason::Unterminated),
        (last, b'x', last, Reason::BadOid(HASH)),
        (last - len, b'x', last - len, Reason::BadOid(HASH)),
        (SORTED.len(), b'\n', SORTED.len(), Reason::BlankLine),
    ] {
        let mut file = rewrite::file(&sound);
        let base = Base::new(Box::new(file.try_clone().unwrap()), sound.len(), HASH, &mut || true).unwrap();
        let plan = Plan::new(&base, Vec::new(), base.header());
        file.seek(SeekFrom::Start(at as u64)).unwrap();
        file.write_all(&[byte]).unwrap();
        let mut data = sound.clone();
        data[at] = byte;
        assert_eq!(spliced(&base, &plan), Err(Failure::Damage(damage_at(&data, offset, reason))));
    }
}
