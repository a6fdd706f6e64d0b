//! Loose refs and text reflogs, whatever the bytes: no panic, no end that is not reached, and both directions agree.
#![no_main]

use libfuzzer_sys::fuzz_target;
use refspan::loose::{Content, LogLine, first_oid, last_line};
use refspan::model::{Fault, HashKind, Place, Scope, is_safe, is_well_formed};

fuzz_target!(|data: &[u8]| {
    for hash in HashKind::ALL {
        match Content::parse(data, hash) {
            Some(Content::Oid(digits)) => {
                assert_eq!(digits.len(), hash.hex_len());
                assert!(data.starts_with(digits));
            }
            Some(Content::Symref(target)) => assert!(data.starts_with(b"ref:") && target.len() <= data.len()),
            None => {}
        }
        assert!(first_oid(data, hash).is_none_or(|digits| data.starts_with(digits)));
        let forwards: Vec<_> = data.split_inclusive(|&byte| byte == b'\n').map(|line| LogLine::parse(line, hash)).collect();
        let (mut rest, mut backwards) = (data, Vec::new());
        while !rest.is_empty() {
            let (front, line) = rest.split_at(last_line(rest));
            backwards.push(LogLine::parse(line, hash));
            rest = front;
        }
        backwards.reverse();
        assert_eq!(forwards, backwards);
    }
    let place = Place::of(data);
    assert!(data.ends_with(place.name));
    assert!(place.scope == Scope::Shared || !place.name.contains(&b'\0'));
    // A name that is well-formed and belongs below refs/ is safe, too.
    assert!(!(is_well_formed(data) && data.starts_with(b"refs/")) || (is_safe(data) && Fault::of(data).is_none()));
});
