//! The lines that `git show-ref` prints.
//!
//! ```text
//! line = [hex SP] refname LF [ [hex SP] refname "^{}" LF ]          with hash_only: hex alone
//! ```
//!
//! A symbolic ref is shown by what it resolves to, a dangling one not at all. Of refs in tables git lists the peeled values
//! that are stored there, hence none of symbolic refs; of others, and of single refs, it asks the object database. Git ends at the first ref that is broken or
//! whose object does not exist, and so does this: a list cut short must not be taken for a whole one.

use super::entry::Peeled;
use super::known::Known;
use super::log_item::write_hex;
use super::lookup::Lookup;
use super::objects::Asker;
use super::walk::{Step, Walk};
use super::{Item, Query};
use crate::model::{Broken, Error, Fault, Interrupt, Oid, RefValue, Result, Value, is_safe, is_well_formed};

/// Text is handed on in pieces of about this size.
const PIECE: usize = 256 << 10;
/// Refs that are looked at for one piece, whatever comes of them.
const VISITED: usize = 1 << 14;

/// What is shown, and how.
#[derive(Debug, Default)]
pub struct ShowRef {
    /// Only refs whose names end in one of these, at a slash; all if it is empty.
    pub patterns: Vec<Vec<u8>>,
    /// Peeled values too.
    pub dereference: bool,
    /// Object ids alone.
    pub hash_only: bool,
    /// How many digits of an object id at least; as many as git takes by itself; or all.
    pub abbrev: Option<Option<usize>>,
    /// No lines at all.
    pub quiet: bool,
}

/// How far it came.
#[derive(Debug, PartialEq, Eq)]
pub enum Shown {
    /// There may be more.
    More,
    /// All.
    All,
    /// Git dies of the next ref, saying this.
    Dies(Vec<u8>),
}

/// Refs being shown.
pub struct Showing {
    options: ShowRef,
    lookup: Lookup,
    objects: Asker,
    known: Known,
    /// How many refs were shown.
    pub found: u64,
}

impl Showing {
    /// Refs of a repository, to be shown so; `None` for a file that was opened alone.
    ///
    /// # Errors
    /// As [`Objects::asker`](super::Objects::asker).
    pub fn new(mut options: ShowRef, lookup: Lookup) -> Result<Option<Self>> {
        let Some(repository) = lookup.repository() else { return Ok(None) };
        let objects = repository.objects.asker()?;
        if let Some(None) = options.abbrev {
            options.abbrev = Some(repository.location.config.abbrev);
        }
        Ok(Some(Self { options, lookup, objects, known: Known::new(), found: 0 }))
    }

    /// The refs below a prefix.
    ///
    /// # Errors
    /// As [`Lookup::view`].
    pub fn walk(&mut self, prefix: &[u8], interrupt: Interrupt<'_>) -> Result<Walk> {
        let query = Query::of_prefix(prefix);
        self.lookup.view(&query, interrupt)?.walk(query)
    }

    /// Appends the next refs of a walk to `text`, a piece at the most.
    ///
    /// # Errors
    /// [`Error::Corrupt`], an interrupt.
    pub fn next(&mut self, walk: &mut Walk, text: &mut Vec<u8>, interrupt: Interrupt<'_>) -> Result<Shown> {
        for _ in 0..VISITED {
            if text.len() >= PIECE {
                break;
            }
            let Some(step) = walk.next(interrupt)? else { return Ok(Shown::All) };
            let mut item = walk.item(&step);
            let beneath;
            if let (Step::Loose(i), Item::Loose(refs, _)) = (&step, item)
                && refs.is_unlisted(*i)
            {
                // What git does not list hides nothing that is packed either.
                beneath = walk.view().find_beneath(item.name())?;
                match &beneath {
                    Some(entry) => item = entry.item(),
                    None => continue,
                }
            }
            if !self.is_wanted(item.name()) && item.broken() != Some(Broken::Name(Fault::UnsafeName)) {
                continue;
            }
            if let Some(message) = self.show_item(item, text, interrupt)? {
                return Ok(Shown::Dies(message));
            }
        }
        Ok(Shown::More)
    }

