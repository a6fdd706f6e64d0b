//! Rewrites of generated packed-refs files, and what a naive program makes of the same edits.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::Path;

use refspan::fs::{ReadAt, Step, Unspliced, splice};
use refspan::model::{HashKind, Oid};
use refspan::packed::{Base, Damage, Flaw, Header, Locator, Patch, Plan, Put, Stop, Unread};

use crate::generator::{Random, Ref, SORTED};

/// Bytes that a splice reads at a time.
pub(crate) const PIECE: usize = 256 << 10;

/// Edits by name: the new object id and what it peels to, or nothing for a record that goes.
pub(crate) type Edits = BTreeMap<Vec<u8>, Option<(Vec<u8>, Option<Vec<u8>>)>>;

/// Random edits: one in so many of the records, every name that stands in several, and names that are new.
pub(crate) fn edits(random: &mut Random, hash: HashKind, refs: &[Ref], one_in: usize) -> Edits {
    let mut edits = Edits::new();
    for (at, (name, ..)) in refs.iter().enumerate() {
        let is_repeated = refs[at + 1..].first().is_some_and(|(next, ..)| next == name);
        if is_repeated || random.below(one_in) == 0 {
            edits.insert(name.clone(), edit(random, hash));
        }
        if random.below(one_in) == 0 {
            let near = [name, random.pick(&[b"/", b"-", b"0"]), b"new"].concat();
            edits.insert(if random.below(2) == 0 { near } else { random.name(hash) }, edit(random, hash));
        }
    }
    for name in [&b"\x01"[..], b"\xff"] {
        if random.below(3) == 0 {
            edits.insert(name.to_vec(), edit(random, hash));
        }
    }
    edits
}

fn edit(random: &mut Random, hash: HashKind) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    let peeled = if random.below(3) == 0 { Some(random.oid(hash)) } else { None };
    if random.below(3) == 0 { None } else { Some((random.oid(hash), peeled)) }
}

/// Why no new file came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    Damage(Damage),
    Io(ErrorKind),
    Interrupted,
}

impl From<Unread> for Failure {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Io(error) => Self::Io(error.kind()),
            Unread::Stop(Stop::Damage(damage)) => Self::Damage(damage),
            Unread::Stop(Stop::Interrupted) => Self::Interrupted,
            Unread::Stop(Stop::OutOfMemory) => Self::Io(ErrorKind::OutOfMemory),
        }
    }
}

/// A file with that content.
pub(crate) fn file(content: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    file
}

pub(crate) fn open(content: &[u8], hash: HashKind) -> Result<Base, Failure> {
    Ok(Base::new(Box::new(file(content)), content.len(), hash, &mut || true)?)
}

/// The bytes of all records, in the order in which spans count them.
pub(crate) fn records(base: &Base) -> Vec<u8> {
    let mut bytes = vec![0; base.body().len()];
    base.read_exact_at(&mut bytes, base.body().start).unwrap();
    bytes
}

fn oid(digits: &[u8]) -> Oid {
    Oid::from_hex(digits).unwrap()
}

/// The patches that make the edits.
pub(crate) fn patches(base: &Base, edits: &Edits) -> Result<Vec<Patch>, Failure> {
    let mut locator = Locator::new(base);
    let mut patches = Vec::new();
    for (name, edit) in edits {
        let span = locator.locate(name)?.span;
        let put = match edit {
            Some((new, peeled)) => {
                Put::Record { name: name.clone(), oid: oid(new), peeled: peeled.as_deref().map(oid) }
            }
            // Nobody asks for the removal of what is not there.
            None if span.is_empty() => continue,
            None => Put::Nothing(name.clone()),
        };
        patches.push(Patch { span, put });
    }
    Ok(patches)
}

/// Writes what a plan says.
pub(crate) fn spliced(base: &Base, plan: &Plan) -> Result<Vec<u8>, Failure> {
    let mut into = tempfile::tempfile().unwrap();
    let mut checker = plan.checker(base);
    let done = splice(base, plan.steps(), &mut checker, Some((&into, Path::new(""))), &mut || true);
    done.map_err(|unspliced| failure(base, unspliced, |offset| plan.origin(offset)))?;
    let mut written = Vec::new();
    into.rewind().unwrap();
    into.read_to_end(&mut written).unwrap();
    Ok(written)
}

