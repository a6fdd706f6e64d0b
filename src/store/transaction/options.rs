//! What a transaction may be told.

use crate::fs::Patience;

/// Where new values go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Where git puts them: into files of their own.
    Loose,
    /// Into packed-refs, in one rewrite.
    Packed,
}

/// What is on disk when a commit returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// What `core.fsync` says: by default nothing that git would wait for.
    Git,
    /// Everything, and in an order that leaves old or new values after a loss of power.
    Full,
    /// Nothing is waited for.
    Nothing,
}

/// What a transaction was told.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Where new values go.
    pub placement: Placement,
    /// What is on disk afterwards.
    pub durability: Durability,
    /// How long each lock is waited for; `None` for what the configuration says.
    pub patience: Option<Patience>,
    /// Whether new values must be objects that exist, and commits for branches.
    pub checks_objects: bool,
    /// Whether one refused edit stops them all.
    pub is_atomic: bool,
}
