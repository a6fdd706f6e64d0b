//! Loose refs, lines of reflogs and names, whatever the bytes: no panic, and what is found is in them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use refspan::loose::{Content, LogLine, first_oid};
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
        for line in data.split_inclusive(|&byte| byte == b'\n') {
            if let Some(parsed) = LogLine::parse(line, hash) {
                assert!(line.ends_with(parsed.message) || line.ends_with(b"\n"));
                assert!(parsed.time != 0 && parsed.old.len() == hash.hex_len());
            }
        }
    }
    let place = Place::of(data);
    assert!(data.ends_with(place.name));
    assert!(place.scope == Scope::Shared || !place.name.contains(&b'\0'));
    // A name that is well-formed and belongs below refs/ is safe, too.
    assert!(!(is_well_formed(data) && data.starts_with(b"refs/")) || (is_safe(data) && Fault::of(data).is_none()));
});
