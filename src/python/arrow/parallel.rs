//! Refs in parts, read by several threads, handed on in order.
//!
//! Whoever asks for a batch reads too: the part that is next, if nobody has begun it, or one behind it while another thread
//! reads that. Where no thread is to be had it reads them all.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::batches::{Batch, Batches, Failure, Refs};
use super::plan::Plan;
use super::ref_columns::RefColumns;
use super::ref_rows::RefRows;
use super::workers::Workers;
use crate::model::{Error, Interrupt};

/// Bytes of a file that are one part; fewer if batches are small, but no fewer than that: those of a part wait together.
const PART: usize = 2 << 20;
const LEAST_PART: usize = 64 << 10;
/// About what a ref takes.
const REF: usize = 64;
/// Threads besides the one that asks.
const MOST_WORKERS: usize = 3;
/// Parts that may be read before they are asked for.
const AHEAD: usize = 6;
/// How long is waited for another thread until signals are seen to.
const WAIT: Duration = Duration::from_millis(50);

/// The refs of one source, in parts.
struct Parallel {
    shared: Arc<Shared>,
    workers: Workers,
    /// The part that is handed on next, and its batches that were not.
    next: usize,
    ready: VecDeque<Batch>,
    /// Where the part before it ended.
    end: Option<Vec<Option<usize>>>,
}

struct Shared {
    job: Job,
    state: Mutex<State>,
    changed: Condvar,
}

/// How parts are read.
struct Job {
    plan: Plan,
    most: usize,
    repository: Vec<u8>,
    parts: usize,
}

struct State {
    /// Parts that nobody has begun, with their numbers.
    waiting: VecDeque<(usize, RefRows)>,
    /// Parts that were read.
    done: BTreeMap<usize, Result<Part, Failure>>,
    /// The part that is handed on next.
    next: usize,
    is_dropped: bool,
}

/// A part that was read: its batches, itself, and where it began.
struct Part {
    batches: VecDeque<Batch>,
    rows: RefRows,
    start: Vec<Option<usize>>,
}

/// These refs as batches: in parts, if they come to more than one.
pub(super) fn batches(rows: RefRows, plan: &Plan, most: usize, repository: Vec<u8>) -> Box<dyn Batches> {
    let part = most.saturating_mul(REF).clamp(LEAST_PART, PART);
    let mut parts: VecDeque<_> = rows.split(part).into();
    match parts.pop_front() {
        Some(rows) if parts.is_empty() => Box::new(Refs { rows, repository }),
        first => {
            let waiting = first.into_iter().chain(parts).enumerate().collect();
            Box::new(Parallel::new(waiting, plan.clone(), most, repository))
        }
    }
}

impl Parallel {
    fn new(waiting: VecDeque<(usize, RefRows)>, plan: Plan, most: usize, repository: Vec<u8>) -> Self {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        let wanted = waiting.len().min(processors).saturating_sub(1).min(MOST_WORKERS);
        let parts = waiting.len();
        let state = State { waiting, done: BTreeMap::new(), next: 0, is_dropped: false };
        let job = Job { plan, most, repository, parts };
        let shared = Arc::new(Shared { job, state: Mutex::new(state), changed: Condvar::new() });
        let work = || {
            let shared = shared.clone();
            move || shared.work()
        };
        let workers = Workers::start(wanted, work).unwrap_or_else(|_| Workers::none());
        Self { shared, workers, next: 0, ready: VecDeque::new(), end: None }
    }
}

impl Batches for Parallel {
    fn next(&mut self, _: &Plan, _: usize, interrupt: Interrupt<'_>) -> Result<Option<Batch>, Failure> {
        self.workers.check()?;
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            let Some(part) = self.shared.part(self.next, interrupt)? else { return Ok(None) };
            let Part { batches, rows, start } = part;
            if let Some(end) = &self.end {
                rows.check_joint(end, &start)?;
            }
            self.end = Some(rows.place());
            self.ready = batches;
            self.next += 1;
        }
    }
}

impl Drop for Parallel {
    fn drop(&mut self) {
        if self.workers.are_here() {
            self.shared.lock().is_dropped = true;
            self.shared.changed.notify_all();
        }
        // They use what is held here only as long as they read their part.
        self.workers.join();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// That part, the next one; `None` behind the last one.
    fn part(&self, number: usize, interrupt: Interrupt<'_>) -> Result<Option<Part>, Failure> {
        if number >= self.job.parts {
            return Ok(None);
        }
        let mut state = self.lock();
        state.next = number;
        self.changed.notify_all();
        loop {
            if let Some(done) = state.done.remove(&number) {
                return done.map(Some);
            }
            let is_next = state.waiting.front().is_some_and(|(first, _)| *first == number);
            if (is_next || state.may_go_on())
                && let Some((at, rows)) = state.waiting.pop_front()
            {
                drop(state);
                let part = self.job.read_safely(rows, interrupt);
                if at == number {
                    return part.map(Some);
                }
                state = self.lock();
                state.done.insert(at, part);
                continue;
            }
            let waited = self.changed.wait_timeout(state, WAIT);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if !interrupt() {
                return Err(Error::Interrupted.into());
            }
        }
    }

    /// Reads one part after the other, not too far ahead.
    fn work(&self) {
        let mut state = self.lock();
        while !state.is_dropped && !state.waiting.is_empty() {
            if !state.may_go_on() {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let Some((number, rows)) = state.waiting.pop_front() else { break };
            drop(state);
            // Dropped, a stream waits for no more than a part.
            let part = self.job.read_safely(rows, &mut || true);
            state = self.lock();
            state.done.insert(number, part);
            self.changed.notify_all();
        }
    }
}

impl State {
    /// Whether the first part that waits may be read now.
    fn may_go_on(&self) -> bool {
        self.waiting.front().is_some_and(|(number, _)| *number < self.next + AHEAD)
    }
}

impl Job {
    /// A part that panics is one that failed: whoever waits for it shall not wait for ever.
    fn read_safely(&self, rows: RefRows, interrupt: Interrupt<'_>) -> Result<Part, Failure> {
        let read = catch_unwind(AssertUnwindSafe(|| self.read(rows, interrupt)));
        read.unwrap_or_else(|_| Err(Failure::panicked()))
    }

    fn read(&self, mut rows: RefRows, interrupt: Interrupt<'_>) -> Result<Part, Failure> {
        rows.begin()?;
        let start = rows.place();
        let mut batches = VecDeque::new();
        loop {
            let mut columns = RefColumns::new(&self.plan, self.most.min(PART / REF), rows.sources());
            let more = rows.fill(&mut columns, self.most, Some(&self.repository), interrupt)?;
            if columns.rows() > 0 {
                batches.push_back(columns.finish(&self.plan)?);
            }
            if !more {
                return Ok(Part { batches, rows, start });
            }
        }
    }
}
