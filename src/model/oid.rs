//! Object ids of both hashes, and the hex digits that spell them.

/// The hash a repository names its objects with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HashKind {
    /// 20 bytes, 40 hex digits.
    Sha1,
    /// 32 bytes, 64 hex digits.
    Sha256,
}

impl HashKind {
    /// Every hash git knows.
    pub const ALL: [Self; 2] = [Self::Sha1, Self::Sha256];

    /// Bytes of an object id.
    #[must_use]
    pub const fn raw_len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// Hex digits of an object id.
    #[must_use]
    pub const fn hex_len(self) -> usize {
        self.raw_len() * 2
    }

    /// The name git's configuration uses (`extensions.objectFormat`).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
        }
    }

    /// The hash of that name, if git knows one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// An object id, of either hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Oid {
    kind: HashKind,
    // Bytes past the hash's width stay zero, so that derived equality is right.
    raw: [u8; 32],
}

impl Oid {
    /// The object id of these 40 or 64 hex digits, of either case.
    #[must_use]
    pub fn from_hex(digits: &[u8]) -> Option<Self> {
        let kind = HashKind::ALL.into_iter().find(|kind| kind.hex_len() == digits.len())?;
        let mut raw = [0; 32];
        faster_hex::hex_decode(digits, raw.get_mut(..kind.raw_len())?).ok()?;
        Some(Self { kind, raw })
    }

    /// The object id of these 20 or 32 bytes.
    #[must_use]
    pub fn from_raw(bytes: &[u8]) -> Option<Self> {
        let kind = HashKind::ALL.into_iter().find(|kind| kind.raw_len() == bytes.len())?;
        let mut raw = [0; 32];
        raw.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self { kind, raw })
    }

    /// The hash that this is an id of.
    #[must_use]
    pub fn kind(&self) -> HashKind {
        self.kind
    }

    /// The raw bytes.
    #[must_use]
    pub fn as_raw(&self) -> &[u8] {
        self.raw.get(..self.kind.raw_len()).unwrap_or_default()
    }

    /// Whether it is all zeros: git's word for no object at all.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.raw == [0; 32]
    }

    /// Lower-case hex digits, as git writes them.
    #[must_use]
    pub fn to_hex(&self) -> String {
        hex::encode(self.as_raw())
    }
}

/// Whether the hex digits, of either case, spell these bytes.
#[must_use]
pub fn hex_spells(digits: &[u8], bytes: &[u8]) -> bool {
    let mut spelled = [0; 32];
    let spelled = spelled.get_mut(..bytes.len()).unwrap_or_default();
    faster_hex::hex_decode(digits, spelled).is_ok() && spelled == bytes
}

/// Bytes as lower-case hex digits, in the room for them; `None` if it is too small.
#[inline]
#[must_use]
pub fn spell<'a>(bytes: &[u8], room: &'a mut [u8]) -> Option<&'a [u8]> {
    let digits = room.get_mut(..bytes.len().checked_mul(2)?)?;
    faster_hex::hex_encode(bytes, digits).ok()?;
    Some(digits)
}

/// Whether every byte is a hex digit, of either case.
///
/// It runs over every object id of a scan: without a branch and of known width, so that the compiler makes whole-vector
/// compares of it. (`faster-hex` dispatches first and ends byte by byte: for 40 bytes that took longer.)
#[inline(always)]
#[must_use]
pub fn is_hex<const WIDTH: usize>(bytes: &[u8; WIDTH]) -> bool {
    bytes.iter().fold(0, |bad, &b| bad | u8::from(!is_hex_digit(b))) == 0
}

/// [`u8::is_ascii_hexdigit`], without a branch.
#[inline(always)]
fn is_hex_digit(b: u8) -> bool {
    (b.wrapping_sub(b'0') < 10) | ((b | 0x20).wrapping_sub(b'a') < 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_and_hex_of_both_hashes_are_the_same_id() {
        for kind in HashKind::ALL {
            let raw: Vec<u8> = (0..kind.raw_len()).map(|i| u8::try_from(i * 7).unwrap()).collect();
            let lower = hex::encode(&raw);
            let id = Oid::from_raw(&raw).unwrap();
            assert_eq!(id.kind(), kind);
            assert_eq!(id.to_hex(), lower);
            assert_eq!(Oid::from_hex(lower.as_bytes()), Some(id));
            assert_eq!(Oid::from_hex(lower.to_uppercase().as_bytes()), Some(id));
        }
    }

    #[test]
    fn other_lengths_and_digits_are_no_id() {
        for bad in [&b""[..], b"abcd", &[b'0'; 20], &[b'0'; 39], &[b'0'; 41], &[b'g'; 40]] {
            assert_eq!(Oid::from_hex(bad), None, "{bad:?}");
        }
        for bad in [&b""[..], &[0; 19], &[0; 33], &[b'0'; 40]] {
            assert_eq!(Oid::from_raw(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn bytes_are_spelled_in_lower_case_and_recognised_in_either() {
        let bytes: Vec<u8> = (0..32).map(|i| i * 8 + 7).collect();
        let mut room = [0; 64];
        for len in [0, 1, 20, 32] {
            let digits = spell(&bytes[..len], &mut room).unwrap().to_vec();
            assert_eq!(digits, hex::encode(&bytes[..len]).as_bytes());
            assert!(hex_spells(&digits, &bytes[..len]));
            assert!(hex_spells(&digits.to_ascii_uppercase(), &bytes[..len]));
        }
        let digits = hex::encode(&bytes);
        for (digits, bytes) in
            [(&digits[..40], &bytes[..]), (&digits[2..42], &bytes[..20]), ("zz", &bytes[..1]), ("", &bytes[..1])]
        {
            assert!(!hex_spells(digits.as_bytes(), bytes), "{digits}");
        }
        assert_eq!(spell(&bytes, &mut [0; 63]), None);
    }

    #[test]
    fn hex_digits_are_exactly_those() {
        for b in 0..=255u8 {
            assert_eq!(is_hex(&[b]), b.is_ascii_hexdigit(), "{b}");
        }
    }
}
