//! Transactions in which a call to the system fails.
#![allow(dead_code, reason = "each test binary uses a part of it")]

pub(crate) mod case;
pub(crate) mod repository;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize};
use std::sync::{Mutex, MutexGuard, PoisonError};

use refspan::fs::{Call, watch};

static TURN: Mutex<()> = Mutex::new(());
static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static FAIL_AT: AtomicUsize = AtomicUsize::new(0);
static ERRNO: AtomicI32 = AtomicI32::new(0);
static LASTS: AtomicBool = AtomicBool::new(false);
static CALLS: Mutex<Vec<(Call, PathBuf)>> = Mutex::new(Vec::new());

/// Stands for an error number: the process ends there.
pub(crate) const KILL: i32 = -1;

/// The call that fails, if any: one test at a time may say.
pub(crate) struct Faults(MutexGuard<'static, ()>);

impl Faults {
    /// The call of that number fails; none if it is 0.
    pub(crate) fn at(number: usize, errno: i32) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        watch(hook);
        CALLS.lock().unwrap().clear();
        count_calls(false);
        FAIL_AT.store(number, SeqCst);
        ERRNO.store(errno, SeqCst);
        LASTS.store(false, SeqCst);
        Self(turn)
    }

    /// From the call of that number on all fail that take room, or may.
    pub(crate) fn from(number: usize, errno: i32) -> Self {
        let faults = Self::at(number, errno);
        LASTS.store(true, SeqCst);
        faults
    }

    /// The calls that were made.
    pub(crate) fn calls(self) -> Vec<(Call, PathBuf)> {
        let calls = std::mem::take(&mut *CALLS.lock().unwrap());
        drop(self);
        calls
    }
}

/// Has calls counted from now on, or not any more.
fn count_calls(yes: bool) {
    IS_COUNTING.store(yes, SeqCst);
}

fn hook(call: Call, path: &Path) -> io::Result<()> {
    if !IS_COUNTING.load(SeqCst) {
        return Ok(());
    }
    let mut calls = CALLS.lock().unwrap();
    calls.push((call, path.to_owned()));
    let takes_room = !matches!(call, Call::Read | Call::Remove | Call::RemoveDir);
    let (number, at, lasts) = (calls.len(), FAIL_AT.load(SeqCst), LASTS.load(SeqCst));
    match (number == at && !lasts || number >= at && lasts && takes_room, ERRNO.load(SeqCst)) {
        (false, _) => Ok(()),
        (true, KILL) => die(),
        (true, errno) => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// Ends the process so that nothing of it runs any more.
fn die() -> ! {
    let _ = Command::new("kill").args(["-9", &std::process::id().to_string()]).status();
    loop {
        std::thread::park();
    }
}
