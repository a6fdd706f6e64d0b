//! A new file from parts of an old one: read, checked, written, piece by piece.
//!
//! ```text
//! steps -> read into a buffer -> check (and mend) what is whole in it -> write that -> carry the rest over
//! ```
//!
//! The bytes that were checked are the bytes that are written: whatever happens to the old file meanwhile, nothing else gets
//! into the new one. A large file is written by a thread of its own, while the next piece is read and checked.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::iter::Peekable;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::fault::{Call, enter};
use super::temporary::write_all;
use crate::model::{Interrupt, Span};

/// Bytes that are read at a time: measured, larger ones leave the processor's cache.
const PIECE: usize = 256 << 10;
/// Pieces between two questions to the interrupt.
const BREATH: usize = 64;
/// Less is not worth a thread.
const WORTH_A_THREAD: usize = 1 << 20;
/// A shorter span is read together with those that follow it.
const SHORT: usize = 16 << 10;
/// Pieces that wait to be written.
const WAITING: usize = 2;

/// What can be read at an offset. No map: one of a file that is cut in place would end the process.
pub trait ReadAt {
    /// Reads some bytes from an offset on; none at the end.
    ///
    /// # Errors
    /// What the system says.
    fn read_at(&self, buffer: &mut [u8], at: usize) -> io::Result<usize>;

    /// Fills the buffer.
    ///
    /// # Errors
    /// What the system says; "unexpected end" if there are fewer bytes.
    fn read_exact_at(&self, mut buffer: &mut [u8], mut at: usize) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read_at(buffer, at) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(len) => {
                    at = at.saturating_add(len);
                    buffer = buffer.get_mut(len..).unwrap_or_default();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], at: usize) -> io::Result<usize> {
        enter(Call::Read, Path::new(""))?;
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_at(self, buffer, at as u64);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_read(self, buffer, at as u64);
    }
}

/// A part of the new file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<'a> {
    /// These bytes of the old one.
    Keep(Span),
    /// These bytes.
    Put(&'a [u8]),
}

impl Step<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Keep(span) => span.len(),
            Self::Put(bytes) => bytes.len(),
        }
    }
}

/// What looks at every byte before it is written.
pub trait Check {
    /// What it may find wrong.
    type Flaw;

    /// Checks, and may mend, the whole records at the start of the piece, and says how many bytes they are. The next piece
    /// starts behind them; the last one must be whole.
    ///
    /// # Errors
    /// What is wrong with them.
    fn check(&mut self, piece: &mut [u8], is_last: bool) -> Result<usize, Self::Flaw>;
}

/// Why no new file came of it.
#[derive(Debug)]
pub enum Unspliced<F> {
    /// The old file could not be read.
    Read(io::Error),
    /// The new one could not be written.
    Write(io::Error),
    /// The check found something.
    Flaw(F),
    /// The interrupt said so.
    Interrupted,
}

/// Checks what the steps give, and writes it into a file, if there is one.
///
/// # Errors
/// [`Unspliced`]; what was written by then is of no use.
pub fn splice<'a, C: Check>(
    from: &impl ReadAt,
    steps: impl IntoIterator<Item = Step<'a>>,
    check: &mut C,
    into: Option<(&File, &Path)>,
    interrupt: Interrupt<'_>,
) -> Result<(), Unspliced<C::Flaw>> {
    let steps: Vec<_> = steps.into_iter().collect();
    let len = steps.iter().fold(0_usize, |len, step| len.saturating_add(step.len()));
    let has_thread =
        into.is_some() && len >= WORTH_A_THREAD && thread::available_parallelism().map_or(1, NonZero::get) > 1;
    let mut pump = Pump {
        steps: steps.into_iter().peekable(),
        from: Reader { from, ahead: Vec::new(), at: 0 },
        buffer: vec![0; PIECE],
        filled: 0,
    };
    let mut written = 0;
    loop {
        let is_done = match into {
            None => pump.run(check, &mut Sink::Nothing)?,
            Some((file, path)) if has_thread => pump.run_beside(check, file, path, &mut written)?,
            Some((file, path)) => pump.run(check, &mut Sink::File(file, path))?,
        };
        if is_done {
            return Ok(());
        }
        // Not while there is a thread: a signal handler may fork, and the child has none.
        if !interrupt() {
            return Err(Unspliced::Interrupted);
        }
    }
}

/// Has the system begin to put what was written on disk, and waits for nothing.
///
/// It would begin no later than when the file takes the place of another one, and whoever then removes a file or directory
/// waits for it: on ext4, for several milliseconds. (The advice that these bytes are not needed soon is what starts it. Being
/// on their way to the disk they are kept in memory all the same.)
#[cfg(target_os = "linux")]
fn begin_write_out(file: &File, from: usize, to: usize) {
    let len = std::num::NonZeroU64::new(to.saturating_sub(from) as u64);
    // A hint: where it is refused, nothing is lost.
    let _ = rustix::fs::fadvise(file, from as u64, len, rustix::fs::Advice::DontNeed);
}

