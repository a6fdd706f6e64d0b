//! The lines of an append-only file, from either end, without a map: a log that is emptied in place is just at its end.
//!
//! A line's LF belongs to it; only the last one may lack it. A line that is longer than any of git's is passed over.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use memchr::{memchr, memrchr};

use crate::model::Span;

/// Bytes that are read at once, at least.
const PIECE: usize = 64 << 10;
/// No line is kept that is longer.
const LONGEST: usize = 16 << 20;

/// Where a walk over lines stands.
#[derive(Debug)]
pub struct Lines {
    file: File,
    /// What is still to come.
    start: u64,
    end: u64,
    is_reverse: bool,
    /// A part of the file that holds what comes next, and where it starts.
    window: Vec<u8>,
    window_start: u64,
    /// Whether what comes next belongs to a line that is passed over.
    is_amid_long: bool,
}

/// What a walk came to.
#[derive(Debug, PartialEq, Eq)]
pub enum LineStep {
    /// A line: [`Lines::bytes`] has it.
    Line(Span),
    /// A line that is too long.
    TooLong,
    /// More had to be read: ask again, or see first whether anybody wants to go on.
    Read,
    /// All lines were there.
    End,
}

impl Lines {
    /// The lines of a file's first `len` bytes.
    #[must_use]
    pub fn new(file: File, len: u64, is_reverse: bool) -> Self {
        let window_start = if is_reverse { len } else { 0 };
        Self { file, start: 0, end: len, is_reverse, window: Vec::new(), window_start, is_amid_long: false }
    }

    /// The stretch of the file that is still to come.
    #[must_use]
    pub fn rest(&self) -> Range<u64> {
        self.start..self.end
    }

    /// Goes back to where this was still to come.
    pub fn rewind(&mut self, rest: Range<u64>) {
        self.window.clear();
        self.window_start = if self.is_reverse { rest.end } else { rest.start };
        (self.start, self.end, self.is_amid_long) = (rest.start, rest.end, false);
    }

    /// The bytes of a line that [`Self::step`] came to last.
    #[must_use]
    pub fn bytes(&self, line: Span) -> &[u8] {
        self.window.get(line).unwrap_or_default()
    }

    /// Goes to the next line.
    ///
    /// # Errors
    /// What the system says.
    pub fn step(&mut self) -> io::Result<LineStep> {
        if self.start >= self.end {
            let is_amid_long = std::mem::take(&mut self.is_amid_long);
            return Ok(if is_amid_long { LineStep::TooLong } else { LineStep::End });
        }
        if self.is_reverse { self.step_back() } else { self.step_on() }
    }

    fn step_on(&mut self) -> io::Result<LineStep> {
        let from = within(self.start, self.window_start);
        let text = self.window.get(from..).unwrap_or_default();
        let window_end = self.window_start.saturating_add(self.window.len() as u64);
        let len = match memchr(b'\n', text) {
            Some(lf) => lf.saturating_add(1),
            None if window_end >= self.end && text.len() <= LONGEST => text.len(),
            None => {
                if text.len() > LONGEST {
                    (self.start, self.is_amid_long) = (window_end, true);
                }
                self.read_on()?;
                return Ok(LineStep::Read);
            }
        };
        self.start = self.start.saturating_add(len as u64);
        if std::mem::take(&mut self.is_amid_long) || len > LONGEST {
            return Ok(LineStep::TooLong);
        }
        Ok(LineStep::Line(from..from.saturating_add(len)))
    }

    /// Lets go of what was passed, and appends the next piece to the window.
    fn read_on(&mut self) -> io::Result<()> {
        self.window.drain(..within(self.start, self.window_start).min(self.window.len()));
        self.window_start = self.start;
        let at = self.window_start.saturating_add(self.window.len() as u64);
        let len = (PIECE.max(self.window.len()) as u64).min(self.end.saturating_sub(at));
        let read = self.read(at, len)?;
        if (read.len() as u64) < len {
            // It was cut meanwhile.
            self.end = at.saturating_add(read.len() as u64);
        }
        self.window.extend_from_slice(&read);
        Ok(())
    }

