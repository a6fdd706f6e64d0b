//! Threads that a stream has, which end with it.

use std::process;
use std::thread::{self, JoinHandle};

use super::batches::Failure;
use arrow_schema::ArrowError;

/// The threads of a stream. A forked process has none of them, whatever was handed to it.
pub(super) struct Workers {
    threads: Vec<JoinHandle<()>>,
    process: u32,
}

impl Workers {
    /// Starts so many threads, or as many as there are to be had; the error if that is none of some.
    pub(super) fn start<W: FnOnce() + Send + 'static>(count: usize, work: impl Fn() -> W) -> std::io::Result<Self> {
        let mut workers = Self { threads: Vec::new(), process: process::id() };
        for _ in 0..count {
            match thread::Builder::new().spawn(work()) {
                Ok(thread) => workers.threads.push(thread),
                Err(error) if workers.threads.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(workers)
    }

    /// None: whoever asks does it all.
    pub(super) fn none() -> Self {
        Self { threads: Vec::new(), process: process::id() }
    }

    /// Whether this is the process that they are in: in another one locks may be held, and work begun, by nobody.
    pub(super) fn are_here(&self) -> bool {
        self.process == process::id()
    }

    /// [`Self::are_here`], or why nothing more comes.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.are_here() {
            return Ok(());
        }
        let message = "the stream was opened before this process was forked, and its threads are not in it";
        Err(ArrowError::ExternalError(message.into()).into())
    }

    /// Waits for their ends.
    pub(super) fn join(&mut self) {
        for thread in self.threads.drain(..) {
            if self.process == process::id() {
                // What panics was caught.
                let _ = thread.join();
            } else {
                std::mem::forget(thread);
            }
        }
    }
}
