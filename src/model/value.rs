//! What a ref holds.

use super::{Oid, hex_spells};

/// What a ref holds, as its format spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// An object id as hex digits, of either case.
    Hex(&'a [u8]),
    /// An object id as bytes.
    Raw(&'a [u8]),
    /// The name of another ref.
    Symref(&'a [u8]),
    /// Nothing that can be read.
    Nothing,
}

impl Value<'_> {
    /// The value on its own, whatever the format; `None` for nothing.
    #[must_use]
    pub fn to_owned(self) -> Option<RefValue> {
        match self {
            Self::Hex(digits) => Oid::from_hex(digits).map(RefValue::Oid),
            Self::Raw(bytes) => Oid::from_raw(bytes).map(RefValue::Oid),
            Self::Symref(target) => Some(RefValue::Symref(target.to_vec())),
            Self::Nothing => None,
        }
    }

    /// Whether both are the same value, however spelled.
    #[must_use]
    pub fn is(self, other: Self) -> bool {
        match (self, other) {
            (Self::Hex(a), Self::Hex(b)) => a.eq_ignore_ascii_case(b),
            (Self::Raw(a), Self::Raw(b)) | (Self::Symref(a), Self::Symref(b)) => a == b,
            (Self::Hex(digits), Self::Raw(bytes)) | (Self::Raw(bytes), Self::Hex(digits)) => hex_spells(digits, bytes),
            (Self::Nothing, Self::Nothing) => true,
            _ => false,
        }
    }

    /// Whether it is an object id of zeros.
    #[must_use]
    pub fn is_zero(self) -> bool {
        match self {
            Self::Hex(digits) => digits.iter().all(|&digit| digit == b'0'),
            Self::Raw(bytes) => bytes.iter().all(|&byte| byte == 0),
            Self::Symref(_) | Self::Nothing => false,
        }
    }
}

/// What a ref holds, on its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RefValue {
    /// An object id.
    Oid(Oid),
    /// The name of another ref.
    Symref(Vec<u8>),
}

impl RefValue {
    /// As text: hex digits, or `ref:` and a name.
    #[must_use]
    pub fn text(&self) -> Vec<u8> {
        match self {
            Self::Oid(oid) => oid.to_hex().into_bytes(),
            Self::Symref(target) => [b"ref:", &target[..]].concat(),
        }
    }
}
