//! Reading every record in file order, in one go: counting, and the full read of a file that may be unsorted.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::cursor::order_of;
use super::record::diagnose;
use super::search::record_start;
use super::{Damage, Reason, Record, Stop};
use crate::model::{HashKind, Interrupt, Span};

/// Smaller bodies are counted by one thread.
const WORTH_A_THREAD: usize = 4 << 20;

/// The number of records in `body`, each of them checked, names ascending. Large bodies are read by two threads.
///
/// # Errors
/// The first [`Damage`], as a [`Cursor`](super::Cursor) over all of `body` would find it; or an interrupt.
pub(super) fn count(data: &[u8], body: &Span, hash: HashKind, interrupt: Interrupt<'_>) -> Result<usize, Stop> {
    if body.len() < WORTH_A_THREAD || thread::available_parallelism().map_or(1, NonZero::get) == 1 {
        return count_span(data, body, b"", hash, interrupt);
    }
    let middle = record_start(data, body.start, usize::midpoint(body.start, body.end));
    let (front, back) = (body.start..middle, middle..body.end);
    // If the record in front of the back half is damaged, the front half says so, and it is asked first.
    let before = Record::read(data, record_start(data, body.start, middle.saturating_sub(1)), hash);
    let last_name = before.and_then(|record| data.get(record.name())).unwrap_or_default();
    let go_on = AtomicBool::new(true);
    thread::scope(|scope| {
        let front = || count_span(data, &front, b"", hash, &mut || go_on.load(Ordering::Relaxed));
        let front = thread::Builder::new().spawn_scoped(scope, front).map_err(|_| front);
        let back = count_span(data, &back, last_name, hash, interrupt);
        if back == Err(Stop::Interrupted) {
            go_on.store(false, Ordering::Relaxed);
        }
        let front = match front {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // No thread to be had: this one reads both halves.
            Err(front) => front(),
        };
        Ok(front?.saturating_add(back?))
    })
}

fn count_span<'a>(
    data: &'a [u8],
    span: &Span,
    mut last_name: &'a [u8],
    hash: HashKind,
    interrupt: Interrupt<'_>,
) -> Result<usize, Stop> {
    let mut count = 0_usize;
    for_each_record(data, span, hash, interrupt, |record| {
        let name = data.get(record.name()).unwrap_or_default();
        if order_of(name, last_name).is_lt() {
            return Err(Damage::at(data, record.start(), Reason::OutOfOrder));
        }
        last_name = name;
        count = count.saturating_add(1);
        Ok(())
    })?;
    Ok(count)
}

/// Calls `visit` for each record in `body`, in file order.
///
/// # Errors
/// The first [`Damage`], also from `visit`; or an interrupt.
#[inline(always)]
pub(super) fn for_each_record(
    data: &[u8],
    body: &Span,
    hash: HashKind,
    interrupt: Interrupt<'_>,
    mut visit: impl FnMut(Record) -> Result<(), Damage>,
) -> Result<(), Stop> {
    let mut breath = Breath::new(body.start);
    let mut pos = body.start;
    while pos < body.end {
        let Some(record) = Record::read(data, pos, hash) else { return Err(diagnose(data, pos, hash).into()) };
        pos = record.end();
        visit(record)?;
        breath.at(pos, interrupt)?;
    }
    Ok(())
}

/// Asks the interrupt every so many bytes.
pub(super) struct Breath {
    due: usize,
}

impl Breath {
    const BYTES: usize = 16 << 20;

    pub(super) fn new(pos: usize) -> Self {
        Self { due: pos.saturating_add(Self::BYTES) }
    }

    #[inline]
    pub(super) fn at(&mut self, pos: usize, interrupt: Interrupt<'_>) -> Result<(), Stop> {
        if pos < self.due {
            return Ok(());
        }
        *self = Self::new(pos);
        if interrupt() { Ok(()) } else { Err(Stop::Interrupted) }
    }
}