    fn step_back(&mut self) -> io::Result<LineStep> {
        let to = within(self.end, self.window_start);
        let text = self.window.get(..to).unwrap_or_default();
        let before_end = text.get(..text.len().saturating_sub(1)).unwrap_or_default();
        let from = match memrchr(b'\n', before_end) {
            Some(lf) => lf.saturating_add(1),
            None if self.window_start <= self.start && (1..=LONGEST).contains(&text.len()) => 0,
            None => {
                if text.len() > LONGEST {
                    // An LF at its end is of the line that is passed over.
                    (self.end, self.is_amid_long) = (self.window_start, true);
                }
                self.read_back()?;
                return Ok(LineStep::Read);
            }
        };
        if self.is_amid_long && text.ends_with(b"\n") {
            // The long line began right behind this LF.
            self.is_amid_long = false;
            return Ok(LineStep::TooLong);
        }
        self.end = self.window_start.saturating_add(from as u64);
        if std::mem::take(&mut self.is_amid_long) || to - from > LONGEST {
            return Ok(LineStep::TooLong);
        }
        Ok(LineStep::Line(from..to))
    }

    /// Lets go of what was passed, and puts the piece before it in front of the window.
    fn read_back(&mut self) -> io::Result<()> {
        self.window.truncate(within(self.end, self.window_start));
        let len = (PIECE.max(self.window.len()) as u64).min(self.window_start.saturating_sub(self.start));
        let at = self.window_start.saturating_sub(len);
        let mut read = self.read(at, len)?;
        if (read.len() as u64) < len {
            // It was cut meanwhile: nothing that is left is its end.
            self.end = self.start;
            return Ok(());
        }
        read.extend_from_slice(&self.window);
        (self.window, self.window_start) = (read, at);
        Ok(())
    }

    fn read(&mut self, at: u64, len: u64) -> io::Result<Vec<u8>> {
        self.file.seek(SeekFrom::Start(at))?;
        let mut read = Vec::new();
        self.file.by_ref().take(len).read_to_end(&mut read)?;
        Ok(read)
    }
}

/// An offset in the file as one in the window.
fn within(offset: u64, window_start: u64) -> usize {
    usize::try_from(offset.saturating_sub(window_start)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// The lines of a file with that content, and how many were too long.
    fn lines(content: &[u8], is_reverse: bool) -> (Vec<Vec<u8>>, usize) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        let mut walk = Lines::new(file, content.len() as u64, is_reverse);
        let (mut found, mut long) = (Vec::new(), 0);
        loop {
            match walk.step().unwrap() {
                LineStep::Line(line) => found.push(walk.bytes(line).to_vec()),
                LineStep::TooLong => long += 1,
                LineStep::Read => {}
                LineStep::End => break,
            }
        }
        if is_reverse {
            found.reverse();
        }
        (found, long)
    }

    fn whole(content: &[u8]) -> Vec<Vec<u8>> {
        content.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
    }

    #[test]
    fn both_ends_give_the_same_lines() {
        for content in ["", "\n", "a", "a\n", "a\nb", "a\nb\n", "\n\n", "\na\n\nb\n"] {
            for is_reverse in [false, true] {
                assert_eq!(lines(content.as_bytes(), is_reverse), (whole(content.as_bytes()), 0), "{content:?}");
            }
        }
    }

    #[test]
    fn an_end_of_line_may_fall_on_any_side_of_an_end_of_piece() {
        for len in [PIECE - 2, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE - 1, 2 * PIECE, 3 * PIECE + 7] {
            for last in ["x\n", "x", "", "\n"] {
                let content = [&vec![b'a'; len][..], b"\nb\n", &vec![b'c'; len], b"\n", last.as_bytes()].concat();
                for is_reverse in [false, true] {
                    assert_eq!(lines(&content, is_reverse), (whole(&content), 0), "{len} {last:?} {is_reverse}");
                }
            }
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let long = vec![b'x'; LONGEST * 2];
        for (front, back) in [("a\n", "\nb\nc\n"), ("", "\nb\n"), ("a\n", ""), ("", "")] {
            let content = [front.as_bytes(), &long, back.as_bytes()].concat();
            let kept: Vec<_> = whole(&content).into_iter().filter(|line| line.len() < LONGEST).collect();
            for is_reverse in [false, true] {
                let (found, count) = lines(&content, is_reverse);
                assert_eq!((found.len(), count), (kept.len(), 1), "{front:?} {back:?} {is_reverse}");
                assert_eq!(found, kept);
            }
        }
    }

    #[test]
    fn a_file_that_is_emptied_has_no_more_lines() {
        for is_reverse in [false, true] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&b"line\n".repeat(PIECE)).unwrap();
            let mut walk = Lines::new(file.try_clone().unwrap(), 5 * PIECE as u64, is_reverse);
            assert_eq!(walk.step().unwrap(), LineStep::Read);
            file.set_len(0).unwrap();
            let steps = std::iter::from_fn(|| Some(walk.step().unwrap())).take_while(|step| *step != LineStep::End);
            assert!(steps.count() <= PIECE / 5 + 3);
        }
    }
}
