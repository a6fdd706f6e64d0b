//! A stack: the tables that `tables.list` names, opened together.
//!
//! ```text
//! tables.list = (table file name LF)*      oldest first; a missing file is an empty stack; blank lines are ignored
//! ```
//!
//! Git replaces the list by rename and deletes tables that it no longer names. So a table that is missing was, most
//! likely, just compacted away: the list is read again, and only if it stays the same is that an error.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::TableFile;
use crate::fs::{self, Identity, absolute};
use crate::model::{Error, HashKind, Interrupt, Result};

const LIST: &str = "tables.list";
/// A list is shorter than this: a stack has some dozen tables, of some dozen bytes each.
const LONGEST: u64 = 16 << 20;
/// Tries that are made however long they take, and how long more are made.
const TRIES: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(3);

/// The tables of a stack as they stood at one moment, oldest first.
#[derive(Debug)]
pub struct Stack {
    dir: PathBuf,
    /// The same, wherever the process goes.
    absolute: PathBuf,
    tables: Vec<Arc<TableFile>>,
    list: Option<List>,
}

/// The list that was read. Its descriptor is kept: while it is open no other file can get the same inode number.
#[derive(Debug)]
struct List {
    identity: Identity,
    lines: Vec<Line>,
    _file: File,
}

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    name: String,
    offset: usize,
    /// Counted from 1.
    number: usize,
}

/// Why the tables of a list could not be opened.
enum Failed {
    /// One of them is gone.
    Missing(Error),
    Other(Error),
}

impl Stack {
    /// Opens the stack in a `reftable` directory; reads the list, and header and footer of each table.
    ///
    /// # Errors
    /// [`Error::Interrupted`]; [`Error::Io`]; [`Error::Corrupt`] for a damaged list or table, or one that stays missing.
    pub fn open(dir: PathBuf, hash: Option<HashKind>, may_map: bool, interrupt: Interrupt<'_>) -> Result<Self> {
        Self { absolute: absolute(&dir), dir, tables: Vec::new(), list: None }.reloaded(hash, may_map, interrupt)
    }

    /// The stack as it stands now. Tables that are open already are shared with this one.
    ///
    /// # Errors
    /// As [`Self::open`]; this stack stays as it is.
    pub fn reloaded(&self, hash: Option<HashKind>, may_map: bool, interrupt: Interrupt<'_>) -> Result<Self> {
        let start = Instant::now();
        let mut pause = Duration::from_millis(1);
        let mut lines_before: Option<Vec<Line>> = None;
        for attempt in 1_u32.. {
            let list = self.read_list()?;
            let lines = list.as_ref().map_or(&[][..], |list| &list.lines[..]);
            let is_last = attempt >= TRIES && start.elapsed() >= PATIENCE;
            let missing = match self.open_tables(lines, hash, may_map, interrupt) {
                Ok(tables) if list.is_some() || !self.is_between_lists()? => {
                    return Ok(Self { dir: self.dir.clone(), absolute: self.absolute.clone(), tables, list });
                }
                Ok(_) => self.corrupt(0, None, "tables.list is missing where tables or its lock are".to_owned()),
                Err(Failed::Missing(error)) => error,
                Err(Failed::Other(error)) => return Err(error),
            };
            // The same list twice, and still a table is missing: nobody is about to replace the list. Where there is no
            // list yet, somebody may well be about to make it.
            let is_settled = list.is_some() && lines_before.as_deref() == Some(lines);
            if is_last || (attempt >= TRIES && is_settled) {
                return Err(missing);
            }
            lines_before = Some(lines.to_vec());
            sleep(pause);
            if !interrupt() {
                return Err(Error::Interrupted);
            }
            pause = pause.mul_f32(1.5).min(Duration::from_millis(100));
        }
        Err(self.corrupt(0, None, "tables.list never settled".to_owned()))
    }

    /// The directory as it was given.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The tables, oldest first.
    #[must_use]
    pub fn tables(&self) -> &[Arc<TableFile>] {
        &self.tables
    }

    /// Whether the list has been replaced since. One `stat`.
    ///
    /// # Errors
    /// [`Error::Io`] if the system does not say.
    pub fn is_stale(&self) -> Result<bool> {
        let path = self.absolute.join(LIST);
        let now = Identity::at(&path).map_err(|source| Error::Io { path, source })?;
        Ok(now != self.list.as_ref().map(|list| list.identity))
    }

