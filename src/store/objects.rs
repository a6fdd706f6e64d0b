//! What only the object database knows: whether an object exists, and what a tag points at.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use gix_hash::ObjectId;
use gix_object::{Exists, Find, FindHeader, Kind, TagRef, TagRefIter};
use gix_odb::store::init::{Options, Slots};

use crate::fs::{There, look_through};
use crate::model::{Error, HashKind, Oid, Result};
use crate::packed::Peel;

/// Bytes of the largest object that is read: a tag is a page of text.
const LARGEST: usize = 64 << 20;
/// Tags of tags that are followed. Git has no limit, but a database that is damaged may go round.
const DEEPEST: usize = 1 << 10;

/// The object database, opened when it is first asked.
pub struct Objects {
    dir: PathBuf,
    hash: HashKind,
    store: OnceLock<Arc<gix_odb::Store>>,
}

/// A way to ask it, for one thread.
pub struct Asker {
    handle: gix_odb::HandleArc,
    buffer: Vec<u8>,
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects").field("dir", &self.dir).field("hash", &self.hash).finish_non_exhaustive()
    }
}

impl Objects {
    /// The database in that directory.
    #[must_use]
    pub fn new(dir: &Path, hash: HashKind) -> Self {
        Self { dir: dir.to_owned(), hash, store: OnceLock::new() }
    }

    /// A new way to ask it.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it cannot be opened: what it has cannot be told from what it has not.
    pub fn asker(&self) -> Result<Asker> {
        if let Some(store) = self.store.get() {
            return Ok(Asker { handle: store.to_cache_arc(), buffer: Vec::new() });
        }
        self.dir.metadata().map_err(|source| Error::Io { path: self.dir.clone(), source })?;
        let alternates = self.dir.join("info/alternates");
        let corrupt = |reason: String| Error::Corrupt { path: alternates.clone(), offset: 0, line: None, reason };
        match look_through(&alternates, &mut Vec::new()) {
            Ok(There::File | There::Nothing) => {}
            // What is no file could make its reader wait for ever.
            Ok(_) => return Err(corrupt("not a file".to_owned())),
            Err(source) => return Err(Error::Io { path: alternates, source }),
        }
        let kind = match self.hash {
            HashKind::Sha1 => gix_hash::Kind::Sha1,
            HashKind::Sha256 => gix_hash::Kind::Sha256,
        };
        // Room for packs that come later: a slot is a pointer.
        let slots = Slots::AsNeededByDiskState { multiplier: 2.0, minimum: 256 };
        let options = Options { slots, alloc_limit_bytes: Some(LARGEST), ..Options::default() };
        let store = gix_odb::Store::at_opts(self.dir.clone(), kind, &mut std::iter::empty(), options);
        let store = store.map_err(|error| corrupt(format!("the object database cannot be opened: {error}")))?;
        let store = self.store.get_or_init(|| Arc::new(store));
        Ok(Asker { handle: store.to_cache_arc(), buffer: Vec::new() })
    }
}

impl Asker {
    /// Whether there is such an object.
    #[must_use]
    pub fn has(&self, oid: &Oid) -> bool {
        self.handle.exists(&id(oid))
    }

    /// What an object points at in the end, if it is an annotated tag and that can be told.
    pub fn peel(&mut self, oid: &Oid) -> Option<Oid> {
        let chain = self.chain(oid);
        let (last, tags) = chain.split_last()?;
        if tags.is_empty() || self.is_tag(last) { None } else { Some(*last) }
    }

    /// What an object points at in the end, as far as that may be stored: only of a tag that tells the type of its target
    /// right, as every tag below it must.
    pub(super) fn peel_to_store(&mut self, oid: &Oid) -> Peel {
        let (mut at, mut kind) = (*oid, self.kind(oid));
        for _ in 0..DEEPEST {
            match kind {
                None => return Peel::Unknown,
                Some(Kind::Tag) => {}
                Some(_) if at == *oid => return Peel::NoTag,
                Some(_) => return Peel::To(at),
            }
            let Some((target, claimed)) = self.target_as_claimed(&at) else { return Peel::NoTag };
            (at, kind) = (target, self.kind(&target));
            if kind.is_some_and(|kind| kind != claimed) {
                return Peel::NoTag;
            }
        }
        Peel::NoTag
    }

    /// Whether an object of that type can be read as one.
    pub(super) fn is_sound(&mut self, oid: &Oid, kind: Option<Kind>) -> bool {
        // Of what may be large, and has no form, it must do that it is there.
        if kind == Some(Kind::Blob) {
            return true;
        }
        let data = self.handle.try_find(&id(oid), &mut self.buffer);
        data.is_ok_and(|data| data.is_some_and(|data| data.decode().is_ok()))
    }

    /// The type of an object; `None` if it cannot be read.
    pub(super) fn kind(&self, oid: &Oid) -> Option<Kind> {
        self.handle.try_header(&id(oid)).ok().flatten().map(|header| header.kind)
    }

    fn target_as_claimed(&mut self, tag: &Oid) -> Option<(Oid, Kind)> {
        let data = self.handle.try_find(&id(tag), &mut self.buffer).ok()??;
        let tag = TagRef::from_bytes(data.data, data.object_hash).ok()?;
        Some((Oid::from_raw(tag.target().as_bytes())?, tag.target_kind))
    }

    /// What an object points at, tag after tag: itself, unless it is no tag or cannot be read, is not in it.
    pub fn chain(&mut self, oid: &Oid) -> Vec<Oid> {
        let mut chain = vec![*oid];
        let mut at = *oid;
        while chain.len() < DEEPEST && self.is_tag(&at) {
            let Some(next) = self.target(&at) else { break };
            chain.push(next);
            at = next;
        }
        chain
    }

    fn is_tag(&self, oid: &Oid) -> bool {
        self.kind(oid) == Some(Kind::Tag)
    }

    fn target(&mut self, tag: &Oid) -> Option<Oid> {
        let data = self.handle.try_find(&id(tag), &mut self.buffer).ok()??;
        let target = TagRefIter::from_bytes(data.data, data.object_hash).target_id().ok()?;
        Oid::from_raw(target.as_bytes())
    }

    /// The shortest unambiguous start of an id, of that many digits at least, or as many as the configuration says or git takes by itself.
    #[must_use]
    pub fn abbreviate(&self, oid: &Oid, digits: Option<usize>) -> String {
        let hex = oid.to_hex();
        let handle = &self.handle;
        let digits = digits.unwrap_or_else(|| usual_digits(handle.packed_object_count().unwrap_or_default()));
        if digits >= hex.len() {
            return hex;
        }
        let candidate = gix_odb::store::prefix::disambiguate::Candidate::new(id(oid), digits).ok();
        let prefix = candidate.and_then(|candidate| handle.disambiguate_prefix(candidate).ok()?);
        let digits = prefix.map_or(digits, |prefix| prefix.hex_len());
        hex.get(..digits).unwrap_or(&hex).to_owned()
    }
}

/// Git's guess at how many digits tell so many objects apart.
fn usual_digits(objects: u64) -> usize {
    let bits = u64::BITS - objects.leading_zeros();
    usize::try_from(bits.div_ceil(2)).unwrap_or_default().max(7)
}

fn id(oid: &Oid) -> ObjectId {
    ObjectId::from_bytes_or_panic(oid.as_raw())
}