/// There is no such hint.
#[cfg(not(target_os = "linux"))]
fn begin_write_out(_: &File, _: usize, _: usize) {}

/// Where checked pieces go.
enum Sink<'a> {
    Nothing,
    File(&'a File, &'a Path),
    /// To a thread that writes them and gives their memory back; how many it has.
    Thread(Option<SyncSender<(Vec<u8>, usize)>>, Receiver<io::Result<Vec<u8>>>, usize),
}

impl Sink<'_> {
    /// Takes the first bytes of a buffer, and returns a buffer to use next; its content is of no matter.
    fn put(&mut self, buffer: Vec<u8>, len: usize) -> io::Result<Vec<u8>> {
        match self {
            Self::Nothing => Ok(buffer),
            Self::File(file, path) => {
                write_all(file, buffer.get(..len).unwrap_or_default(), path)?;
                Ok(buffer)
            }
            Self::Thread(pieces, done, waiting) => {
                // The other end is there as long as this one is.
                let _ = pieces.as_ref().map(|pieces| pieces.send((buffer, len)));
                *waiting += 1;
                if *waiting <= WAITING {
                    return Ok(Vec::new());
                }
                *waiting -= 1;
                done.recv().unwrap_or_else(|_| Err(ErrorKind::BrokenPipe.into()))
            }
        }
    }

    /// Returns when everything is written.
    fn finish(&mut self) -> io::Result<()> {
        if let Self::Thread(pieces, done, waiting) = self {
            *pieces = None;
            for result in done.iter().take(*waiting) {
                result?;
            }
        }
        Ok(())
    }
}

/// What is on its way.
struct Pump<'a, R> {
    steps: Peekable<std::vec::IntoIter<Step<'a>>>,
    from: Reader<'a, R>,
    buffer: Vec<u8>,
    filled: usize,
}

impl<R: ReadAt> Pump<'_, R> {
    /// Moves pieces on, as many as there may be between two questions to the interrupt, and says whether those were all.
    fn run<C: Check>(&mut self, check: &mut C, sink: &mut Sink<'_>) -> Result<bool, Unspliced<C::Flaw>> {
        for _ in 0..BREATH {
            while self.filled < self.buffer.len() {
                let Some(step) = self.steps.peek_mut() else { break };
                let room = self.buffer.get_mut(self.filled..).unwrap_or_default();
                let taken = take(step, &mut self.from, room).map_err(Unspliced::Read)?;
                self.filled = self.filled.saturating_add(taken);
                if step.len() == 0 {
                    self.steps.next();
                }
            }
            let is_last = self.steps.peek().is_none();
            let piece = self.buffer.get_mut(..self.filled).unwrap_or_default();
            let checked = check.check(piece, is_last).map_err(Unspliced::Flaw)?;
            // What is not whole yet begins the next piece.
            let rest = self.buffer.get(checked..self.filled).unwrap_or_default().to_vec();
            self.buffer = sink.put(std::mem::take(&mut self.buffer), checked).map_err(Unspliced::Write)?;
            if is_last {
                sink.finish().map_err(Unspliced::Write)?;
                return Ok(true);
            }
            self.filled = rest.len();
            // A record may be longer than a buffer.
            let len = self.buffer.len().max(PIECE).max(rest.len().saturating_mul(2));
            let more = self.buffer.try_reserve_exact(len.saturating_sub(self.buffer.len()));
            more.map_err(|_| Unspliced::Write(ErrorKind::OutOfMemory.into()))?;
            self.buffer.resize(len, 0);
            self.buffer.get_mut(..rest.len()).unwrap_or_default().copy_from_slice(&rest);
        }
        sink.finish().map_err(Unspliced::Write)?;
        Ok(false)
    }

    /// The same, while a thread writes.
    fn run_beside<C: Check>(
        &mut self,
        check: &mut C,
        file: &File,
        path: &Path,
        written: &mut usize,
    ) -> Result<bool, Unspliced<C::Flaw>> {
        thread::scope(|scope| {
            let (pieces, to_write) = sync_channel::<(Vec<u8>, usize)>(WAITING);
            let (done_with, done) = sync_channel(WAITING + 1);
            let (mut at, mut begun) = (*written, *written);
            let write = move || {
                for (buffer, len) in to_write {
                    let result = write_all(file, buffer.get(..len).unwrap_or_default(), path);
                    at += len;
                    if at - begun >= WORTH_A_THREAD {
                        begin_write_out(file, begun, at);
                        begun = at;
                    }
                    if done_with.send(result.map(|()| buffer)).is_err() {
                        break;
                    }
                }
                at
            };
            match thread::Builder::new().spawn_scoped(scope, write) {
                Ok(thread) => {
                    let is_done = self.run(check, &mut Sink::Thread(Some(pieces), done, 0));
                    *written = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
                    is_done
                }
                // No thread to be had.
                Err(_) => self.run(check, &mut Sink::File(file, path)),
            }
        })
    }
}

