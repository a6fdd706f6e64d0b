//! What was found out of objects lately: many refs lead to the same ones.

use crate::model::Value;

/// Objects of which something is true.
pub(super) struct Known(Vec<Slot>);

/// As many bytes of an id as this.
type Slot = (usize, [u8; 64]);

impl Known {
    const SLOTS: usize = 1 << 15;

    /// Nothing. The memory is taken when there is something to remember.
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Whether it is true of that object: `find` finds out, unless it was found true lately.
    #[inline]
    pub(super) fn holds(&mut self, oid: Value<'_>, find: impl FnOnce() -> bool) -> bool {
        let (Value::Hex(bytes) | Value::Raw(bytes)) = oid else { return false };
        // Ids are as good as random: any of their bytes tell slots apart.
        let head = bytes.first_chunk().map_or(0, |head| u64::from_be_bytes(*head));
        let number = head.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - Self::SLOTS.trailing_zeros());
        if self.0.is_empty() {
            self.0 = vec![(0, [0; 64]); Self::SLOTS];
        }
        let slot = usize::try_from(number).ok().and_then(|number| self.0.get_mut(number));
        let Some((len, slot)) = slot else { return find() };
        if *len == bytes.len() && slot.get(..*len) == Some(bytes) {
            return true;
        }
        let holds = find();
        if holds && let Some(copy) = slot.get_mut(..bytes.len()) {
            copy.copy_from_slice(bytes);
            *len = bytes.len();
        }
        holds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_found_true_is_remembered() {
        let mut known = Known::new();
        let (zeros, hex) = ([0; 20], [b'0'; 40]);
        for oid in [Value::Raw(&zeros), Value::Hex(&hex)] {
            assert!(!known.holds(oid, || false));
            assert!(known.holds(oid, || true));
            assert!(known.holds(oid, || false));
        }
        assert!(!known.holds(Value::Raw(&[0; 32]), || false), "another id that begins with the same bytes");
        assert!(!known.holds(Value::Nothing, || true));
    }
}
