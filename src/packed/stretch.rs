//! Stretches of the file: what a walk with limits visits.

use crate::model::Span;

/// What is left of `whole` without the `holes`, in order; no stretch of it is empty.
pub(super) fn subtract(whole: Span, mut holes: Vec<Span>) -> Vec<Span> {
    holes.sort_by_key(|hole| hole.start);
    let mut kept = Vec::with_capacity(holes.len().saturating_add(1));
    let mut pos = whole.start;
    for hole in holes {
        kept.push(pos..hole.start.min(whole.end));
        pos = pos.max(hole.end);
    }
    kept.push(pos..whole.end);
    kept.retain(|span| span.start < span.end);
    kept
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of one stretch are meant")]
mod tests {
    use super::*;

    #[test]
    fn holes_may_overlap_touch_stick_out_and_come_in_any_order() {
        assert_eq!(subtract(10..90, vec![]), [10..90]);
        assert_eq!(subtract(10..90, vec![40..50, 20..30]), [10..20, 30..40, 50..90]);
        assert_eq!(subtract(10..90, vec![20..40, 30..50, 50..60]), [10..20, 60..90]);
        assert_eq!(subtract(10..90, vec![20..60, 30..40]), [10..20, 60..90]);
        assert_eq!(subtract(10..90, vec![0..20, 80..99]), [20..80]);
        assert_eq!(subtract(10..90, vec![15..15]), [10..15, 15..90]);
        assert_eq!(subtract(10..90, vec![0..99]), [0..0; 0]);
        assert_eq!(subtract(50..50, vec![]), [0..0; 0]);
    }
}
