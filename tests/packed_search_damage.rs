//! Damage in a packed-refs file that is opened for a rewrite, or searched.

mod generator;
mod harm;
mod rewrite;

use generator::SORTED;
use harm::{HASH, Harm, damage_at, damaged, name, open, record, visible_harms};
use refspan::packed::{Damage, Locator, Reason};
use rewrite::Failure;

/// Damage that is longer than what a search reads at a time.
fn long_harms(name: &[u8]) -> Vec<Harm> {
    let front = |reason, text: Vec<u8>| Harm { reason, text: [text, record(name)].concat(), at: 0 };
    vec![
        front(Reason::BadOid(HASH), [&vec![b'x'; 40_000][..], b"\n"].concat()),
        front(Reason::LateHeader, [b"#", &vec![b' '; 40_000][..], b"\n"].concat()),
        front(Reason::OrphanPeeled, [b"^", &harm::hex()[..], b"\n"].concat().repeat(1_000)),
        front(Reason::BlankLine, vec![b'\n'; 40_000]),
    ]
}

/// Searches names near a damaged record and far from it: what is found is right, or the damage.
fn check_search(names: &[Vec<u8>], number: usize, harm: &Harm) {
    let file = damaged(SORTED, names, number, harm);
    let data = file.data.clone();
    let is_it = |found: Failure| match found {
        // Of several lines like that any may be named.
        Failure::Damage(found) if harm.text.len() > 1_000 => {
            file.spans[number].contains(&found.offset) && found == damage_at(&data, found.offset, harm.reason)
        }
        found => found == Failure::Damage(file.found),
    };
    let context = |wanted: usize| format!("{wanted} beside {number}, {:?}", harm.reason);
    let last = names.len() - 1;
    let base = match open(file.data) {
        Ok(base) => base,
        Err(found) => return assert!(is_it(found) && number == last, "{found:?}, {}", context(last)),
    };
    for wanted in [0, number.saturating_sub(1), number, (number + 1).min(last), last] {
        match Locator::new(&base).locate(&names[wanted]) {
            Ok(site) => {
                assert_ne!(wanted, number, "{}", context(wanted));
                assert_eq!((site.copies, site.span), (1, file.spans[wanted].clone()), "{}", context(wanted));
            }
            Err(error) => {
                let found = Failure::from(error);
                assert!(is_it(found), "{found:?} is not {:?}, {}", file.found, context(wanted));
            }
        }
    }
}

const SEARCHED: usize = 700;

#[test]
fn a_search_that_meets_damage_names_it() {
    let names: Vec<_> = (0..SEARCHED).map(name).collect();
    for number in (0..SEARCHED).step_by(3) {
        for harm in visible_harms(&names[number]) {
            check_search(&names, number, &harm);
        }
    }
}

#[test]
fn a_search_that_meets_damage_longer_than_what_it_reads_names_it() {
    let names: Vec<_> = (0..SEARCHED).map(name).collect();
    for number in (0..SEARCHED).step_by(60) {
        for harm in long_harms(&names[number]) {
            check_search(&names, number, &harm);
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
