//! Files of ours that others see: locks, and what is written aside to be renamed. None stays behind.
//!
//! A lock is a file that its holder alone could create. Git creates each anew; where a lock is neither written nor renamed,
//! another name for one that we hold already does as well, and takes a fraction of the time: no inode is made.

use std::fs::{File, OpenOptions, hard_link, remove_file, rename};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::time::SystemTime;

use super::Sharing;
use super::fault::{Call, enter};

/// Names that one inode is given at the most; ext4 allows 65,000.
const MOST_LINKS: u32 = 60_000;

/// A file that is removed when this is dropped, unless it has been renamed. A process that was forked meanwhile removes
/// nothing: the file is its parent's.
#[derive(Debug)]
pub struct Temporary {
    /// `None` once it is gone.
    path: Option<PathBuf>,
    process: u32,
}

impl Temporary {
    /// Creates the file, which nobody else may have done.
    ///
    /// # Errors
    /// What the system says: "exists already" if somebody has.
    pub fn create(path: &Path, sharing: Sharing) -> io::Result<(Self, File)> {
        enter(Call::Create, path)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o666);
        let file = options.open(path)?;
        let temporary = Self::of(path);
        sharing.share_file(&file, path)?;
        Ok((temporary, file))
    }

    fn of(path: &Path) -> Self {
        Self { path: Some(path.to_owned()), process: process::id() }
    }

    /// Where it is; an empty path once it is gone.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(""))
    }

    /// Puts it in the place of another file, at once for all who look.
    ///
    /// # Errors
    /// What the system says; the file is still ours then.
    pub fn rename(&mut self, to: &Path) -> io::Result<()> {
        enter(Call::Rename, to)?;
        rename(self.path(), to)?;
        self.path = None;
        Ok(())
    }

    /// Removes it. (Dropping it does so too, and says nothing of a failure.)
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(mut self) -> io::Result<()> {
        self.try_remove()
    }

    fn try_remove(&mut self) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        if self.process == process::id() {
            remove(path)?;
        }
        self.path = None;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Once more: a file that stays is in everybody's way, and there is nobody left to tell.
        if self.try_remove().is_err() {
            let _ = self.try_remove();
        }
    }
}

/// Removes a file; that it is gone already is no failure.
///
/// # Errors
/// What the system says.
pub fn remove(path: &Path) -> io::Result<()> {
    enter(Call::Remove, path)?;
    match remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Writes all of it, however little the system takes at a time.
pub(super) fn write_all(mut file: &File, bytes: &[u8], path: &Path) -> io::Result<()> {
    enter(Call::Write, path)?;
    file.write_all(bytes)
}

/// Sets the time at which an open file was changed last.
///
/// # Errors
/// What the system says.
pub fn set_modified(file: &File, time: SystemTime, path: &Path) -> io::Result<()> {
    enter(Call::Touch, path)?;
    file.set_modified(time)
}

/// Makes locks.
#[derive(Debug)]
pub struct Locker {
    sharing: Sharing,
    /// An empty lock that was made, and how many names it has.
    base: Option<(PathBuf, u32)>,
}

impl Locker {
    /// Makes locks with this mode.
    #[must_use]
    pub fn new(sharing: Sharing) -> Self {
        Self { sharing, base: None }
    }

    /// A lock that is never written or renamed.
    ///
    /// # Errors
    /// As [`Temporary::create`].
    pub fn mark(&mut self, path: &Path) -> io::Result<Temporary> {
        if let Some((base, links)) = self.base.as_mut().filter(|(_, links)| *links < MOST_LINKS) {
            enter(Call::Link, path)?;
            match hard_link(base, path) {
                Ok(()) => {
                    *links += 1;
                    return Ok(Temporary::of(path));
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(error),
                // No more links, or none at all on this file system; or the base is gone.
                Err(_) => {}
            }
        }
        let (lock, _) = Temporary::create(path, self.sharing)?;
        self.base = Some((path.to_owned(), 1));
        Ok(lock)
    }

    /// A lock that holds what is to take the place of the file that it locks.
    ///
    /// # Errors
    /// As [`Temporary::create`], and what the system says of writing.
    pub fn fill(&self, path: &Path, content: &[u8], sync: bool) -> io::Result<Temporary> {
        let (lock, file) = Temporary::create(path, self.sharing)?;
        write_all(&file, content, path)?;
        if sync {
            super::sync_file(&file, path)?;
        }
        Ok(lock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_file_is_gone_unless_it_was_renamed() {
        let dir = tempfile::tempdir().unwrap();
        let (lock, there) = (dir.path().join("a.lock"), dir.path().join("a"));
        drop(Temporary::create(&lock, Sharing::Umask).unwrap());
        assert!(!lock.exists());
        let mut filled = Locker::new(Sharing::Umask).fill(&lock, b"x", false).unwrap();
        filled.rename(&there).unwrap();
        drop(filled);
        assert_eq!((lock.exists(), std::fs::read(&there).unwrap()), (false, b"x".to_vec()));
    }

    #[test]
    fn what_somebody_else_holds_is_neither_taken_nor_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.lock");
        std::fs::write(&path, "theirs").unwrap();
        let mut locker = Locker::new(Sharing::Umask);
        let first = locker.mark(&dir.path().join("b.lock")).unwrap();
        for _ in 0..2 {
            assert_eq!(locker.mark(&path).unwrap_err().kind(), ErrorKind::AlreadyExists);
            assert_eq!(locker.fill(&path, b"x", false).unwrap_err().kind(), ErrorKind::AlreadyExists);
        }
        drop(first);
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
    }

    #[test]
    fn marks_outlive_the_one_that_they_were_linked_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let mut locker = Locker::new(Sharing::Umask);
        let locks: Vec<_> = ["a", "b"].iter().map(|name| locker.mark(&path(name)).unwrap()).collect();
        drop(locks);
        let later = locker.mark(&path("c")).unwrap();
        assert!(path("c").exists() && !path("a").exists() && !path("b").exists());
        drop(later);
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    }
}
