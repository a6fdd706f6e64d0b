//! A change of one ref, and what must be true for it to be made.

use super::Oid;

/// What git calls a change of a ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Set a ref that must not exist.
    Create,
    /// Set a ref, whether it exists or not.
    Update,
    /// Remove a ref.
    Delete,
    /// Change nothing, but look at it.
    Verify,
}

impl Verb {
    /// Every verb.
    pub const ALL: [Self; 4] = [Self::Create, Self::Update, Self::Delete, Self::Verify];

    /// The word of `git update-ref --stdin`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Verify => "verify",
        }
    }
}

/// What a ref must hold for a change to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expected {
    /// Anything, or nothing.
    Any,
    /// Nothing: it must not exist.
    Absent,
    /// This object id.
    Oid(Oid),
}

/// A change of one ref.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Edit {
    /// What is done.
    pub verb: Verb,
    /// The full name.
    pub name: Vec<u8>,
    /// The object id that it is set to; `None` where it is not set.
    pub new: Option<Oid>,
    /// What it must hold before.
    pub old: Expected,
}
