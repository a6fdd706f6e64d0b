//! The packed-refs file under its lock, and the one that takes its place.
//!
//! ```text
//! packed-refs.lock      held by who may replace the file; empty
//! packed-refs.new       written aside, then renamed
//! packed-refs.refspan   the same, of a batch that is packed: old values that were loose so far; takes the file's place before
//! ```
//!
//! All stand beside the file that a symbolic link `packed-refs` leads to. The file is opened anew under the lock. Its
//! successor's time is a whole second later at least: that is all that a running git compares, besides size and inode.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use super::loose::{held, lock_path};
use crate::fs::{self, Locker, Patience, Sharing, Temporary, Unspliced, is_nothing, splice, sync_dir, sync_file};
use crate::model::{Error, HashKind, Interrupt, Result};
use crate::packed::{Base, Flaw, Plan, Stop, Unread};

/// Links that git follows from `packed-refs` to the file.
const MOST_LINKS: usize = 5;
/// Bytes of a file that takes long to be forgotten.
const LARGE: u64 = 1 << 20;

/// The packed-refs file of a repository, for who wants to replace it.
#[derive(Debug)]
pub(super) struct PackedRefs {
    /// What links lead to.
    path: PathBuf,
    sharing: Sharing,
    /// The file as it was opened, if it is large.
    old: Option<File>,
    /// Dropped in this order: new files go before the lock.
    old_values: Option<Temporary>,
    staged: Option<Temporary>,
    lock: Option<Temporary>,
    replaced: Option<Replaced>,
}

/// A large file that has no name any more. Whoever closes it frees its memory page by page, which takes as long as all the
/// rest, and holds up who removes files meanwhile. So it is closed last, and by a thread that nobody has to wait for.
#[derive(Debug)]
struct Replaced(Option<File>);

impl Drop for Replaced {
    fn drop(&mut self) {
        let file = self.0.take();
        // Without a thread it is closed right here.
        let _ = thread::Builder::new().spawn(|| drop(file));
    }
}

