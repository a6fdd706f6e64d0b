//! The header: which promises the writer made.
//!
//! ```text
//! header = "# pack-refs with: " *(token SP) [token] LF
//! ```

use memchr::memchr;

use super::{Damage, Reason};

const PREFIX: &[u8] = b"# pack-refs with: ";

/// The traits that line 1 claims; none where there is no header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Header {
    /// Every peelable ref under `refs/tags/` has a `^` line.
    pub peeled: bool,
    /// Every peelable ref has a `^` line.
    pub fully_peeled: bool,
    /// Records ascend by refname.
    pub sorted: bool,
    /// Bytes of the header line with its LF; 0 without one.
    pub len: usize,
}

impl Header {
    /// Reads the header, if line 1 is one. Unknown traits promise nothing and are ignored.
    ///
    /// # Errors
    /// A first line that starts with `#` and is no header, or does not end.
    pub fn parse(data: &[u8]) -> Result<Self, Damage> {
        let damaged = |reason| Damage::at(data, 0, reason);
        if data.first() != Some(&b'#') {
            return Ok(Self::default());
        }
        let end = memchr(b'\n', data).ok_or_else(|| damaged(Reason::Unterminated))?;
        let line = data.get(..end).unwrap_or_default();
        let traits = line.strip_prefix(PREFIX).ok_or_else(|| damaged(Reason::BadHeader))?;
        let mut header = Self { len: end.saturating_add(1), ..Self::default() };
        for token in traits.split(|&b| b == b' ') {
            match token {
                b"peeled" => header.peeled = true,
                b"fully-peeled" => header.fully_peeled = true,
                b"sorted" => header.sorted = true,
                // An object id: the LF behind the traits was lost, and with it a record that must not vanish.
                token if ends_with_oid(token) => return Err(damaged(Reason::BadHeader)),
                _ => {}
            }
        }
        Ok(header)
    }

    /// The known traits that are claimed, as git spells them.
    pub fn traits(&self) -> impl Iterator<Item = &'static str> + use<> {
        [("peeled", self.peeled), ("fully-peeled", self.fully_peeled), ("sorted", self.sorted)]
            .into_iter()
            .filter_map(|(name, claimed)| claimed.then_some(name))
    }
}

fn ends_with_oid(token: &[u8]) -> bool {
    token.last_chunk::<40>().is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traits(data: &[u8]) -> Vec<&'static str> {
        Header::parse(data).unwrap().traits().collect()
    }

    #[test]
    fn traits_are_tokens_with_or_without_a_trailing_space() {
        assert_eq!(traits(b"# pack-refs with: peeled fully-peeled sorted \n"), ["peeled", "fully-peeled", "sorted"]);
        assert_eq!(traits(b"# pack-refs with: peeled\n"), ["peeled"]);
        assert_eq!(traits(b"# pack-refs with: fully-peeled\n"), ["fully-peeled"], "not also 'peeled'");
        assert_eq!(traits(b"# pack-refs with: sorted\r\n"), [""; 0], "a CR belongs to the token");
        assert_eq!(traits(b"# pack-refs with: sorted \r\n"), ["sorted"]);
        assert_eq!(traits(b"# pack-refs with:   foo  sorted \n"), ["sorted"]);
        assert_eq!(traits(b"# pack-refs with: peeled a/b sorted \n"), ["peeled", "sorted"], "others are ignored");
        assert_eq!(traits(b""), [""; 0]);
    }

    #[test]
    fn another_comment_on_line_one_is_damage() {
        let swallowed = b"# pack-refs with: sorted *0123456789012345678901234567890123456789 refs/heads/a\n";
        for data in [&b"# packed\n"[..], b"#\n", b"# pack-refs with:peeled\n", swallowed] {
            assert_eq!(Header::parse(data), Err(Damage { offset: 0, line: 1, reason: Reason::BadHeader }));
        }
        assert_eq!(
            Header::parse(b"# pack-refs with: sorted"),
            Err(Damage { offset: 0, line: 1, reason: Reason::Unterminated })
        );
    }
}