/// Moves some bytes of a step into the room for them, and leaves the rest of the step.
fn take(step: &mut Step<'_>, from: &mut Reader<'_, impl ReadAt>, room: &mut [u8]) -> io::Result<usize> {
    match step {
        Step::Keep(span) => {
            let len = span.len().min(room.len());
            from.read(room.get_mut(..len).unwrap_or_default(), span.clone())?;
            span.start = span.start.saturating_add(len);
            Ok(len)
        }
        Step::Put(bytes) => {
            let len = bytes.len().min(room.len());
            let (now, later) = bytes.split_at(len);
            room.get_mut(..len).unwrap_or_default().copy_from_slice(now);
            *bytes = later;
            Ok(len)
        }
    }
}

/// Reads spans that follow each other closely in few calls.
struct Reader<'a, R> {
    from: &'a R,
    ahead: Vec<u8>,
    /// Where that begins.
    at: usize,
}

impl<R: ReadAt> Reader<'_, R> {
    /// Fills the room with the first bytes of a span.
    fn read(&mut self, room: &mut [u8], span: Span) -> io::Result<()> {
        if span.len() >= SHORT {
            return self.from.read_exact_at(room, span.start);
        }
        if let Some(ahead) = self.ahead(&span) {
            room.copy_from_slice(ahead.get(..room.len()).unwrap_or_default());
            return Ok(());
        }
        self.ahead.resize(SHORT.saturating_mul(4), 0);
        let read = match self.from.read_at(&mut self.ahead, span.start) {
            Err(error) if error.kind() == ErrorKind::Interrupted => 0,
            read => read?,
        };
        self.ahead.truncate(read);
        self.at = span.start;
        match self.ahead(&span) {
            Some(ahead) => room.copy_from_slice(ahead.get(..room.len()).unwrap_or_default()),
            // The file has become shorter, or it was read in part.
            None => self.from.read_exact_at(room, span.start)?,
        }
        Ok(())
    }

    /// The bytes of a span, if they were read already.
    fn ahead(&self, span: &Span) -> Option<&[u8]> {
        self.ahead.get(span.start.checked_sub(self.at)?..span.end.checked_sub(self.at)?)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;

    /// Lets whole lines pass, none with an x; makes a of A.
    struct Lines;

    impl Check for Lines {
        type Flaw = ();

        fn check(&mut self, piece: &mut [u8], is_last: bool) -> Result<usize, ()> {
            let whole = piece.iter().rposition(|&byte| byte == b'\n').map_or(0, |lf| lf + 1);
            let whole = &mut piece[..whole];
            whole.iter_mut().filter(|byte| **byte == b'A').for_each(|byte| *byte = b'a');
            let len = whole.len();
            if whole.contains(&b'x') || (is_last && len < piece.len()) { Err(()) } else { Ok(len) }
        }
    }

    fn spliced(old: &[u8], steps: Vec<Step<'_>>) -> Result<Vec<u8>, Unspliced<()>> {
        let (mut from, mut into) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        io::Write::write_all(&mut from, old).unwrap();
        splice(&from, steps, &mut Lines, Some((&into, Path::new(""))), &mut || true)?;
        let mut written = Vec::new();
        into.rewind().unwrap();
        into.read_to_end(&mut written).unwrap();
        Ok(written)
    }

    #[test]
    fn parts_follow_each_other_and_are_checked_as_one() {
        let new = spliced(b"one\ntwo\nthree\n", vec![Step::Keep(0..4), Step::Put(b"A\n"), Step::Keep(8..14)]);
        assert_eq!(new.unwrap(), b"one\na\nthree\n");
        // A step may end within a line that the next one goes on with.
        assert_eq!(spliced(b"one\n", vec![Step::Put(b"not-"), Step::Keep(0..4)]).unwrap(), b"not-one\n");
        assert_eq!(spliced(b"", vec![]).unwrap(), b"");
    }

    #[test]
    fn lines_longer_than_a_piece_are_whole() {
        let long = [vec![b'l'; 3 * PIECE], b"\nshort\n".to_vec(), vec![b'm'; PIECE - 1], b"\n".to_vec()].concat();
        assert_eq!(spliced(&long, vec![Step::Keep(0..long.len())]).unwrap(), long);
    }

    #[test]
    fn what_is_wrong_stops_it() {
        assert!(matches!(spliced(b"one\nx\n", vec![Step::Keep(0..6)]), Err(Unspliced::Flaw(()))));
        assert!(matches!(spliced(b"one\ntw", vec![Step::Keep(0..6)]), Err(Unspliced::Flaw(()))));
        let cut = spliced(b"one\n", vec![Step::Keep(0..400)]);
        assert!(matches!(cut, Err(Unspliced::Read(error)) if error.kind() == ErrorKind::UnexpectedEof));
    }
}
