//! Refs that can be read but not used. Never dropped, never changed.

use super::Fault;

/// Why a record cannot be used as a ref, though it can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// Its name stands in more than one record.
    Duplicate,
    /// Its name breaks a rule.
    Name(Fault),
    /// Its object id is all zeros.
    ZeroOid,
    /// It is a symbolic ref, to something that cannot be a refname.
    BadTarget,
    /// Its file holds neither an object id nor a symbolic ref.
    BadContent,
    /// In its place there is a socket, a device or a FIFO.
    NotAFile,
    /// In its place there is a symbolic link that leads back to where it came from.
    SymlinkLoop,
}

impl Broken {
    /// The word for it in Python.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::Name(Fault::BadName) => "bad name",
            Self::Name(Fault::UnsafeName) => "unsafe name",
            Self::ZeroOid => "zero oid",
            Self::BadTarget => "bad target",
            Self::BadContent => "bad content",
            Self::NotAFile => "not a file",
            Self::SymlinkLoop => "symlink loop",
        }
    }
}
