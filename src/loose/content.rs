//! The content of a loose ref's file.
//!
//! ```text
//! content = hex LF | "ref: " target LF                                        as git writes it
//! read    = hex [space anything] | "ref:" *space target *space                up to the first NUL
//! ```

use super::is_space;
use crate::model::HashKind;

/// What a loose ref's file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// An object id: hex digits of either case.
    Oid(&'a [u8]),
    /// A symbolic ref to this name, which may be none that git accepts.
    Symref(&'a [u8]),
}

impl<'a> Content<'a> {
    /// Reads a file's bytes; `None` if they are neither.
    #[must_use]
    pub fn parse(bytes: &'a [u8], hash: HashKind) -> Option<Self> {
        let text = trim_end(bytes);
        let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
        if let Some(target) = text.strip_prefix(b"ref:") {
            let start = target.iter().position(|&byte| !is_space(byte)).unwrap_or(target.len());
            return target.get(start..).map(Self::Symref);
        }
        first_oid(text, hash).map(Self::Oid)
    }
}

/// The object id that a text starts with, if nothing or white space follows it: a ref, or the first line of `FETCH_HEAD`.
#[must_use]
pub fn first_oid(text: &[u8], hash: HashKind) -> Option<&[u8]> {
    let (digits, rest) = text.split_at_checked(hash.hex_len())?;
    let ends = rest.first().is_none_or(|&byte| is_space(byte));
    (ends && digits.iter().all(u8::is_ascii_hexdigit)).then_some(digits)
}

fn trim_end(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| !is_space(byte)).map_or(0, |last| last.saturating_add(1));
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OID: &[u8] = b"0123456789abcdefABCD0123456789abcdef0123";

    fn parse(parts: &[&[u8]]) -> Option<Content<'static>> {
        Content::parse(Vec::leak(parts.concat()), HashKind::Sha1)
    }

    #[test]
    fn an_object_id_may_be_followed_by_space_and_anything() {
        for rest in [&b""[..], b"\n", b"\r\n", b" garbage\n", b"\n\n", b"\0junk", b"\tx"] {
            assert_eq!(parse(&[OID, rest]), Some(Content::Oid(OID)), "{}", rest.escape_ascii());
        }
        for bad in [&[OID, b"x"][..], &[b" ", OID], &[], &[b"\n"], &[&[0; 41]], &[b"\x0b", OID], &[OID, b"\x0bx"]] {
            assert_eq!(parse(bad), None, "{}", bad.concat().escape_ascii());
        }
        assert_eq!(Content::parse(OID, HashKind::Sha256), None);
    }

    #[test]
    fn a_symbolic_ref_is_what_stands_behind_the_colon() {
        let texts = ["ref: x\n", "ref:x", "ref:\tx\r\n", "ref: x  \n\n", "ref: x\0junk"];
        for text in texts {
            assert_eq!(parse(&[text.as_bytes()]), Some(Content::Symref(b"x")), "{text:?}");
        }
        assert_eq!(parse(&[b"ref: x y\n"]), Some(Content::Symref(b"x y")));
        assert_eq!(parse(&[b"ref: \n"]), Some(Content::Symref(b"")));
        for bad in [&b" ref: x"[..], b"REF: x", b"ref x"] {
            assert_eq!(parse(&[bad]), None);
        }
    }
}