impl PackedRefs {
    /// The file below a directory, which is not locked yet.
    pub(super) fn below(dir: &Path, sharing: Sharing) -> Self {
        Self {
            path: resolve(dir.join("packed-refs")),
            sharing,
            old: None,
            old_values: None,
            staged: None,
            lock: None,
            replaced: None,
        }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the lock.
    ///
    /// # Errors
    /// [`Error::Locked`] if somebody else holds it, or a new file of theirs stands there; [`Error::Io`]; an interrupt.
    pub(super) fn lock(&mut self, patience: Patience, interrupt: Interrupt<'_>) -> Result<()> {
        let path = lock_path(&self.path);
        let mut locker = Locker::new(self.sharing);
        let lock = patience.try_for(interrupt, || locker.mark(&path));
        self.lock = Some(lock.map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => held(&path),
            ErrorKind::Interrupted => Error::Interrupted,
            _ => Error::Io { path: path.clone(), source },
        })?);
        Ok(())
    }

    /// Whether the lock is held.
    pub(super) fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// The lock file, whether it is held or not.
    pub(super) fn lock_path(&self) -> PathBuf {
        lock_path(&self.path)
    }

    /// The file as it is now, and the time of its last change.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Corrupt`], an interrupt.
    pub(super) fn open(&mut self, hash: HashKind, interrupt: Interrupt<'_>) -> Result<(Base, Option<SystemTime>)> {
        let path = self.path.clone();
        let failed = |source| Error::Io { path: path.clone(), source };
        let (file, meta) = match fs::open(&self.path) {
            Ok(opened) => opened,
            Err(error) if is_nothing(&error) => return Ok((Base::empty(hash), None)),
            Err(error) => return Err(failed(error)),
        };
        self.old = file.try_clone().ok().filter(|_| meta.len() > LARGE);
        let len = usize::try_from(meta.len()).map_err(|_| failed(ErrorKind::FileTooLarge.into()))?;
        let base = Base::new(Box::new(file), len, hash, interrupt).map_err(|unread| self.unread(unread))?;
        Ok((base, Some(meta.modified().map_err(failed)?)))
    }

    /// Why the file could not be read.
    pub(super) fn unread(&self, unread: Unread) -> Error {
        match unread {
            Unread::Stop(stop) => stop.in_file(self.path.clone()),
            Unread::Io(source) => self.not_read(source),
        }
    }

    fn not_read(&self, source: std::io::Error) -> Error {
        let path = self.path.clone();
        if source.kind() == ErrorKind::UnexpectedEof {
            let reason = "the file became shorter while it was read".to_owned();
            return Error::Corrupt { path, offset: 0, line: None, reason };
        }
        Error::Io { path, source }
    }

    /// What went wrong while the file, or a part of it, was checked, or written `into` another one.
    pub(super) fn unspliced(
        &self,
        base: &Base,
        into: &Path,
        unspliced: Unspliced<Flaw>,
        origin: impl Fn(usize) -> usize,
    ) -> Error {
        match unspliced {
            Unspliced::Read(source) => self.not_read(source),
            Unspliced::Write(source) => Error::Io { path: into.to_owned(), source },
            Unspliced::Flaw(Flaw { offset, reason }) => base.damage(origin(offset), reason).in_file(self.path.clone()),
            Unspliced::Interrupted => Stop::Interrupted.in_file(self.path.clone()),
        }
    }

    /// Writes the new file, at a later time than another one.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for damage in what is kept, a name that stands in several records among it; [`Error::Locked`] if
    /// there is a new file already; [`Error::Io`]; an interrupt.
    pub(super) fn stage(
        &mut self,
        base: &Base,
        plan: &Plan,
        than: Option<SystemTime>,
        sync: bool,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        let path = beside(&self.path, ".new");
        let (staged, _) = self.write(&path, base, plan, than, sync, interrupt)?;
        self.staged = Some(staged);
        Ok(())
    }

    /// Writes the file that comes before the new one; returns its time.
    ///
    /// # Errors
    /// As [`Self::stage`].
    pub(super) fn stage_old_values(
        &mut self,
        base: &Base,
        plan: &Plan,
        than: Option<SystemTime>,
        sync: bool,
        interrupt: Interrupt<'_>,
    ) -> Result<SystemTime> {
        let path = beside(&self.path, ".refspan");
        // Under the lock nobody makes one but us: it is what is left of a process that was killed.
        fs::remove(&path).map_err(|source| Error::Io { path: path.clone(), source })?;
        let (staged, time) = self.write(&path, base, plan, than, sync, interrupt)?;
        self.old_values = Some(staged);
        Ok(time)
    }

    fn write(
        &self,
        path: &Path,
        base: &Base,
        plan: &Plan,
        than: Option<SystemTime>,
        sync: bool,
        interrupt: Interrupt<'_>,
    ) -> Result<(Temporary, SystemTime)> {
        let failed = |source: std::io::Error| match source.kind() {
            // Left behind by somebody who was stopped: only they could say whether it may go.
            ErrorKind::AlreadyExists => held(path),
            _ => Error::Io { path: path.to_owned(), source },
        };
        let (staged, file) = Temporary::create(path, self.sharing).map_err(failed)?;
        splice(base, plan.steps(), &mut plan.checker(base), Some((&file, path)), interrupt)
            .map_err(|unspliced| self.unspliced(base, path, unspliced, |offset| plan.origin(offset)))?;
        if let Some(than) = than {
            make_later(&file, than, path).map_err(failed)?;
        }
        let time = file.metadata().and_then(|meta| meta.modified()).map_err(failed)?;
        if sync {
            sync_file(&file, path).map_err(failed)?;
        }
        Ok((staged, time))
    }

    /// Puts the file with old values, if there is one, in the place of the old one.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(super) fn publish_old_values(&mut self, sync: bool) -> Result<()> {
        let staged = self.old_values.take();
        self.rename(staged, sync)
    }

    /// Puts the new file in the place of the old one.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(super) fn publish(&mut self, sync: bool) -> Result<()> {
        let staged = self.staged.take();
        self.rename(staged, sync)
    }

    fn rename(&mut self, staged: Option<Temporary>, sync: bool) -> Result<()> {
        let Some(mut staged) = staged else { return Ok(()) };
        let failed = |source| Error::Io { path: self.path.clone(), source };
        staged.rename(&self.path).map_err(failed)?;
        self.replaced = self.replaced.take().or_else(|| self.old.take().map(|old| Replaced(Some(old))));
        if sync && let Some(dir) = self.path.parent() {
            sync_dir(dir).map_err(failed)?;
        }
        Ok(())
    }
}

/// A file beside another one.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Where symbolic links lead to, as far as git follows them.
fn resolve(mut path: PathBuf) -> PathBuf {
    for _ in 0..MOST_LINKS {
        let Ok(target) = path.read_link() else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

/// Gives a file a time that is at least one whole second after another one.
fn make_later(file: &File, than: SystemTime, path: &Path) -> std::io::Result<()> {
    let seconds = |time: SystemTime| match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i128::from(since.as_secs()),
        Err(before) => -i128::from(before.duration().as_secs()),
    };
    if seconds(file.metadata()?.modified()?) > seconds(than) {
        return Ok(());
    }
    match than.checked_add(Duration::from_secs(1)) {
        Some(later) => fs::set_modified(file, later, path),
        // There is no later time. It differs, at least.
        None => Ok(()),
    }
}
