//! Many repositories, read by several threads, handed on in the order that they were named in.
//!
//! ```text
//! job = some repositories in a row, read by one thread; its batches go through a channel of their own
//! ```
//!
//! Jobs are begun in their order and channels are emptied in that order, so a thread that waits for room in its channel
//! waits for nobody who waits for it. Values are copied: a batch has the rows of many small repositories, and shall not
//! keep the files of all.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::batches::{Batch, Failure};
use super::log_columns::LogColumns;
use super::log_rows::LogRows;
use super::plan::Plan;
use super::ref_columns::RefColumns;
use super::ref_rows::RefRows;
use super::repository_columns::RepositoryColumns;
use super::workers::Workers;
use crate::model::{Error, Interrupt};
use crate::python::frame::path_text;
use crate::store::{Live, Lookup, Query};

/// Repositories of one job, at the most.
const MOST_PER_JOB: usize = 64;
/// Batches of a job that wait to be handed on.
const WAITING: usize = 4;

/// What is asked of each repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Refs,
    Logs,
    Repositories,
}

/// A question to many repositories.
#[derive(Clone)]
pub(super) struct Survey {
    pub(super) what: What,
    pub(super) plan: Plan,
    pub(super) query: Query,
    pub(super) most: usize,
    /// Whether a repository that cannot be read is a row; else it is the end.
    pub(super) records: bool,
    pub(super) paths: Arc<[PathBuf]>,
}

type Sender = SyncSender<Result<Batch, Failure>>;

/// The threads at work, and what comes from them.
pub(super) struct Fleet {
    shared: Arc<Shared>,
    receivers: VecDeque<Receiver<Result<Batch, Failure>>>,
    workers: Workers,
}

struct Shared {
    survey: Survey,
    per_job: usize,
    /// Jobs that nobody has begun, in order.
    jobs: Mutex<VecDeque<(usize, Sender)>>,
    /// Repositories that are done with.
    done: AtomicUsize,
    is_dropped: AtomicBool,
}

/// What a look at the fleet gives.
pub(super) enum Look {
    Batch(Batch),
    /// Nothing yet.
    Wait,
    End,
}

impl Fleet {
    /// Sends so many threads out.
    pub(super) fn new(survey: Survey, workers: usize) -> std::io::Result<Self> {
        let per_job = (survey.paths.len() / workers.saturating_mul(8).max(1)).clamp(1, MOST_PER_JOB);
        let count = survey.paths.len().div_ceil(per_job);
        let (jobs, receivers) = (0..count)
            .map(|job| {
                let (sender, receiver) = sync_channel(WAITING);
                ((job, sender), receiver)
            })
            .unzip();
        let (done, is_dropped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let shared = Arc::new(Shared { survey, per_job, jobs: Mutex::new(jobs), done, is_dropped });
        let work = || {
            let shared = shared.clone();
            move || shared.work()
        };
        let workers = Workers::start(workers.min(count), work)?;
        Ok(Self { shared, receivers, workers })
    }

    /// How many repositories are done with.
    pub(super) fn done(&self) -> usize {
        self.shared.done.load(Ordering::Relaxed)
    }

    /// The next batch, if there is one before `patience` ends.
    pub(super) fn look(&mut self, patience: Duration) -> Result<Look, Failure> {
        self.workers.check()?;
        while let Some(receiver) = self.receivers.front() {
            match receiver.recv_timeout(patience) {
                Ok(batch) => return batch.map(Look::Batch),
                Err(RecvTimeoutError::Timeout) => return Ok(Look::Wait),
                Err(RecvTimeoutError::Disconnected) => drop(self.receivers.pop_front()),
            }
        }
        Ok(Look::End)
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.shared.is_dropped.store(true, Ordering::Relaxed);
        if self.workers.are_here() {
            self.shared.jobs.lock().unwrap_or_else(PoisonError::into_inner).clear();
            self.receivers.clear();
        } else {
            std::mem::forget(std::mem::take(&mut self.receivers));
        }
        self.workers.join();
    }
}

impl Shared {
    /// Does one job after the other.
    fn work(&self) {
        loop {
            let job = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some((job, sender)) = job else { return };
            let read = catch_unwind(AssertUnwindSafe(|| self.read(job, &sender)));
            if let Err(failure) = read.unwrap_or_else(|_| Err(Failure::panicked()))
                && sender.send(Err(failure)).is_err()
            {
                return;
            }
        }
    }

