//! A packed-refs file as it was when it was opened: immutable, safe to share between threads.

use std::sync::OnceLock;

use super::points_at::points_at;
use super::scan::count;
use super::search::{partition_point, record_start};
use super::sort::sorted_copy;
use super::stretch::subtract;
use super::{Cursor, Damage, Header, Reason, Record, Stop};
use crate::fs::Backing;
use crate::model::{HashKind, Interrupt, Oid, Selection, Span};

/// The content of one packed-refs file.
#[derive(Debug)]
pub struct Snapshot {
    backing: Backing,
    header: Header,
    /// `None` if no record tells and the opener did not say.
    hash: Option<HashKind>,
    /// The records in refname order, if the file has them in another.
    sorted: Option<Vec<u8>>,
    /// Where the records lie in [`Self::data`].
    body: Span,
    /// Set by the first full read that finds the header's `sorted` to be false.
    disorder: OnceLock<Damage>,
    count: OnceLock<usize>,
}

impl Snapshot {
    /// Takes the content of a file; reads all of it if it does not claim to be sorted, else only both ends.
    ///
    /// # Errors
    /// [`Damage`] in the header, in the last line, or, where all is read, in any record; or an interrupt.
    pub fn new(backing: Backing, hash: Option<HashKind>, interrupt: Interrupt<'_>) -> Result<Self, Stop> {
        let header = Header::parse(&backing)?;
        let body = header.len..backing.len();
        let hash = hash.or_else(|| guess_hash(&backing, &body));
        let mut snapshot =
            Self { backing, header, hash, sorted: None, body, disorder: OnceLock::new(), count: OnceLock::new() };
        if header.sorted {
            snapshot.check_last_record()?;
        } else if let Some(hash) = hash
            && let Some(copy) = sorted_copy(&snapshot.backing, &snapshot.body, hash, interrupt)?
        {
            snapshot.body = 0..copy.len();
            snapshot.sorted = Some(copy);
        }
        Ok(snapshot)
    }

    /// That of a file without records.
    pub(super) fn empty(hash: HashKind) -> Self {
        let backing = Backing::Owned(Vec::new());
        let (disorder, count) = (OnceLock::new(), OnceLock::new());
        Self { backing, header: Header::default(), hash: Some(hash), sorted: None, body: 0..0, disorder, count }
    }

    /// The bytes that spans of this snapshot refer to.
    #[inline]
    #[must_use]
    pub fn data(&self) -> &[u8] {
        match &self.sorted {
            None => &self.backing,
            Some(copy) => copy,
        }
    }

    /// Where the records lie in [`Self::data`].
    #[must_use]
    pub(super) fn body(&self) -> &Span {
        &self.body
    }

    /// The bytes of a span.
    #[inline]
    #[must_use]
    pub fn bytes(&self, span: Span) -> &[u8] {
        self.data().get(span).unwrap_or_default()
    }

    /// What line 1 claims.
    #[must_use]
    pub fn header(&self) -> Header {
        self.header
    }

    /// The hash of the object ids; `None` for a file without records, if the opener did not say.
    #[must_use]
    pub fn hash(&self) -> Option<HashKind> {
        self.hash
    }

