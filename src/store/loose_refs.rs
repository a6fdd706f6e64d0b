//! Loose refs as they were read, in byte order of their names, in one arena.

use std::path::Path;

use crate::fs::{MOST, There, look, look_through};
use crate::loose::{Content, first_oid};
use crate::model::{Broken, Fault, HashKind, Place, Span, Value, is_well_formed};

/// Some loose refs.
#[derive(Debug, Default)]
pub struct LooseRefs {
    /// Names and values, one after the other.
    bytes: Vec<u8>,
    refs: Vec<LooseRef>,
}

/// Where one of them is in the arena.
#[derive(Debug, Clone, Copy)]
struct LooseRef {
    start: usize,
    name_len: u32,
    value_len: u32,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Oid,
    Symref,
    /// A symbolic ref that is a symbolic link, and as one leads nowhere: git follows it, yet does not list it.
    DanglingLink,
    Broken(Broken),
}

impl LooseRefs {
    /// None.
    pub(super) const fn new() -> Self {
        Self { bytes: Vec::new(), refs: Vec::new() }
    }

    /// None, for ever.
    #[must_use]
    pub fn none() -> &'static Self {
        static NONE: LooseRefs = LooseRefs::new();
        &NONE
    }

    /// One ref, whatever it was read from.
    pub(super) fn of(name: &[u8], value: Value<'_>) -> Self {
        let mut refs = Self::new();
        match value {
            Value::Hex(digits) => refs.push(name, &digits.to_ascii_lowercase(), Kind::Oid),
            Value::Raw(bytes) => refs.push(name, hex::encode(bytes).as_bytes(), Kind::Oid),
            Value::Symref(target) => refs.push(name, target, Kind::Symref),
            Value::Nothing => refs.push(name, b"", Kind::Broken(Broken::BadContent)),
        }
        refs
    }

    /// Reads the ref at `path` and adds it under `name`, if there is one. `buffer` is memory to use.
    ///
    /// # Errors
    /// What the system says, unless it is that there is no file.
    pub(super) fn read(
        &mut self,
        path: &Path,
        name: &[u8],
        hash: HashKind,
        buffer: &mut Vec<u8>,
    ) -> std::io::Result<bool> {
        let there = match look(path, buffer)? {
            There::Link(text) => {
                let text = text.into_os_string().into_encoded_bytes();
                // A link to something below refs/ is not followed: it is a symbolic ref.
                if text.starts_with(b"refs/") && is_well_formed(&text) {
                    let dangles = !path.exists();
                    self.push(name, &text, if dangles { Kind::DanglingLink } else { Kind::Symref });
                    return Ok(true);
                }
                match look_through(path, buffer)? {
                    There::Directory if leads_round(path) => There::Loop,
                    there => there,
                }
            }
            there => there,
        };
        // A name that does not end where reading does is cut.
        let is_cut = buffer.len() >= MOST;
        let content = Content::parse(buffer, hash).filter(|content| !is_cut || matches!(content, Content::Oid(_)));
        Ok(self.push_there(name, &there, content))
    }

    /// Reads `FETCH_HEAD` or `MERGE_HEAD`: the first object id of a file that may have many.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(super) fn read_pseudoref(
        &mut self,
        path: &Path,
        name: &[u8],
        hash: HashKind,
        buffer: &mut Vec<u8>,
    ) -> std::io::Result<bool> {
        let there = look_through(path, buffer)?;
        Ok(self.push_there(name, &there, first_oid(buffer, hash).map(Content::Oid)))
    }

    /// Adds what is in the place of a ref, and says whether that is anything; `content` is what a file there says.
    fn push_there(&mut self, name: &[u8], there: &There, content: Option<Content<'_>>) -> bool {
        let why = match (there, content) {
            (There::Nothing | There::Directory, _) => return false,
            (There::File, Some(Content::Oid(digits))) => {
                self.push(name, &digits.to_ascii_lowercase(), Kind::Oid);
                return true;
            }
            (There::File, Some(Content::Symref(target))) => {
                self.push(name, target, Kind::Symref);
                return true;
            }
            (There::File, None) => Broken::BadContent,
            (There::Other, _) => Broken::NotAFile,
            (There::Loop | There::Link(_), _) => Broken::SymlinkLoop,
        };
        self.push(name, b"", Kind::Broken(why));
        true
    }

    /// Takes back what was added last.
    pub(super) fn pop(&mut self) {
        if let Some(last) = self.refs.pop() {
            self.bytes.truncate(last.start);
        }
    }

    /// Adds a directory that leads back to itself.
    pub(super) fn push_loop(&mut self, name: &[u8]) {
        self.push(name, b"", Kind::Broken(Broken::SymlinkLoop));
    }

    fn push(&mut self, name: &[u8], value: &[u8], kind: Kind) {
        // Both are limited by what a path, or the file that is read, can hold.
        let len = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or_default();
        self.refs.push(LooseRef { start: self.bytes.len(), name_len: len(name), value_len: len(value), kind });
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
    }

    /// Puts them in order, each name once.
    pub(super) fn sort(&mut self) {
        let Self { bytes, refs } = self;
        let name = |loose: &LooseRef| bytes.get(loose.name()).unwrap_or_default();
        refs.sort_by(|a, b| name(a).cmp(name(b)));
        refs.dedup_by(|a, b| name(a) == name(b));
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.refs.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.refs.is_empty()
    }

    /// The bytes that names and values lie in.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of the first ref whose name is not less than this one.
    #[must_use]
    pub fn seek(&self, name: &[u8]) -> usize {
        self.refs.partition_point(|loose| self.bytes.get(loose.name()).unwrap_or_default() < name)
    }

    /// Where the `i`th name is.
    #[must_use]
    pub fn name_span(&self, i: usize) -> Span {
        self.refs.get(i).map(LooseRef::name).unwrap_or_default()
    }

    /// The `i`th name.
    #[must_use]
    pub fn name(&self, i: usize) -> &[u8] {
        self.bytes.get(self.name_span(i)).unwrap_or_default()
    }

    /// The `i`th value.
    #[must_use]
    pub fn value(&self, i: usize) -> Value<'_> {
        let Some(loose) = self.refs.get(i) else { return Value::Nothing };
        let bytes = self.bytes.get(loose.value()).unwrap_or_default();
        match loose.kind {
            Kind::Oid => Value::Hex(bytes),
            Kind::Symref | Kind::DanglingLink => Value::Symref(bytes),
            Kind::Broken(_) => Value::Nothing,
        }
    }

    /// Why the `i`th cannot be used.
    #[must_use]
    pub fn broken(&self, i: usize) -> Option<Broken> {
        let why = match self.refs.get(i)?.kind {
            Kind::Broken(why) => Some(why),
            _ => None,
        };
        // What was asked for as another worktree's is named by what that calls it.
        Fault::of(Place::of(self.name(i)).name).map(Broken::Name).or(why).or_else(|| match self.value(i) {
            Value::Symref(target) => (!is_well_formed(target)).then_some(Broken::BadTarget),
            value => value.is_zero().then_some(Broken::ZeroOid),
        })
    }

    /// Whether git does not list the `i`th: see [`Kind::DanglingLink`]; sockets and their like, and loops.
    #[must_use]
    pub fn is_unlisted(&self, i: usize) -> bool {
        let kind = self.refs.get(i).map(|loose| loose.kind);
        matches!(kind, Some(Kind::DanglingLink | Kind::Broken(Broken::NotAFile | Broken::SymlinkLoop)))
    }
}

/// Whether a link leads to a directory that it lies in.
fn leads_round(link: &Path) -> bool {
    let Ok(real) = link.canonicalize() else { return false };
    let Some(Ok(parent)) = link.parent().map(Path::canonicalize) else { return false };
    parent.starts_with(real)
}

impl LooseRef {
    fn name(&self) -> Span {
        self.start..self.start.saturating_add(self.name_len as usize)
    }

    fn value(&self) -> Span {
        let start = self.name().end;
        start..start.saturating_add(self.value_len as usize)
    }
}
