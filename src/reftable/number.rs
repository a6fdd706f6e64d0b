//! Big-endian numbers and varints, read off the front of a slice.
//!
//! ```text
//! varint = groups of 7 bits, most significant first; the high bit says that another follows, which adds one before
//!          the shift (as in a pack's OFS_DELTA), so that each value has one encoding
//! ```

/// Takes `len` bytes off the front.
#[inline]
pub(super) fn take<'a>(rest: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(len)?;
    *rest = left;
    Some(taken)
}

/// Takes a big-endian number of `LEN` bytes, at most 8, off the front.
#[inline]
pub(super) fn big_endian<const LEN: usize>(rest: &mut &[u8]) -> Option<u64> {
    let bytes = take(rest, LEN)?;
    Some(bytes.iter().fold(0, |value, &byte| (value << 8) | u64::from(byte)))
}

/// Takes a varint off the front; `None` if it is cut short or exceeds 64 bits.
#[inline]
pub(super) fn varint(rest: &mut &[u8]) -> Option<u64> {
    let (&first, mut left) = rest.split_first()?;
    let mut value = u64::from(first & 0x7f);
    let mut byte = first;
    while byte & 0x80 != 0 {
        let (&next, after) = left.split_first()?;
        (byte, left) = (next, after);
        value = value.checked_add(1)?.checked_mul(128)? | u64::from(byte & 0x7f);
    }
    *rest = left;
    Some(value)
}

/// A varint that counts bytes or records.
#[inline]
pub(super) fn varint_len(rest: &mut &[u8]) -> Option<usize> {
    varint(rest).and_then(|value| usize::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<(u64, usize)> {
        let mut rest = bytes;
        varint(&mut rest).map(|value| (value, rest.len()))
    }

    #[test]
    fn a_varint_is_additive() {
        for (bytes, value) in [
            (&[0x00][..], 0),
            (&[0x7f], 127),
            (&[0x80, 0x00], 128),
            (&[0x80, 0x41], 193),
            (&[0xff, 0x7f], 16511),
            (&[0x80, 0x80, 0x00], 16512),
            (&[0x80, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0x7f], u64::MAX),
        ] {
            assert_eq!(read(bytes), Some((value, 0)), "{bytes:x?}");
        }
    }

    #[test]
    fn a_varint_that_is_cut_or_too_large_is_none() {
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[0x80]), None);
        assert_eq!(read(&[0xff; 10]), None);
        assert_eq!(read(&[0x80, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xff, 0x00]), None);
    }

    #[test]
    fn big_endian_numbers_take_their_bytes() {
        let mut rest = &[1, 2, 3, 4][..];
        assert_eq!(big_endian::<3>(&mut rest), Some(0x01_0203));
        assert_eq!(big_endian::<2>(&mut rest), None);
        assert_eq!(rest, [4]);
    }
}
