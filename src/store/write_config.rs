//! The settings that matter to who writes refs.

use std::path::PathBuf;
use std::time::Duration;

use gix_config::File;
use gix_config::path::interpolate;

use super::discover::GitDirs;
use crate::fs::{Patience, Sharing};

/// When an update of a ref gets an entry in a log that does not exist yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogUpdates {
    /// Never.
    Never,
    /// Of `HEAD`, branches, remote branches and notes.
    Usual,
    /// Always.
    Always,
}

/// What the configuration says of writing.
#[derive(Debug)]
pub(super) struct WriteConfig {
    /// How long a lock of a loose ref is waited for.
    pub(super) ref_patience: Patience,
    /// How long that of packed-refs is.
    pub(super) packed_patience: Patience,
    pub(super) sharing: Sharing,
    /// Whether refs are on disk before they are in force.
    pub(super) syncs_refs: bool,
    /// Whether names that differ only in case are one file.
    pub(super) ignores_case: bool,
    pub(super) log_updates: LogUpdates,
    /// Where hooks are.
    pub(super) hooks: PathBuf,
}

impl WriteConfig {
    pub(super) fn of(all: &File, dirs: &GitDirs, interpolate: interpolate::Context<'_>) -> Self {
        let text = |key: &str| all.string(key).map(|value| value.to_string());
        let is_true = |key: &str| all.boolean(key).ok().flatten();
        let patience = |key: &str, usual: u64| match all.integer(key).ok().flatten() {
            Some(time) => u64::try_from(time).map_or(Patience::Forever, of_millis),
            None => of_millis(usual),
        };
        let log_updates = match (text("core.logAllRefUpdates"), is_true("core.logAllRefUpdates")) {
            (Some(value), _) if value.eq_ignore_ascii_case("always") => LogUpdates::Always,
            (_, Some(false)) => LogUpdates::Never,
            (_, None) if is_bare(dirs, is_true("core.bare")) => LogUpdates::Never,
            (_, Some(true) | None) => LogUpdates::Usual,
        };
        Self {
            ref_patience: patience("core.filesRefLockTimeout", 100),
            packed_patience: patience("core.packedRefsTimeout", 1000),
            // What means nothing shares nothing.
            sharing: text("core.sharedRepository").and_then(|value| Sharing::parse(&value)).unwrap_or(Sharing::Umask),
            syncs_refs: text("core.fsync").is_some_and(|components| syncs_refs(&components)),
            ignores_case: is_true("core.ignoreCase").unwrap_or(false),
            log_updates,
            hooks: match all.path("core.hooksPath").map(|path| path.interpolate(interpolate)) {
                // Relative to where git would run them.
                Some(Ok(path)) => work_tree(all, dirs).unwrap_or_else(|| dirs.own.clone()).join(path),
                _ => dirs.common.join("hooks"),
            },
        }
    }
}

/// The top of the work tree, if there is one.
fn work_tree(all: &File, dirs: &GitDirs) -> Option<PathBuf> {
    // What is configured is the main one's.
    if dirs.own == dirs.shared
        && let Some(path) = all.string("core.worktree")
    {
        return Some(dirs.own.join(path.to_string()));
    }
    dirs.work_tree().filter(|_| !is_bare(dirs, all.boolean("core.bare").ok().flatten()))
}

fn of_millis(time: u64) -> Patience {
    Patience::For(Duration::from_millis(time))
}

/// A repository without a work tree. A linked worktree has one.
fn is_bare(dirs: &GitDirs, configured: Option<bool>) -> bool {
    dirs.own == dirs.shared && configured.unwrap_or_else(|| dirs.own.file_name() != Some(".git".as_ref()))
}

/// Whether the components of `core.fsync` include refs. A name counts for more than the same one with a minus.
fn syncs_refs(components: &str) -> bool {
    components.split([',', ' ', '\t']).any(|component| ["reference", "committed", "added", "all"].contains(&component))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_synced_where_a_component_includes_them() {
        for components in
            ["reference", "all", "committed", "added", "objects,reference", "none, reference", "all,-reference"]
        {
            assert!(syncs_refs(components), "{components}");
        }
        for components in ["", "none", "objects", "default", "pack,-reference", "derived-metadata", "loose-object"] {
            assert!(!syncs_refs(components), "{components}");
        }
    }
}
