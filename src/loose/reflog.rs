//! A line of a text reflog.
//!
//! ```text
//! line = old SP new SP name " <" email ">" SP seconds SP zone [TAB message] LF
//! zone = ("+" | "-") 4DIGIT
//! ```
//!
//! Git passes over a line that is none of these, one without LF among them, and over one whose time is zero.

use memchr::memchr;

use crate::model::{HashKind, Span, is_hex};

/// What a line of a reflog says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLine<'a> {
    /// The object id before: hex digits of either case.
    pub old: &'a [u8],
    /// The object id after.
    pub new: &'a [u8],
    /// The committer's name.
    pub name: &'a [u8],
    /// The committer's address, without angle brackets.
    pub email: &'a [u8],
    /// Seconds since 1970.
    pub time: u64,
    /// The committer's zone as the decimal number HHMM.
    pub tz: i16,
    /// The message, without its LF.
    pub message: &'a [u8],
}

/// Where in a line its parts lie: what is found once, and can be kept while the line is not borrowed.
#[derive(Debug, Clone)]
pub struct LogShape {
    parts: [Span; 5],
    time: u64,
    tz: i16,
}

impl LogShape {
    /// The parts of the line that has this shape.
    #[must_use]
    pub fn of<'a>(&self, line: &'a [u8]) -> LogLine<'a> {
        let [old, new, name, email, message] =
            self.parts.each_ref().map(|part| line.get(part.clone()).unwrap_or_default());
        LogLine { old, new, name, email, time: self.time, tz: self.tz, message }
    }
}

impl<'a> LogLine<'a> {
    /// Where in `line`, from which it was read, its parts lie.
    #[must_use]
    pub fn shape(&self, line: &[u8]) -> LogShape {
        let parts = [self.old, self.new, self.name, self.email, self.message].map(|part| {
            let start = part.as_ptr().addr().saturating_sub(line.as_ptr().addr());
            start..start.saturating_add(part.len())
        });
        LogShape { parts, time: self.time, tz: self.tz }
    }

    /// Reads a line, its LF included; `None` where git passes over it.
    #[must_use]
    pub fn parse(line: &'a [u8], hash: HashKind) -> Option<Self> {
        let line = line.strip_suffix(b"\n")?;
        let (old, rest) = hex_and_space(line, hash)?;
        let (new, rest) = hex_and_space(rest, hash)?;
        let (who, [b'>', b' ', rest @ ..]) = rest.split_at_checked(memchr(b'>', rest)?)? else { return None };
        let (name, email) = match who.split_at_checked(memchr(b'<', who).unwrap_or(who.len()))? {
            (name, [_, email @ ..]) => (name.strip_suffix(b" ").unwrap_or(name), email),
            (name, []) => (name, &b""[..]),
        };
        // More space than one is let pass, and so is a sign.
        let rest = rest.trim_ascii_start();
        let rest = rest.strip_prefix(b"+").unwrap_or(rest);
        let (time, rest) = rest.split_at_checked(memchr(b' ', rest)?)?;
        let time = number(time).filter(|time| *time != 0)?;
        let (zone, rest) = rest.strip_prefix(b" ")?.split_at_checked(5)?;
        let (sign, digits) = zone.split_first()?;
        let minutes = i16::try_from(number(digits)?).ok()?;
        let tz = match sign {
            b'+' => minutes,
            b'-' => minutes.saturating_neg(),
            _ => return None,
        };
        let message = rest.strip_prefix(b"\t").unwrap_or(rest);
        Some(Self { old, new, name, email, time, tz, message })
    }
}

fn hex_and_space(text: &[u8], hash: HashKind) -> Option<(&[u8], &[u8])> {
    let (hex, rest) = text.split_at_checked(hash.hex_len())?;
    let rest = rest.strip_prefix(b" ")?;
    let is_id = match hash {
        HashKind::Sha1 => hex.first_chunk::<40>().is_some_and(is_hex),
        HashKind::Sha256 => hex.first_chunk::<64>().is_some_and(is_hex),
    };
    is_id.then_some((hex, rest))
}

/// A decimal number; one that is too large is the largest.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(str::from_utf8(digits).ok()?.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    #[test]
    fn a_line_is_taken_apart() {
        let text = format!("{A} {B} A U Thor <a@example.com> 1700000000 -0330\tmerge a -> b\tc\n");
        let line = LogLine::parse(text.as_bytes(), HashKind::Sha1).unwrap();
        assert_eq!((line.old, line.new), (A.as_bytes(), B.as_bytes()));
        assert_eq!((line.name, line.email), (&b"A U Thor"[..], &b"a@example.com"[..]));
        assert_eq!((line.time, line.tz, line.message), (1_700_000_000, -330, &b"merge a -> b\tc"[..]));
        assert_eq!(line.shape(text.as_bytes()).of(text.as_bytes()), line);
        let bare = format!("{A} {B}  <> 1 +0000\n");
        let line = LogLine::parse(bare.as_bytes(), HashKind::Sha1).unwrap();
        assert_eq!((line.name, line.email, line.message), (&b""[..], &b""[..], &b""[..]));
    }

    #[test]
    fn what_git_passes_over_is_none() {
        for who in
            ["x 1 +0000", "<x> 0 +0000", "<x>1 +0000", "<x> +0000", "<x> 1 0000", "<x> 1 +00", "<x> 1", "<x> a +0000"]
        {
            let text = format!("{A} {B} {who}\n");
            assert_eq!(LogLine::parse(text.as_bytes(), HashKind::Sha1), None, "{who}");
        }
        for text in [format!("{A} {B} <x> 1 +0000"), format!("{A}  {B} <x> 1 +0000\n"), "\n".into(), String::new()] {
            assert_eq!(LogLine::parse(text.as_bytes(), HashKind::Sha1), None, "{text}");
        }
    }
}
