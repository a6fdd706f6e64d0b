//! Waiting for a lock that somebody else holds.
//!
//! Git's schedule: after the n-th try a pause of n² ms, one second at the most, made shorter or longer by up to a quarter,
//! so that those who wait do not wait in step. The pauses as intended use up the time allowed; then one last try is made.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind};
use std::thread::sleep;
use std::time::Duration;

use crate::model::Interrupt;

const LONGEST: u64 = 1000;
/// So long at most until the interrupt is asked.
const BREATH: Duration = Duration::from_millis(50);

/// How long somebody waits for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// This long.
    For(Duration),
    /// Until it is free.
    Forever,
}

impl Patience {
    /// Tries until something else comes of it than "exists already", or patience ends.
    ///
    /// # Errors
    /// That of the last attempt; `Interrupted` if the interrupt says so.
    pub fn try_for<T>(self, interrupt: Interrupt<'_>, mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        let mut left = self;
        for n in 1_u64.. {
            match attempt() {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    if left == Self::For(Duration::ZERO) {
                        return Err(error);
                    }
                }
                done => return done,
            }
            let intended = n.saturating_mul(n).min(LONGEST);
            if let Self::For(time) = &mut left {
                *time = time.saturating_sub(Duration::from_millis(intended));
            }
            pause(Duration::from_micros(intended * (750 + random() % 500)), interrupt)?;
        }
        // The number of tries has no end in this universe.
        attempt()
    }
}

fn pause(mut time: Duration, interrupt: Interrupt<'_>) -> io::Result<()> {
    while time > Duration::ZERO {
        let part = time.min(BREATH);
        sleep(part);
        time -= part;
        if !interrupt() {
            return Err(ErrorKind::Interrupted.into());
        }
    }
    Ok(())
}

/// A number that differs from process to process.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn held(patience: Patience, mut until: usize) -> (io::Result<()>, usize) {
        let mut tries = 0;
        let done = patience.try_for(&mut || true, || {
            tries += 1;
            until = until.saturating_sub(1);
            if until == 0 { Ok(()) } else { Err(ErrorKind::AlreadyExists.into()) }
        });
        (done, tries)
    }

    #[test]
    fn without_patience_there_is_one_try() {
        let (done, tries) = held(Patience::For(Duration::ZERO), usize::MAX);
        assert_eq!((done.unwrap_err().kind(), tries), (ErrorKind::AlreadyExists, 1));
    }

    #[test]
    fn pauses_grow_and_a_last_try_is_made_when_time_is_up() {
        let start = Instant::now();
        let (done, tries) = held(Patience::For(Duration::from_millis(20)), usize::MAX);
        assert!(done.is_err());
        // Pauses of 1, 4, 9 and 16 ms use up 20: five tries.
        assert_eq!(tries, 5);
        assert!(start.elapsed() >= Duration::from_micros(22_500));
    }

    #[test]
    fn a_lock_that_comes_free_is_taken() {
        for patience in [Patience::Forever, Patience::For(Duration::from_secs(9))] {
            let (done, tries) = held(patience, 3);
            assert!(done.is_ok());
            assert_eq!(tries, 3);
        }
    }

    #[test]
    fn other_errors_are_no_reason_to_wait() {
        let done: io::Result<()> = Patience::Forever.try_for(&mut || true, || Err(ErrorKind::NotFound.into()));
        assert_eq!(done.unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn an_interrupt_ends_the_wait() {
        let done: io::Result<()> = Patience::Forever.try_for(&mut || false, || Err(ErrorKind::AlreadyExists.into()));
        assert_eq!(done.unwrap_err().kind(), ErrorKind::Interrupted);
    }
}
