//! Damage in a packed-refs file that is rewritten: found before it is written on, and named where it is.

mod generator;
mod harm;
mod rewrite;

use std::io::{Seek, SeekFrom, Write};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use generator::{Random, SORTED, for_each_file, write};
use harm::{Damaged, HASH, Harm, UNPEELED, damage_at, damaged, harms, hex, name, open, record};
use refspan::model::Oid;
use refspan::packed::{Base, Damage, Patch, Peel, Plan, Put, Reason};
use rewrite::{Failure, PIECE, edited, edits, failure, rewritten, spliced};

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
                        0 => patches.push(Patch { span: span.clone(), put: Put::Nothing(names[at].clone()) }),
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

/// Names of which the first is so long that the third record starts at an offset, and as many bytes more behind that.
fn names_that_reach(start: usize, offset: usize, behind: usize) -> Vec<Vec<u8>> {
    let mut names: Vec<_> = (0..6).map(name).collect();
    let len = offset - start - 2 * record(&names[0]).len();
    let end = names[0].len() + len;
    names[0].resize(end, b'l');
    let end = names[5].len() + behind;
    names[5].resize(end, b'l');
    names
}

#[test]
fn damage_is_named_wherever_the_first_piece_ends() {
    for offset in PIECE - 150..PIECE + 3 {
        let names = names_that_reach(SORTED.len(), offset, 0);
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
    for offset in (PIECE - 200..PIECE + 3).step_by(11) {
        let names = names_that_reach(SORTED.len(), offset - len, PIECE);
        for harm in harms(&names[2], &names[1]) {
            let file = damaged(SORTED, &names, 2, &harm);
            let patches = vec![Patch { span: SORTED.len()..SORTED.len(), put: put(new.clone()) }];
            check_splice(file, patches, &format!("{offset} {harm:?}"));
        }
    }
}

#[test]
fn damage_is_named_in_the_pieces_behind_the_first() {
    // So many that another thread writes what was checked.
    let names: Vec<_> = (0..11_000).map(name).collect();
    let mut random = Random::new(1);
    for number in (50..names.len()).step_by(names.len() / 9) {
        for mut harm in harms(b"", b"") {
            let number = number + random.below(40);
            let same = |other: &Harm| (other.reason, other.at) == (harm.reason, harm.at) || other.reason == harm.reason;
            harm = harms(&names[number], &names[number - 1]).into_iter().find(same).unwrap();
            let file = damaged(SORTED, &names, number, &harm);
            let patches = vec![Patch { span: file.spans[3].clone(), put: Put::Nothing(names[3].clone()) }];
            check_splice(file, patches, &format!("{number} {harm:?}"));
        }
    }
}

/// Looks for missing peeled lines, and compares what is found.
fn check_peel(damaged: Damaged, context: &str) {
    let found = open(damaged.data).and_then(|base| {
        let peeled = base.peeled(&[], &mut |_| Peel::NoTag, &mut || true);
        let start = base.body().start;
        peeled.map(drop).map_err(|error| failure(&base, error, |offset| start + offset))
    });
    assert_eq!(found, Err(Failure::Damage(damaged.found)), "{context}");
}

#[test]
fn damage_is_named_where_peeled_lines_are_looked_for() {
    for offset in (PIECE - 200..PIECE + 3).step_by(5) {
        // Here a piece starts with the first record.
        let names = names_that_reach(UNPEELED.len(), UNPEELED.len() + offset, 0);
        for harm in harms(&names[2], &names[1]) {
            // A name that stands twice may be about to be deleted.
            if harm.reason != Reason::Duplicate {
                check_peel(damaged(UNPEELED, &names, 2, &harm), &format!("{offset} {harm:?}"));
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
fn a_file_whose_order_is_not_what_it_claims_is_found_out_or_rewritten_right() {
    let outcomes = [AtomicUsize::new(0), AtomicUsize::new(0)];
    for_each_file(|random, hash, mut refs| {
        if refs.len() < 2 {
            return;
        }
        let (a, b) = (random.below(refs.len()), random.below(refs.len()));
        refs.swap(a, b);
        let edits = edits(random, hash, &refs, 3);
        let base = rewrite::open(&write(SORTED, &refs), hash).unwrap();
        match rewritten(&base, &edits) {
            Ok(new) => {
                assert!(new == write(SORTED, &edited(&refs, &edits)));
                outcomes[0].fetch_add(1, Relaxed);
            }
            Err(failure) => {
                assert!(matches!(
                    failure,
                    Failure::Damage(Damage { reason: Reason::OutOfOrder | Reason::Duplicate, .. })
                ));
                outcomes[1].fetch_add(1, Relaxed);
            }
        }
    });
    assert!(outcomes.iter().all(|count| count.load(Relaxed) > 10), "{outcomes:?}");
}

#[test]
fn what_is_damaged_after_it_was_planned_is_named_all_the_same() {
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