    /// Appends `HEAD`, if it leads to an object id.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub fn head(&mut self, text: &mut Vec<u8>, interrupt: Interrupt<'_>) -> Result<Shown> {
        match self.lookup.resolve(b"HEAD", interrupt) {
            Ok(entry) => Ok(self.show(b"HEAD", entry.item(), true, text).map_or(Shown::More, Shown::Dies)),
            Err(Error::NoRef(_)) => Ok(Shown::More),
            Err(Error::Corrupt { .. }) => Ok(self.zero_oid(b"HEAD", interrupt)?.unwrap_or(Shown::More)),
            Err(error) => Err(error),
        }
    }

    /// What git dies of where a ref is an object id of zeros: it reads that, and misses the object.
    fn zero_oid(&self, name: &[u8], interrupt: Interrupt<'_>) -> Result<Option<Shown>> {
        let is_zero = self.lookup.find(name, interrupt)?.is_some_and(|entry| entry.item().value().is_zero());
        Ok(is_zero.then(|| Shown::Dies(bad(name, &b"0".repeat(self.hex_len())))))
    }

    /// Appends a ref of exactly that name; git dies if there is none.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub fn verify(&mut self, name: &[u8], text: &mut Vec<u8>, interrupt: Interrupt<'_>) -> Result<Shown> {
        let invalid = || Ok(Shown::Dies([b"'", name, b"' - not a valid ref"].concat()));
        if !name.starts_with(b"refs/") && !is_safe(name) {
            return invalid();
        }
        match self.lookup.resolve(name, interrupt) {
            Ok(entry) => Ok(self.show(name, entry.item(), true, text).map_or(Shown::More, Shown::Dies)),
            Err(Error::NoRef(_)) => invalid(),
            Err(Error::Corrupt { .. }) => match self.zero_oid(name, interrupt)? {
                Some(dies) => Ok(dies),
                None => invalid(),
            },
            Err(error) => Err(error),
        }
    }

    fn is_wanted(&self, name: &[u8]) -> bool {
        let ends_in = |pattern: &Vec<u8>| match name.strip_suffix(&pattern[..]) {
            Some(front) => front.is_empty() || front.ends_with(b"/"),
            None => false,
        };
        self.options.patterns.is_empty() || self.options.patterns.iter().any(ends_in)
    }

    /// Appends a ref of a walk. Returns what git dies of.
    fn show_item(&mut self, item: Item<'_>, text: &mut Vec<u8>, interrupt: Interrupt<'_>) -> Result<Option<Vec<u8>>> {
        match item.broken() {
            None | Some(Broken::Duplicate) => {}
            // Well-formed, but outside refs/: nothing to git.
            Some(Broken::Name(Fault::UnsafeName)) if is_well_formed(item.name()) => {
                if !self.is_wanted(item.name()) {
                    return Ok(None);
                }
            }
            Some(Broken::Name(Fault::UnsafeName)) => {
                let whose: &[u8] = match item {
                    Item::Packed(..) => b"packed ",
                    Item::Loose(..) => b"loose ",
                    Item::Table(..) => b"",
                };
                return Ok(Some([whose, b"refname is dangerous: ", item.name()].concat()));
            }
            // It leads nowhere.
            Some(Broken::BadTarget) => return Ok(None),
            Some(_) => return Ok(Some(bad(item.name(), &b"0".repeat(self.hex_len())))),
        }
        let peels = !matches!(item, Item::Table(..));
        let Value::Symref(target) = item.value() else { return Ok(self.show(item.name(), item, peels, text)) };
        match self.lookup.resolve_target(target, interrupt) {
            Ok(entry) if !peels => Ok(self.show_oid(item.name(), entry.item().value(), text)),
            Ok(entry) => Ok(self.show(item.name(), entry.item(), true, text)),
            Err(Error::NoRef(_) | Error::Corrupt { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn hex_len(&self) -> usize {
        self.lookup.repository().map_or(40, |repository| repository.location.hash().hex_len())
    }

    /// Appends the line of a ref that leads to an object. Returns what git dies of.
    #[inline]
    fn show_oid(&mut self, name: &[u8], value: Value<'_>, text: &mut Vec<u8>) -> Option<Vec<u8>> {
        let objects = &self.objects;
        if !self.known.holds(value, || oid_of(value).is_some_and(|oid| objects.has(&oid))) {
            let mut hex = Vec::new();
            write_hex(&mut hex, value);
            return Some(bad(name, &hex));
        }
        self.found = self.found.saturating_add(1);
        if !self.options.quiet {
            self.line(value, name, b"", self.options.hash_only, text);
        }
        None
    }

    /// The same, and what it peels to; `peels` if the object database is asked where `item` does not say.
    #[inline]
    fn show(&mut self, name: &[u8], item: Item<'_>, peels: bool, text: &mut Vec<u8>) -> Option<Vec<u8>> {
        let value = item.value();
        if let Some(message) = self.show_oid(name, value, text) {
            return Some(message);
        }
        if self.options.dereference && !self.options.quiet {
            match item.peeled() {
                Peeled::To(peeled) => self.line(peeled, name, b"^{}", false, text),
                Peeled::Unknown if peels => {
                    let peeled = oid_of(value).and_then(|oid| self.objects.peel(&oid));
                    if let Some(peeled) = peeled {
                        self.line(Value::Raw(peeled.as_raw()), name, b"^{}", false, text);
                    }
                }
                Peeled::Nowhere | Peeled::Unknown => {}
            }
        }
        None
    }

    #[inline]
    fn line(&self, value: Value<'_>, name: &[u8], suffix: &[u8], hash_only: bool, text: &mut Vec<u8>) {
        match self.options.abbrev.and_then(|digits| Some((digits, oid_of(value)?))) {
            Some((digits, oid)) => text.extend_from_slice(self.objects.abbreviate(&oid, digits).as_bytes()),
            None => write_hex(text, value),
        }
        if !hash_only {
            text.push(b' ');
            text.extend_from_slice(name);
            text.extend_from_slice(suffix);
        }
        text.push(b'\n');
    }
}

fn oid_of(value: Value<'_>) -> Option<Oid> {
    match value.to_owned() {
        Some(RefValue::Oid(oid)) => Some(oid),
        _ => None,
    }
}

fn bad(name: &[u8], hex: &[u8]) -> Vec<u8> {
    [b"git show-ref: bad ref ", name, b" (", hex, b")"].concat()
}
