//! Directories that come and go with the files in them.

use std::fs::{create_dir, remove_dir};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::fault::{Call, enter};
use super::{Sharing, list};

/// Makes a directory, and those that it lies in.
///
/// # Errors
/// What the system says; "not a directory" if a file is in the way.
pub fn make_dirs(dir: &Path, sharing: Sharing) -> io::Result<()> {
    let mut missing = Vec::new();
    let mut at = dir;
    loop {
        match make_dir(at, sharing) {
            Ok(()) => break,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                missing.push(at);
                at = at.parent().ok_or(error)?;
            }
            Err(error) => return Err(error),
        }
    }
    // Others may remove an empty one meanwhile: then it is for the caller to start again.
    missing.into_iter().rev().try_for_each(|dir| make_dir(dir, sharing))
}

fn make_dir(dir: &Path, sharing: Sharing) -> io::Result<()> {
    enter(Call::MakeDir, dir)?;
    match create_dir(dir) {
        Ok(()) => sharing.share_dir(dir),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if dir.is_dir() {
                return Ok(());
            }
            // Another one may have removed it since; then no file is in the way.
            match dir.symlink_metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound => Err(error),
                Ok(there) if there.is_dir() => Ok(()),
                _ => Err(ErrorKind::NotADirectory.into()),
            }
        }
        Err(error) => Err(error),
    }
}

/// Removes a directory that holds nothing but empty directories, and says whether it is gone. What lies beside a file stays.
///
/// # Errors
/// What the system says.
pub fn remove_empty_tree(dir: &Path) -> io::Result<bool> {
    // Not by recursion: paths can be two thousand levels deep.
    let mut dirs = vec![dir.to_owned()];
    let mut at = 0;
    while let Some(dir) = dirs.get(at).cloned() {
        dirs.extend(list(&dir)?.into_iter().filter(|(_, kind)| kind.is_dir()).map(|(name, _)| dir.join(name)));
        at += 1;
    }
    // Those that lie deeper were found later.
    let mut is_gone = false;
    for dir in dirs.iter().rev() {
        is_gone = remove_if_empty(dir)?;
    }
    Ok(is_gone)
}

/// Removes a directory if it is empty, and says whether it is gone.
///
/// # Errors
/// What the system says.
pub fn remove_if_empty(dir: &Path) -> io::Result<bool> {
    enter(Call::RemoveDir, dir)?;
    match remove_dir(dir) {
        Ok(()) => Ok(true),
        Err(error) => match error.kind() {
            // Gone, or never made: there can be none of that name.
            ErrorKind::NotFound | ErrorKind::InvalidFilename => Ok(true),
            // The third is what POSIX allows for the first, too.
            ErrorKind::DirectoryNotEmpty
            | ErrorKind::NotADirectory
            | ErrorKind::AlreadyExists
            | ErrorKind::ResourceBusy => Ok(false),
            _ => Err(error),
        },
    }
}

/// A file somewhere below a directory.
///
/// # Errors
/// What the system says.
pub fn first_file(dir: &Path) -> io::Result<Option<PathBuf>> {
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for (name, kind) in list(&dir)? {
            let path = dir.join(name);
            if !kind.is_dir() {
                return Ok(Some(path));
            }
            dirs.push(path);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_made_where_they_are_missing_and_no_file_is_in_the_way() {
        let base = tempfile::tempdir().unwrap();
        let deep = base.path().join("a/b/c");
        for _ in 0..2 {
            make_dirs(&deep, Sharing::Umask).unwrap();
            assert!(deep.is_dir());
        }
        std::fs::write(base.path().join("file"), "").unwrap();
        for path in ["file", "file/x", "file/x/y"] {
            let error = make_dirs(&base.path().join(path), Sharing::Umask).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotADirectory, "{path}");
        }
    }

    #[test]
    fn a_directory_that_is_removed_meanwhile_is_no_file_in_the_way() {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path().join("d");
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let failures: Vec<_> = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    remove_if_empty(&dir).unwrap();
                }
            });
            let made = (0..20_000).map(|_| make_dir(&dir, Sharing::Umask));
            let failures = made.filter_map(Result::err).map(|error| error.kind()).collect();
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            failures
        });
        assert!(failures.iter().all(|kind| *kind == ErrorKind::NotFound), "{failures:?}");
        // A link that leads nowhere stays in the way.
        std::os::unix::fs::symlink("nowhere", base.path().join("link")).unwrap();
        let error = make_dir(&base.path().join("link"), Sharing::Umask).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotADirectory);
    }

    #[test]
    fn only_empty_directories_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        std::fs::create_dir_all(path("a/b/c")).unwrap();
        std::fs::create_dir_all(path("a/d")).unwrap();
        std::fs::write(path("a/d/file"), "").unwrap();
        assert!(!remove_empty_tree(&path("a")).unwrap());
        assert_eq!(first_file(&path("a")).unwrap(), Some(path("a/d/file")));
        assert!(!path("a/b").exists(), "it was empty");
        std::fs::remove_file(path("a/d/file")).unwrap();
        assert_eq!(first_file(&path("a")).unwrap(), None);
        assert!(remove_empty_tree(&path("a")).unwrap());
        assert!(remove_empty_tree(&path("a")).unwrap(), "it is gone already");
    }
}