/// A failure, where it is in the old file.
pub(crate) fn failure(base: &Base, unspliced: Unspliced<Flaw>, origin: impl Fn(usize) -> usize) -> Failure {
    match unspliced {
        Unspliced::Read(error) | Unspliced::Write(error) => Failure::Io(error.kind()),
        Unspliced::Flaw(Flaw { offset, reason }) => Failure::Damage(base.damage(origin(offset), reason)),
        Unspliced::Interrupted => Failure::Interrupted,
    }
}

/// The file that the edits make of another one whose claims are kept.
pub(crate) fn rewritten(base: &Base, edits: &Edits) -> Result<Vec<u8>, Failure> {
    spliced(base, &Plan::new(base, patches(base, edits)?, base.header()))
}

/// The line that claims those traits.
pub(crate) fn header_line(claims: Header) -> Vec<u8> {
    let mut line = b"# pack-refs with: ".to_vec();
    for (is_claimed, name) in [(claims.peeled, "peeled "), (claims.fully_peeled, "fully-peeled "), (true, "sorted ")] {
        line.extend_from_slice(if is_claimed { name.as_bytes() } else { b"" });
    }
    [line, b"\n".to_vec()].concat()
}

/// The records that the edits make of others: the naive way.
pub(crate) fn edited(refs: &[Ref], edits: &Edits) -> Vec<Ref> {
    let mut all: BTreeMap<_, _> = refs.iter().map(|(name, oid, peeled)| (name, (oid, peeled))).collect();
    for (name, edit) in edits {
        match edit {
            Some((oid, peeled)) => drop(all.insert(name, (oid, peeled))),
            None => drop(all.remove(name)),
        }
    }
    let lower = |digits: &Vec<u8>| digits.to_ascii_lowercase();
    let all = all.into_iter();
    all.map(|(name, (oid, peeled))| (name.clone(), lower(oid), peeled.as_ref().map(lower))).collect()
}

/// Whether two parts of the plan could have been one, or one is empty; the header stands alone.
pub(crate) fn has_split_parts(plan: &Plan) -> bool {
    let steps: Vec<_> = plan.steps().skip(1).collect();
    let is_split = |(a, b): (&Step<'_>, &Step<'_>)| match (a, b) {
        (Step::Keep(a), Step::Keep(b)) => a.end == b.start,
        (Step::Put(_), Step::Put(_)) => true,
        _ => false,
    };
    let is_empty = |step: &Step<'_>| match step {
        Step::Keep(span) => span.is_empty(),
        Step::Put(text) => text.is_empty(),
    };
    steps.iter().zip(steps.iter().skip(1)).any(is_split) || steps.iter().any(is_empty)
}

/// Bytes in memory as a file, which may change while it is read.
pub(crate) struct Fake<F>(pub(crate) F);

impl<F: Fn(&mut [u8], usize) -> io::Result<usize>> ReadAt for Fake<F> {
    fn read_at(&self, buffer: &mut [u8], at: usize) -> io::Result<usize> {
        (self.0)(buffer, at)
    }
}

/// Bytes of a record of a [`numbered`] file.
pub(crate) const NUMBERED: usize = 65;

pub(crate) fn numbered_name(number: usize) -> Vec<u8> {
    format!("refs/numbered/{number:09}").into_bytes()
}

/// A file of so many records, more than anybody could write for a test; `reads` is told the length of each read.
pub(crate) fn numbered(count: usize, reads: impl Fn(usize) + Send + Sync + 'static) -> Base {
    let end = SORTED.len() + count * NUMBERED;
    let read_at = move |buffer: &mut [u8], at: usize| {
        let len = buffer.len().min(end.saturating_sub(at));
        reads(len);
        let mut filled = 0;
        while filled < len {
            let offset = at + filled;
            let mut record = [0; NUMBERED];
            let rest = match offset.checked_sub(SORTED.len()) {
                None => &SORTED[offset..],
                Some(offset) => {
                    let number = offset / NUMBERED;
                    writeln!(&mut record[..], "{number:040x} refs/numbered/{number:09}").unwrap();
                    &record[offset % NUMBERED..]
                }
            };
            let part = rest.len().min(len - filled);
            buffer[filled..filled + part].copy_from_slice(&rest[..part]);
            filled += part;
        }
        Ok(len)
    };
    Base::new(Box::new(Fake(read_at)), end, HashKind::Sha1, &mut || true).unwrap()
}
