//! Which refs of a repository a walk visits.

use gix_glob::wildmatch::Mode;

use crate::model::{Error, Result};

/// Wildcards in one pattern; more would take for ever to match.
const STARS: usize = 60;

/// Limits on a walk over a repository's refs. The default has none, and shows those below `refs/`.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Only names that start with these bytes.
    pub prefix: Vec<u8>,
    /// Only names that sort after this one.
    pub start_after: Option<Vec<u8>>,
    /// None of these refs, and nothing below them.
    pub exclude: Vec<Vec<u8>>,
    /// Root refs too.
    pub root_refs: bool,
    /// Only names that this pattern matches.
    glob: Option<Pattern>,
    /// No names that one of these matches.
    exclude_globs: Vec<Pattern>,
}

/// A pattern of `git for-each-ref`: a name, what lies below it, or a wildmatch whose `*` stops at slashes.
#[derive(Debug, Clone)]
struct Pattern(Vec<u8>);

impl Query {
    /// All refs below a prefix.
    #[must_use]
    pub fn of_prefix(prefix: &[u8]) -> Self {
        Self { prefix: prefix.to_vec(), ..Self::default() }
    }

    /// Everything, with root refs or without.
    #[must_use]
    pub fn all(root_refs: bool) -> Self {
        Self { root_refs, ..Self::default() }
    }

    /// Only what this pattern matches, too.
    ///
    /// # Errors
    /// [`Error::RefName`] for a pattern with too many wildcards.
    pub fn with_glob(mut self, pattern: &[u8]) -> Result<Self> {
        let pattern = Pattern::new(pattern)?;
        // What stands in front of the first wildcard is a prefix. Of two prefixes one must be the start of the other.
        let literal = pattern.literal();
        if literal.starts_with(&self.prefix) {
            self.prefix = literal.to_vec();
        }
        self.glob = Some(pattern);
        Ok(self)
    }

    /// Nothing that these patterns match.
    ///
    /// # Errors
    /// As [`Self::with_glob`].
    pub fn without(mut self, patterns: &[&[u8]]) -> Result<Self> {
        for pattern in patterns {
            let pattern = Pattern::new(pattern)?;
            if pattern.is_literal() {
                self.exclude.push(pattern.0);
            } else {
                self.exclude_globs.push(pattern);
            }
        }
        Ok(self)
    }

    /// The prefix below `refs/`; `None` if nothing there can have it.
    #[must_use]
    pub fn refs_prefix(&self) -> Option<&[u8]> {
        const REFS: &[u8] = b"refs/";
        if self.prefix.starts_with(REFS) { Some(&self.prefix) } else { REFS.starts_with(&self.prefix).then_some(REFS) }
    }

    /// Whether the seeks alone select what is wanted.
    #[must_use]
    pub fn is_by_seeks(&self) -> bool {
        self.glob.is_none() && self.exclude_globs.is_empty()
    }

    /// Whether the patterns that no seek answers let a name pass.
    #[must_use]
    pub fn passes(&self, name: &[u8]) -> bool {
        self.glob.as_ref().is_none_or(|glob| glob.matches(name))
            && !self.exclude_globs.iter().any(|glob| glob.matches(name))
    }

    /// Whether a name is wanted, seeks or not.
    #[must_use]
    pub fn matches(&self, name: &[u8]) -> bool {
        name.starts_with(&self.prefix)
            && self.start_after.as_ref().is_none_or(|after| name > &after[..])
            && !self.exclude.iter().any(|excluded| is_at_or_below(name, excluded))
            && self.passes(name)
    }
}

/// Whether `name` is `at`, or lies below it; with a slash at its end only the latter. An empty one is nobody.
fn is_at_or_below(name: &[u8], at: &[u8]) -> bool {
    match name.strip_prefix(at) {
        Some(rest) => !at.is_empty() && (rest.is_empty() || rest.starts_with(b"/") || at.ends_with(b"/")),
        None => false,
    }
}

impl Pattern {
    fn new(pattern: &[u8]) -> Result<Self> {
        if memchr::memchr_iter(b'*', pattern).count() > STARS {
            return Err(Error::RefName { name: pattern.to_vec(), reason: "pattern has more than 60 stars" });
        }
        Ok(Self(pattern.to_vec()))
    }

    /// What stands in front of the first wildcard.
    fn literal(&self) -> &[u8] {
        let end = self.0.iter().position(|byte| b"*?[\\".contains(byte)).unwrap_or(self.0.len());
        self.0.get(..end).unwrap_or_default()
    }

    fn is_literal(&self) -> bool {
        self.literal().len() == self.0.len()
    }

    fn matches(&self, name: &[u8]) -> bool {
        is_at_or_below(name, &self.0)
            || gix_glob::wildmatch(self.0[..].into(), name.into(), Mode::NO_MATCH_SLASH_LITERAL)
    }
}
