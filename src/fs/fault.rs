//! The door that calls to the system go through on their way to change something: a test may let one fail there, or end
//! the process.

use std::io;
use std::path::Path;
use std::sync::OnceLock;

/// A kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Makes a file that was not there.
    Create,
    /// Gives a file another name.
    Link,
    /// Makes a directory.
    MakeDir,
    /// Sets the mode of a file or directory.
    Chmod,
    /// Reads from an open file.
    Read,
    /// Writes into an open file.
    Write,
    /// Sets the time of an open file.
    Touch,
    /// Has the system write a file or directory to disk.
    Sync,
    /// Renames a file.
    Rename,
    /// Removes a file.
    Remove,
    /// Removes a directory.
    RemoveDir,
}

/// Is asked before each call; its error is the call's.
pub type Hook = fn(Call, &Path) -> io::Result<()>;

static HOOK: OnceLock<Hook> = OnceLock::new();

/// Has a hook asked from now on. For tests: the first one stays as long as the process.
#[doc(hidden)]
pub fn watch(hook: Hook) {
    let _ = HOOK.set(hook);
}

/// To be called before each call.
#[inline]
pub(super) fn enter(call: Call, path: &Path) -> io::Result<()> {
    HOOK.get().map_or(Ok(()), |hook| hook(call, path))
}
