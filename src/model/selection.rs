//! Which refs a walk visits.

/// Limits on a walk. The default has none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Selection<'a> {
    /// Only names that start with these bytes.
    pub prefix: &'a [u8],
    /// Only names that sort after this one.
    pub start_after: Option<&'a [u8]>,
    /// Neither these refs nor what lies below them; a trailing slash keeps the ref itself.
    pub exclude: &'a [&'a [u8]],
}

impl Selection<'_> {
    /// Whether it has no limits.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.prefix.is_empty() && self.start_after.is_none() && self.exclude.is_empty()
    }
}
