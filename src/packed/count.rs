//! Counting: every record is read and checked, several stretches of the file at a time.
//!
//! Only where a record ends is it known where the next one starts, so a single walk mostly waits. Four walks in turn
//! wait together.

use super::search::record_start;
use super::{Cursor, Damage, Record, Stop};
use crate::model::{HashKind, Interrupt, Span};

const LANES: usize = 4;
/// Records a lane reads between two questions to the interrupt.
const BREATH: usize = 1 << 17;

/// The number of records in `body`.
///
/// # Errors
/// The first [`Damage`] in the file, exactly as one walk over all of it would find it; or an interrupt.
pub(super) fn count(data: &[u8], body: &Span, hash: HashKind, interrupt: Interrupt<'_>) -> Result<usize, Stop> {
    let mut lanes = lanes(data, body, hash);
    let mut damage: Option<Damage> = None;
    let mut count = 0_usize;
    for round in 1_usize.. {
        let mut alive = false;
        for i in 0..lanes.len() {
            let Some(lane) = lanes.get_mut(i) else { break };
            match lane.next(data) {
                Ok(Some(_)) => {
                    count = count.saturating_add(1);
                    alive = true;
                }
                Ok(None) => {}
                Err(found) => {
                    // What comes later in the file no longer matters; what comes before it does.
                    damage = Some(found);
                    lanes.truncate(i);
                }
            }
        }
        if !alive {
            break;
        }
        if round.is_multiple_of(BREATH) && !interrupt() {
            return Err(Stop::Interrupted);
        }
    }
    damage.map_or(Ok(count), |damage| Err(damage.into()))
}

/// Walks over consecutive stretches of `body`, each told the name in front of its first.
fn lanes(data: &[u8], body: &Span, hash: HashKind) -> Vec<Cursor> {
    let step = body.len().div_ceil(LANES).max(1);
    let mut starts: Vec<usize> =
        body.clone().step_by(step).map(|pos| record_start(data, body.start, pos)).collect();
    starts.dedup();
    let ends = starts.iter().skip(1).copied().chain([body.end]);
    starts
        .iter()
        .zip(ends)
        .map(|(&start, end)| {
            let before = record_start(data, body.start, start.saturating_sub(1));
            // If it is damaged the lane before this one will say so.
            let name = Record::parse(data, before, hash).ok().filter(|_| before < start).map(|record| record.name());
            Cursor::new(hash, vec![start..end]).after(name.unwrap_or_default())
        })
        .collect()
}