    /// Whether the file holds no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// Whether the bytes lie in a map of the file, not in memory of our own.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.sorted.is_none() && self.backing.is_mapped()
    }

    /// Says whether all of it will be read in order soon.
    pub fn expect_scan(&self, soon: bool) {
        self.backing.expect_scan(soon);
    }

    /// The size of the file, in bytes.
    #[must_use]
    pub fn file_len(&self) -> usize {
        self.backing.len()
    }

    /// A walk over the selected records, found by O(log n) seeks for each limit. Drive it with [`Self::next`].
    ///
    /// # Errors
    /// [`Damage`] in a record that a seek looked at, or found by an earlier full read to be out of order.
    pub fn select(&self, selection: Selection<'_>) -> Result<Cursor, Damage> {
        let Some(hash) = self.hash else { return Ok(Cursor::new(HashKind::Sha1, Vec::new())) };
        let Selection { prefix, start_after, exclude } = selection;
        let mut rest = self.body.clone();
        if !prefix.is_empty() {
            rest = self.prefix_span(prefix)?;
        }
        if let Some(name) = start_after {
            rest.start = self.seek(|other| other <= name)?.max(rest.start);
        }
        let mut excluded = Vec::new();
        for &name in exclude {
            if name.ends_with(b"/") {
                excluded.push(self.prefix_span(name)?);
            } else if !name.is_empty() {
                excluded.push(self.seek(|other| other < name)?..self.seek(|other| other <= name)?);
                excluded.push(self.prefix_span(&[name, b"/"].concat())?);
            }
        }
        Ok(Cursor::new(hash, subtract(rest, excluded)))
    }

    /// A walk over a stretch that begins and ends at a record boundary.
    #[must_use]
    pub fn cursor_over(&self, stretch: Span) -> Cursor {
        Cursor::new(self.hash.unwrap_or(HashKind::Sha1), vec![stretch])
    }

    /// Where the records that sort before `name` and below `refs/` end; without a name, where the latter end.
    ///
    /// # Errors
    /// As [`Self::select`].
    pub fn end_before(&self, name: Option<&[u8]>) -> Result<usize, Damage> {
        let end = self.prefix_span(b"refs/")?.end;
        match name {
            Some(name) => Ok(self.seek(|other| other < name)?.min(end)),
            None => Ok(end),
        }
    }

    /// The length of what both stretches, of this snapshot and of another one, begin with: whole records, and after them at
    /// least one more that they have in common.
    #[must_use]
    pub fn common_records(&self, stretch: &Span, other: &Self, others: &Span) -> usize {
        let (a, b) = (self.bytes(stretch.clone()), other.bytes(others.clone()));
        let common = if a.as_ptr() == b.as_ptr() { a.len().min(b.len()) } else { common_prefix(a, b) };
        // Back from the first difference to the start of the record that it is in, on both sides, and one more.
        let boundary = |data: &[u8]| record_start(data, 0, common.min(data.len().saturating_sub(1)));
        let start = boundary(a).min(boundary(b));
        if start == 0 { 0 } else { record_start(a, 0, start.saturating_sub(1)) }
    }

    /// The next record of a walk, in refname order.
    ///
    /// # Errors
    /// [`Damage`] in it, or a name out of order; the latter is kept, and look-ups raise it from then on.
    #[inline(always)]
    pub fn next(&self, cursor: &mut Cursor) -> Result<Option<Record>, Damage> {
        let next = cursor.next(self.data());
        if let Err(damage) = next {
            self.remember(damage);
        }
        next
    }

    /// Keeps the news that the order cannot be relied on.
    #[cold]
    fn remember(&self, damage: Damage) {
        if damage.reason == Reason::OutOfOrder {
            let _ = self.disorder.set(damage);
        }
    }

    /// The number of records; the first call reads and checks every one, later calls return what it found.
    ///
    /// # Errors
    /// The first [`Damage`] in the file, or an interrupt.
    pub fn count(&self, interrupt: Interrupt<'_>) -> Result<usize, Stop> {
        if let Some(count) = self.count.get() {
            return Ok(*count);
        }
        let count = match self.hash {
            None => Ok(0),
            Some(hash) => count(self.data(), &self.body, hash, interrupt),
        };
        if let Err(Stop::Damage(damage)) = count {
            self.remember(damage);
        }
        let count = count?;
        Ok(*self.count.get_or_init(|| count))
    }

    /// The record of that exact name. Looks at O(log n) records, allocates nothing.
    ///
    /// # Errors
    /// [`Damage`] in a record that was looked at; a name that stands in more than one; a file out of order.
    pub fn find(&self, name: &[u8]) -> Result<Option<Record>, Damage> {
        let Some(hash) = self.hash else { return Ok(None) };
        let pos = self.seek(|other| other < name)?;
        if pos >= self.body.end {
            return Ok(None);
        }
        let record = Record::parse(self.data(), pos, hash)?;
        if self.bytes(record.name()) != name {
            return Ok(None);
        }
        if self.following(&record).is_some_and(|next| self.bytes(next.name()) == name) {
            // The first of the lines that hold this name.
            return Err(self.damage(record.start(), Reason::Duplicate));
        }
        Ok(Some(record))
    }

    /// The record of these parts, as a walk or a search found it in this snapshot.
    #[inline]
    #[must_use]
    pub fn record(&self, start: usize, name_len: u32, has_peeled: bool) -> Record {
        Record::from_parts(start, name_len, self.hash.unwrap_or(HashKind::Sha1), has_peeled)
    }

    /// The records whose object id or peeled object id is `oid`, in refname order, without a walk over the others.
    ///
    /// # Errors
    /// [`Damage`] in a record that points there, a file known to be out of order, or an interrupt.
    pub fn points_at(&self, oid: &Oid, interrupt: Interrupt<'_>) -> Result<Vec<Record>, Stop> {
        if let Some(damage) = self.disorder.get() {
            return Err((*damage).into());
        }
        match self.hash {
            Some(hash) if hash == oid.kind() => {
                points_at(self.data(), &self.body, hash, oid.to_hex().as_bytes(), interrupt)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Whether a missing peeled value means that the record's object is no annotated tag.
    #[must_use]
    pub fn peel_known(&self, record: &Record) -> bool {
        record.peeled().is_some()
            || self.header.fully_peeled
            || (self.header.peeled && self.bytes(record.name()).starts_with(b"refs/tags/"))
    }

    /// Damage in the line that starts at an offset of [`Self::data`], where it lies in the file.
    pub(super) fn damage(&self, offset: usize, reason: Reason) -> Damage {
        let offset = if self.sorted.is_none() {
            offset
        } else {
            // The copy is in another order: find the line in the file itself.
            let rest = self.data().get(offset..).unwrap_or_default();
            let line = rest.split_inclusive(|&byte| byte == b'\n').next().unwrap_or_default();
            line_offset(&self.backing, self.header.len, line)
        };
        Damage::at(&self.backing, offset, reason)
    }

    fn seek(&self, before: impl Fn(&[u8]) -> bool) -> Result<usize, Damage> {
        if let Some(damage) = self.disorder.get() {
            return Err(*damage);
        }
        match self.hash {
            None => Ok(self.body.end),
            Some(hash) => partition_point(self.data(), &self.body, hash, before),
        }
    }

    fn prefix_span(&self, prefix: &[u8]) -> Result<Span, Damage> {
        let start = self.seek(|name| name < prefix)?;
        let end = self.seek(|name| name < prefix || name.starts_with(prefix))?;
        Ok(start..end)
    }

    /// A file that was cut shows it at its end: looked at when opening, so that no list of it is ever short in silence.
    fn check_last_record(&self) -> Result<(), Damage> {
        let Some(hash) = self.hash.filter(|_| !self.body.is_empty()) else { return Ok(()) };
        Record::parse(self.data(), last_record_start(self.data(), &self.body), hash).map(|_| ())
    }
}

/// The hash with which the first record can be read, or, if that is damaged, the last one; SHA-1, git's default, if
/// neither tells. `None` without records.
fn guess_hash(data: &[u8], body: &Span) -> Option<HashKind> {
    if body.is_empty() {
        return None;
    }
    let hash_at = |start| HashKind::ALL.into_iter().find(|hash| Record::read(data, start, *hash).is_some());
    hash_at(body.start).or_else(|| hash_at(last_record_start(data, body))).or(Some(HashKind::Sha1))
}

fn last_record_start(data: &[u8], body: &Span) -> usize {
    record_start(data, body.start, body.end.saturating_sub(1))
}

/// How many bytes both begin with.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    const PIECE: usize = 16 << 10;
    let pieces = a.chunks(PIECE).zip(b.chunks(PIECE));
    let equal = pieces.take_while(|(a, b)| a == b).fold(0_usize, |len, (a, _)| len.saturating_add(a.len()));
    let rest = a.iter().skip(equal).zip(b.iter().skip(equal));
    equal.saturating_add(rest.take_while(|(a, b)| a == b).count())
}

/// The offset of the first line of `data` at or after `first` that is exactly `line`.
fn line_offset(data: &[u8], first: usize, line: &[u8]) -> usize {
    let body = data.get(first..).unwrap_or_default();
    let mut offset = first;
    for there in body.split_inclusive(|&b| b == b'\n') {
        if there == line {
            break;
        }
        offset = offset.saturating_add(there.len());
    }
    offset
}
