//! Which directories there are, for who asks of many in order of name.
//!
//! Where most refs are packed most directories do not exist. Then one look at the directory above, which is all but empty,
//! answers for all that would lie in it.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Names of a directory that are read; one with more is asked anew each time.
const FEW: usize = 64;

/// What was seen last.
#[derive(Debug, Default)]
pub(super) struct Folders {
    last: PathBuf,
    is_there: bool,
    above: PathBuf,
    /// The names in the directory above; `None` if those are many.
    names: Option<HashSet<OsString>>,
}

impl Folders {
    /// Whether there was such a directory a moment ago.
    pub(super) fn has(&mut self, dir: &Path) -> bool {
        // As bytes: taking paths apart to compare them would take as long as asking.
        if self.last.as_os_str() == dir.as_os_str() {
            return self.is_there;
        }
        if let Some(above) = dir.parent()
            && self.above.as_os_str() != above.as_os_str()
        {
            (self.above, self.names) = (above.to_owned(), few_names(above));
        }
        let may_be_there = match (&self.names, dir.file_name()) {
            (Some(names), Some(name)) => names.contains(name),
            _ => true,
        };
        self.last.clear();
        self.last.push(dir);
        self.is_there = may_be_there && dir.is_dir();
        self.is_there
    }

    /// Takes note that a directory was made.
    pub(super) fn made(&mut self, dir: &Path) {
        if self.last.as_os_str() == dir.as_os_str() {
            self.is_there = true;
        }
    }
}

fn few_names(dir: &Path) -> Option<HashSet<OsString>> {
    let entries = match dir.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Some(HashSet::new()),
        Err(_) => return None,
    };
    let mut names = HashSet::new();
    for entry in entries {
        if names.len() == FEW {
            return None;
        }
        names.insert(entry.ok()?.file_name());
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_known_however_many_there_are() {
        for count in [0, 1, FEW, FEW + 1] {
            let base = tempfile::tempdir().unwrap();
            for number in 0..count {
                std::fs::create_dir(base.path().join(format!("d{number}"))).unwrap();
            }
            std::fs::write(base.path().join("file"), "").unwrap();
            let mut folders = Folders::default();
            for _ in 0..2 {
                for number in 0..count + 2 {
                    assert_eq!(folders.has(&base.path().join(format!("d{number}"))), number < count);
                }
                assert!(!folders.has(&base.path().join("file")));
                assert!(!folders.has(&base.path().join("nowhere/x")));
            }
            let made = base.path().join("new");
            assert!(!folders.has(&made));
            folders.made(&made);
            assert!(folders.has(&made));
        }
    }
}
