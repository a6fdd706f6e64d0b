//! Listing a directory while other programs change it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::FileType;
use std::io;
use std::path::Path;

use super::Identity;
use super::small::is_nothing;

/// How often a directory is listed that does not come to rest.
const TRIES: usize = 3;

/// The names in a directory and what each is, links not followed; none if there is no directory.
///
/// A file that is replaced during a listing may be missing from it on some file systems: its new entry comes to stand
/// where the listing was already. So a directory that has changed meanwhile is listed again, and the lists are united.
///
/// # Errors
/// What the system says.
pub fn list(dir: &Path) -> io::Result<BTreeMap<OsString, FileType>> {
    let mut names = BTreeMap::new();
    let mut before = Identity::at(dir)?;
    for _ in 0..TRIES {
        let entries = match dir.read_dir() {
            Ok(entries) => entries,
            Err(error) if is_nothing(&error) => break,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            match entry.file_type() {
                Ok(kind) => drop(names.insert(entry.file_name(), kind)),
                Err(error) if is_nothing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let after = Identity::at(dir)?;
        if after == before {
            break;
        }
        before = after;
    }
    Ok(names)
}