    fn read(&self, job: usize, sender: &Sender) -> Result<(), Failure> {
        let mut rows = Rows { survey: &self.survey, sender, columns: Columns::new(&self.survey) };
        for path in self.survey.paths.iter().skip(job * self.per_job).take(self.per_job) {
            let interrupt: Interrupt<'_> = &mut || !self.is_dropped.load(Ordering::Relaxed);
            match rows.add(path, interrupt) {
                Err(Failure::Store(error)) if self.survey.records && !matches!(error, Error::Interrupted) => {
                    rows.columns.push_error(&path_text(path), error.to_string().as_bytes());
                }
                added => added?,
            }
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        rows.hand_on(1)
    }
}

/// The rows of a job.
struct Rows<'a> {
    survey: &'a Survey,
    sender: &'a Sender,
    columns: Columns,
}

impl Rows<'_> {
    /// Adds the rows of a repository.
    fn add(&mut self, path: &Path, interrupt: Interrupt<'_>) -> Result<(), Failure> {
        let Survey { query, most, .. } = self.survey;
        let lookup = Lookup::Live(Arc::new(Live::open_exactly(path)?));
        let name = path_text(path);
        match self.survey.what {
            What::Repositories => {
                if let Columns::Repositories(columns) = &mut self.columns {
                    columns.push(&name, &lookup, query, interrupt)?;
                }
                self.hand_on(*most)
            }
            What::Refs => {
                let mut refs = RefRows::of_view(&lookup.view(query, interrupt)?, query.clone())?;
                while let Columns::Refs(columns) = &mut self.columns {
                    let more = refs.fill(columns, *most, Some(&name), interrupt)?;
                    self.hand_on(*most)?;
                    if !more {
                        break;
                    }
                }
                Ok(())
            }
            What::Logs => {
                let mut logs = LogRows::of_store(lookup, query.clone(), interrupt)?;
                while let Columns::Logs(columns) = &mut self.columns {
                    let more = logs.fill(columns, *most, Some(&name), interrupt)?;
                    self.hand_on(*most)?;
                    if !more {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    /// Hands on a batch, if there are at least so many rows, or it is large.
    fn hand_on(&mut self, least: usize) -> Result<(), Failure> {
        if self.columns.rows() < least && !self.columns.is_large() {
            return Ok(());
        }
        let columns = std::mem::replace(&mut self.columns, Columns::new(self.survey));
        let batch = columns.finish(&self.survey.plan)?;
        // Nobody wants it: the stream was dropped.
        self.sender.send(Ok(batch)).map_err(|_| Error::Interrupted.into())
    }
}

/// The columns of a batch, of whichever rows.
enum Columns {
    Refs(Box<RefColumns>),
    Logs(Box<LogColumns>),
    Repositories(Box<RepositoryColumns>),
}

impl Columns {
    fn new(survey: &Survey) -> Self {
        // A batch of few rows needs little.
        let rows = survey.most.min(1 << 10);
        match survey.what {
            What::Refs => Self::Refs(Box::new(RefColumns::new(&survey.plan, rows, &[]))),
            What::Logs => Self::Logs(Box::new(LogColumns::new(&survey.plan, rows))),
            What::Repositories => Self::Repositories(Box::new(RepositoryColumns::new(&survey.plan, rows))),
        }
    }

    fn rows(&self) -> usize {
        match self {
            Self::Refs(columns) => columns.rows(),
            Self::Logs(columns) => columns.rows(),
            Self::Repositories(columns) => columns.rows(),
        }
    }

    fn is_large(&self) -> bool {
        match self {
            Self::Refs(columns) => columns.is_large(),
            Self::Logs(columns) => columns.is_large(),
            Self::Repositories(_) => false,
        }
    }

    fn push_error(&mut self, repository: &[u8], message: &[u8]) {
        match self {
            Self::Refs(columns) => columns.push_error(repository, message),
            Self::Logs(columns) => columns.push_error(repository, message),
            Self::Repositories(columns) => columns.push_error(repository, message),
        }
    }

    fn finish(self, plan: &Plan) -> Result<Batch, Failure> {
        Ok(match self {
            Self::Refs(columns) => columns.finish(plan)?,
            Self::Logs(columns) => columns.finish(plan)?,
            Self::Repositories(columns) => columns.finish(plan)?,
        })
    }
}
