//! Git's two rules for refnames: well-formed (may be written) and safe (may at least be deleted).

use gix_validate::reference::name_partial;

/// Which rule a name found on disk breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Ill-formed, yet no danger as a path: it can be listed and deleted, never written.
    BadName,
    /// Could escape the directory of refs: no path may ever be built from it.
    UnsafeName,
}

impl Fault {
    /// The rule that `name` breaks, if it breaks one. One-level names are allowed; others belong below `refs/`, since
    /// as a path they lead to what is no ref.
    #[must_use]
    pub fn of(name: &[u8]) -> Option<Self> {
        if is_well_formed(name) {
            (name.contains(&b'/') && !name.starts_with(b"refs/")).then_some(Self::UnsafeName)
        } else if is_safe(name) {
            Some(Self::BadName)
        } else {
            Some(Self::UnsafeName)
        }
    }
}

/// Whether `git check-ref-format --allow-onelevel` accepts the name.
#[must_use]
pub fn is_well_formed(name: &[u8]) -> bool {
    is_plain(name) || name_partial(name.into()).is_ok()
}

/// Whether it is made of letters, digits, `-` and `_` alone, in components that are not empty: most names are, and no
/// other rule is about those. Without a branch, so that the compiler makes whole-vector compares of it.
#[inline]
fn is_plain(name: &[u8]) -> bool {
    match name.len() {
        ..=32 => is_plain_within::<32>(name),
        33..=64 => is_plain_within::<64>(name),
        _ => false,
    }
}

/// [`is_plain`] for a name that is no longer than this: of known width, filled up with what is allowed.
#[inline]
#[expect(clippy::needless_bitwise_bool, reason = "a branch for each byte is what this avoids")]
fn is_plain_within<const WIDTH: usize>(name: &[u8]) -> bool {
    let is_word = |b: u8| {
        (b.wrapping_sub(b'0') < 10) | ((b | 0x20).wrapping_sub(b'a') < 26) | (b == b'-') | (b == b'_') | (b == b'/')
    };
    let mut wide = [b'a'; WIDTH];
    let (Some(copy), [first, .., last]) = (wide.get_mut(..name.len()), name) else { return false };
    copy.copy_from_slice(name);
    let odd = wide.iter().fold(0, |odd, &b| odd | u8::from(!is_word(b)));
    let empty = wide.iter().zip(&wide[1..]).fold(0, |empty, (&a, &b)| empty | u8::from((a == b'/') & (b == b'/')));
    odd == 0 && empty == 0 && *first != b'/' && *last != b'/'
}

/// Git's `refname_is_safe`: below `refs/` no component that normalising the path would change, elsewhere
/// capitals and underscores only. On Windows a backslash separates components, hence is never safe.
#[must_use]
pub fn is_safe(name: &[u8]) -> bool {
    match name.strip_prefix(b"refs/") {
        Some(rest) => {
            let forbidden = |b: &u8| *b == 0 || (cfg!(windows) && *b == b'\\');
            !rest.iter().any(forbidden) && rest.split(|&b| b == b'/').all(|part| !matches!(part, b"" | b"." | b".."))
        }
        None => !name.is_empty() && name.iter().all(|&b| b.is_ascii_uppercase() || b == b'_'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_is_what_path_normalisation_leaves_alone() {
        for name in ["refs/heads/a", "refs/x", "refs/heads/a..b", "refs/heads/a b", "refs/heads/a.lock", "HEAD", "A_B"]
        {
            assert!(is_safe(name.as_bytes()), "{name}");
        }
        for name in ["", "refs/", "refs//a", "refs/a/", "refs/../x", "refs/./x", "head", "A-B", "HEAD1", "a/b"] {
            assert!(!is_safe(name.as_bytes()), "{name}");
        }
        assert!(!is_safe(b"refs/heads/a\0b"), "no path can hold a NUL");
    }

    #[test]
    fn plain_names_are_well_formed_by_the_whole_rule_too() {
        let long = ["a/".repeat(40), "b".to_owned()].concat();
        for name in [
            &long,
            "a",
            "ab",
            "HEAD",
            "refs/heads/a-b_c",
            "refs//a",
            "/a",
            "a/",
            "",
            "/",
            "a//b",
            "-",
            "@",
            "a.b",
            "0/1",
        ] {
            assert_eq!(is_well_formed(name.as_bytes()), name_partial(name.into()).is_ok(), "{name:?}");
        }
        for byte in 0..=255 {
            let name = [b'a', byte, b'b'];
            assert_eq!(is_well_formed(&name), name_partial(name[..].into()).is_ok(), "{byte}");
        }
    }

    #[test]
    fn a_fault_names_the_weaker_rule_that_still_holds() {
        assert_eq!(Fault::of(b"refs/heads/main"), None);
        assert_eq!(Fault::of(b"HEAD"), None);
        assert_eq!(Fault::of(b"refs/heads/a..b"), Some(Fault::BadName));
        assert_eq!(Fault::of(b"refs/../x"), Some(Fault::UnsafeName));
        assert_eq!(Fault::of(b"hooks/x"), Some(Fault::UnsafeName), "well-formed, yet the path of no ref");
        assert_eq!(Fault::of(b"foo"), None);
        assert_eq!(Fault::of(b" refs/heads/a"), Some(Fault::UnsafeName));
    }
}
