//! A span: a byte range of an immutable file or block.

/// Byte offsets `start..end` into the bytes that a reader holds.
pub type Span = std::ops::Range<usize>;
