//! Where a refname lives: with the worktree, with another one, or in the part that all worktrees share.

/// Whose ref a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// The current worktree's own.
    Current,
    /// The main worktree's own, by way of `main-worktree/`.
    Main,
    /// That of the linked worktree of this id, by way of `worktrees/<id>/`.
    Other(&'a [u8]),
    /// That of all worktrees.
    Shared,
}

/// A refname, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// Whose it is.
    pub scope: Scope<'a>,
    /// What its owner calls it.
    pub name: &'a [u8],
}

impl<'a> Place<'a> {
    /// Takes a name apart. A prefix in front of a name that is not a worktree's own means nothing.
    #[must_use]
    pub fn of(name: &'a [u8]) -> Self {
        let shared = Self { scope: Scope::Shared, name };
        if is_own(name) {
            return Self { scope: Scope::Current, name };
        }
        if let Some(own) = name.strip_prefix(b"main-worktree/") {
            return if is_own(own) { Self { scope: Scope::Main, name: own } } else { shared };
        }
        let Some(rest) = name.strip_prefix(b"worktrees/") else { return shared };
        match rest.iter().position(|&byte| byte == b'/').map(|slash| rest.split_at(slash)) {
            Some((id, [_, own @ ..])) if is_own(own) && is_id(id) => Self { scope: Scope::Other(id), name: own },
            _ => shared,
        }
    }
}

/// Below which of `refs/` each worktree has refs of its own.
pub const OWN_NAMESPACES: [&[u8]; 3] = [b"refs/bisect/", b"refs/rewritten/", b"refs/worktree/"];

/// Whether each worktree has a ref of that name of its own.
fn is_own(name: &[u8]) -> bool {
    has_root_syntax(name) || OWN_NAMESPACES.iter().any(|space| name.starts_with(space))
}

/// Whether it can be the name of a folder in `worktrees/`, and nothing else.
fn is_id(id: &[u8]) -> bool {
    !matches!(id, b"" | b"." | b"..") && !id.iter().any(|byte| matches!(byte, 0 | b'/' | b'\\'))
}

/// Whether it can be the name of a ref outside `refs/` that each worktree has for itself.
#[must_use]
pub fn has_root_syntax(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'-' | b'_'))
}

/// Whether it is one of git's two files that look like refs: several records each, and never in a table.
#[must_use]
pub fn is_pseudoref(name: &[u8]) -> bool {
    matches!(name, b"FETCH_HEAD" | b"MERGE_HEAD")
}

/// Whether it is a ref outside `refs/` that listings with root refs show.
#[must_use]
pub fn is_root_ref(name: &[u8]) -> bool {
    const OTHERS: [&[u8]; 6] = [
        b"HEAD",
        b"AUTO_MERGE",
        b"BISECT_EXPECTED_REV",
        b"NOTES_MERGE_PARTIAL",
        b"NOTES_MERGE_REF",
        b"MERGE_AUTOSTASH",
    ];
    has_root_syntax(name) && !is_pseudoref(name) && (name.ends_with(b"_HEAD") || OTHERS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> (Scope<'_>, &str) {
        let place = Place::of(name.as_bytes());
        (place.scope, str::from_utf8(place.name).unwrap())
    }

    #[test]
    fn names_are_told_apart_as_git_does() {
        for name in ["HEAD", "FOO", "A-B", "refs/bisect/bad", "refs/worktree/x", "refs/rewritten/x"] {
            assert_eq!(place(name), (Scope::Current, name));
        }
        assert_eq!(place("main-worktree/HEAD"), (Scope::Main, "HEAD"));
        assert_eq!(place("worktrees/w/refs/bisect/bad"), (Scope::Other(b"w"), "refs/bisect/bad"));
        for name in ["refs/heads/main", "foo", "refs/bisect", "main-worktree/refs/heads/x", "worktrees/w/refs/heads/x"]
        {
            assert_eq!(place(name), (Scope::Shared, name));
        }
        for name in ["worktrees/w", "worktrees/../HEAD", "worktrees//HEAD", "worktrees/./HEAD"] {
            assert_eq!(place(name), (Scope::Shared, name));
        }
    }

    #[test]
    fn root_refs_are_those_that_git_lists() {
        for name in ["HEAD", "ORIG_HEAD", "CHERRY_PICK_HEAD", "AUTO_MERGE", "MERGE_AUTOSTASH"] {
            assert!(is_root_ref(name.as_bytes()), "{name}");
        }
        for name in ["FETCH_HEAD", "MERGE_HEAD", "FOO", "foo", "refs/heads/X_HEAD", "", "_head"] {
            assert!(!is_root_ref(name.as_bytes()), "{name}");
        }
    }
}