    /// `None` if there is no list.
    fn read_list(&self) -> Result<Option<List>> {
        let path = self.absolute.join(LIST);
        let read = || -> io::Result<Option<(Identity, Vec<u8>, File)>> {
            let (mut file, meta) = match fs::open(&path) {
                Ok(opened) => opened,
                Err(error) if error.kind() == io::ErrorKind::NotFound && self.absolute.is_dir() => return Ok(None),
                Err(error) => return Err(error),
            };
            let mut text = Vec::new();
            file.by_ref().take(LONGEST).read_to_end(&mut text)?;
            if text.len() as u64 == LONGEST {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            Ok(Some((Identity::of(&meta), text, file)))
        };
        match read() {
            Ok(None) => Ok(None),
            Ok(Some((identity, text, file))) => {
                let lines = self.parse_list(&text)?;
                Ok(Some(List { identity, lines, _file: file }))
            }
            Err(source) => Err(Error::Io { path, source }),
        }
    }

    fn parse_list(&self, text: &[u8]) -> Result<Vec<Line>> {
        let mut lines = Vec::new();
        let mut seen = HashSet::new();
        let mut offset = 0;
        for (number, line) in (1..).zip(text.split_inclusive(|&byte| byte == b'\n')) {
            let damaged = |reason: &str| self.corrupt(offset, Some(number), reason.to_owned());
            let Some(name) = line.strip_suffix(b"\n") else { return Err(damaged("last line is not terminated")) };
            if !name.is_empty() {
                let name = str::from_utf8(name).ok().filter(|name| is_plain_file_name(name));
                let name = name.ok_or_else(|| damaged("line is not the name of a file in this directory"))?;
                if !seen.insert(name) {
                    return Err(damaged("table is listed twice"));
                }
                lines.push(Line { name: name.to_owned(), offset, number });
            }
            offset += line.len();
        }
        Ok(lines)
    }

    fn open_tables(
        &self,
        lines: &[Line],
        hash: Option<HashKind>,
        may_map: bool,
        interrupt: Interrupt<'_>,
    ) -> std::result::Result<Vec<Arc<TableFile>>, Failed> {
        let open: HashMap<&Path, &Arc<TableFile>> = self.tables.iter().map(|table| (table.path(), table)).collect();
        let mut tables: Vec<Arc<TableFile>> = Vec::new();
        for line in lines {
            let Line { name, offset, number } = line;
            let path = self.absolute.join(name);
            let table = match open.get(path.as_path()) {
                // Git never uses a name again, but a backup that is put back does.
                Some(open) if !open.is_stale().map_err(Failed::Other)? => Arc::clone(open),
                _ => match TableFile::open(path, hash, may_map, interrupt) {
                    Ok(table) => Arc::new(table),
                    Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                        let reason = format!("table is listed but missing: {name}");
                        return Err(Failed::Missing(self.corrupt(*offset, Some(*number), reason)));
                    }
                    Err(error) => return Err(Failed::Other(error)),
                },
            };
            if let Some(first) = tables.first()
                && first.table().header().hash != table.table().header().hash
            {
                let reason = format!("table is of another hash than the first: {name}");
                return Err(Failed::Other(self.corrupt(*offset, Some(*number), reason)));
            }
            tables.push(table);
        }
        Ok(tables)
    }

    /// Whether, without a list, the directory holds a table or the lock of a list about to be made.
    fn is_between_lists(&self) -> Result<bool> {
        let failed = |source| Error::Io { path: self.dir.clone(), source };
        for entry in self.absolute.read_dir().map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let is_lock = name == OsStr::new("tables.list.lock");
            if is_lock || Path::new(&name).extension().is_some_and(|extension| extension == "ref" || extension == "log")
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn corrupt(&self, offset: usize, line: Option<usize>, reason: String) -> Error {
        Error::Corrupt { path: self.dir.join(LIST), offset, line, reason }
    }
}

/// Whether the name can only mean a file in the directory it is joined to.
fn is_plain_file_name(name: &str) -> bool {
    !matches!(name, "." | "..") && !name.contains(['/', '\\', ':', '\0', '\r'])
}
