//! Packed-refs files in which one record is damaged, in every way that there is.
//!
//! All but one: a refname of more than 4 GiB takes more memory than a test may.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::ops::Range;

use refspan::model::HashKind;
use refspan::packed::{Base, Damage, Reason};

use crate::rewrite::{Failure, Fake};

pub(crate) const HASH: HashKind = HashKind::Sha1;
pub(crate) const UNPEELED: &[u8] = b"# pack-refs with: sorted \n";

pub(crate) fn hex() -> Vec<u8> {
    b"1234567890".repeat(4)
}

pub(crate) fn name(number: usize) -> Vec<u8> {
    format!("refs/heads/{number:06}").into_bytes()
}

/// A record in its parts: what a damage takes the place of.
pub(crate) fn record(name: &[u8]) -> Vec<u8> {
    [&hex(), &b" "[..], name, b"\n^", &hex(), b"\n"].concat()
}

/// One way to damage a record: the text in its place, and where the damaged line starts in that.
#[derive(Debug, Clone)]
pub(crate) struct Harm {
    pub(crate) reason: Reason,
    pub(crate) text: Vec<u8>,
    pub(crate) at: usize,
}

/// All ways to damage a record of that name, which follows another one.
pub(crate) fn harms(name: &[u8], name_before: &[u8]) -> Vec<Harm> {
    let (sound, hex) = (record(name), hex());
    let line = [&hex, &b" "[..], name, b"\n"].concat();
    let front = |reason, text: Vec<u8>| Harm { reason, text, at: 0 };
    let peeled =
        |text: &[u8]| Harm { reason: Reason::BadPeeled(HASH), text: [&line, &b"^"[..], text].concat(), at: line.len() };
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
        front(Reason::OrphanPeeled, [b"^", &hex[..], b"\n", &sound].concat()),
        Harm { reason: Reason::OrphanPeeled, at: sound.len(), text: [&sound, &b"^"[..], &hex, b"\n"].concat() },
        peeled(&[&hex[1..], b"\n"].concat()),
        peeled(&[&hex, &b"\r\n"[..]].concat()),
        peeled(&[b"x", &hex[1..], b"\n"].concat()),
        peeled(b"\n"),
    ]
}

/// The ways in which a look at a single record shows the damage.
pub(crate) fn visible_harms(name: &[u8]) -> Vec<Harm> {
    let mut harms = harms(name, name);
    harms.retain(|harm| !matches!(harm.reason, Reason::OutOfOrder | Reason::Duplicate));
    harms
}

/// A file in which one record is damaged, and what is to be found.
pub(crate) struct Damaged {
    pub(crate) data: Vec<u8>,
    /// Where each record is.
    pub(crate) spans: Vec<Range<usize>>,
    pub(crate) found: Damage,
}

pub(crate) fn damaged(header: &[u8], names: &[Vec<u8>], number: usize, harm: &Harm) -> Damaged {
    let (mut data, mut spans, mut found) = (header.to_vec(), Vec::new(), None);
    for (at, name) in names.iter().enumerate() {
        let start = data.len();
        if at == number {
            // All records before it are two lines.
            let line = usize::from(!header.is_empty()) + 2 * at + damage_at(&harm.text, harm.at, harm.reason).line;
            found = Some(Damage { offset: start + harm.at, line, reason: harm.reason });
            data.extend_from_slice(&harm.text);
        } else {
            data.extend(record(name));
        }
        spans.push(start..data.len());
    }
    Damaged { found: found.unwrap(), data, spans }
}

pub(crate) fn damage_at(data: &[u8], offset: usize, reason: Reason) -> Damage {
    Damage { offset, line: data[..offset].split(|byte| *byte == b'\n').count(), reason }
}

/// Opens what is in memory, as if it was a file.
pub(crate) fn open(data: Vec<u8>) -> Result<Base, Failure> {
    let len = data.len();
    let read_at = move |buffer: &mut [u8], at: usize| {
        let rest = &data[at.min(data.len())..];
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    };
    Ok(Base::new(Box::new(Fake(read_at)), len, HASH, &mut || true)?)
}
