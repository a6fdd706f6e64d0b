//! Having the system write to disk what it holds in memory.

use std::fs::File;
use std::io;
use std::path::Path;

use super::fault::{Call, enter};

/// Returns when the content of a file is on disk.
///
/// # Errors
/// What the system says.
pub fn sync_file(file: &File, path: &Path) -> io::Result<()> {
    enter(Call::Sync, path)?;
    file.sync_all()
}

/// Returns when the names in a directory are on disk.
///
/// # Errors
/// What the system says.
#[cfg(unix)]
pub fn sync_dir(path: &Path) -> io::Result<()> {
    sync_file(&File::open(path)?, path)
}

/// The system does that by itself.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn sync_dir(_: &Path) -> io::Result<()> {
    Ok(())
}
