//! Finding the repository that a path lies in, as git does.
//!
//! A directory is a git directory if it has a `HEAD` that could be one, and its common directory has `objects` and `refs`. A
//! work tree has one named `.git`, or a file of that name: `gitdir: <path> LF`. The search goes up from the path, until a
//! directory named in `GIT_CEILING_DIRECTORIES`, or the end of the file system.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::fs::{self, There, look, read_through};
use crate::model::{Error, Result};

/// The two directories of a repository, seen from one worktree; absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitDirs {
    /// The worktree's own.
    pub(super) own: PathBuf,
    /// That of all worktrees, for the configuration and objects; what `GIT_COMMON_DIR` says, if that counts.
    pub(super) common: PathBuf,
    /// The same for refs, whatever the environment says.
    pub(super) shared: PathBuf,
    /// Where objects are.
    pub(super) objects: PathBuf,
    /// The directory whose `.git` led there; `None` if none did.
    pub(super) top: Option<PathBuf>,
}

impl GitDirs {
    /// The repository that `path` lies in. Without a path the environment has the first word, as in git.
    ///
    /// # Errors
    /// [`Error::NoRepository`]; [`Error::Corrupt`] for a `.git` file that is none; [`Error::Io`].
    pub(super) fn find(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else {
            return match env::var_os("GIT_DIR") {
                Some(dir) => Self::named(Path::new(&dir), true),
                None => Self::search(Path::new("."), true),
            };
        };
        Self::search(path, false)
    }

    /// The linked worktree of that id.
    ///
    /// # Errors
    /// [`Error::NoRepository`] if there is none.
    pub(super) fn linked(&self, id: &OsStr) -> Result<Self> {
        let own = self.shared.join("worktrees").join(id);
        let is_plain = Path::new(id).components().count() == 1 && own.file_name() == Some(id);
        if !is_plain || !head_is_sound(&own) {
            return Err(Error::NoRepository(own));
        }
        Ok(Self { own, top: None, ..self.clone() })
    }

    /// Whether it still is a repository.
    ///
    /// # Errors
    /// [`Error::NoRepository`] if it is not.
    pub(super) fn check(&self) -> Result<()> {
        let is_sound = head_is_sound(&self.own) && self.objects.is_dir() && self.common.join("refs").is_dir();
        if is_sound { Ok(()) } else { Err(Error::NoRepository(self.own.clone())) }
    }

    /// The folder in which git prepares the refs in another format.
    pub(super) fn migration(&self) -> Option<OsString> {
        migration_in(&self.own)
    }

    /// The top of the work tree, as far as the directories tell.
    pub(super) fn work_tree(&self) -> Option<PathBuf> {
        if let Ok(Some(dot_git)) = read_line(&self.own.join("gitdir")) {
            return Some(self.own.join(path_of(&dot_git)?).parent()?.to_owned());
        }
        self.top.clone().or_else(|| {
            let is_dot_git = self.own.file_name() == Some(OsStr::new(".git"));
            is_dot_git.then(|| self.own.parent().map(Path::to_owned))?
        })
    }

    /// The file that says which format the refs have.
    pub(super) fn config(&self) -> PathBuf {
        self.common.join("config")
    }

    /// A git directory, or the file that says where it is.
    fn named(path: &Path, has_environment: bool) -> Result<Self> {
        let none = || Error::NoRepository(path.to_owned());
        let path = real(path)?.ok_or_else(none)?;
        let dir = match (path.is_file(), path.file_name() == Some(OsStr::new(".git"))) {
            (true, true) => read_git_file(&path)?.ok_or_else(none)?,
            // Another name says nothing; if it is no such file, it is just some file.
            (true, false) => read_git_file(&path).ok().flatten().ok_or_else(none)?,
            (false, _) => path.clone(),
        };
        Self::at(&dir, has_environment).ok_or_else(none)
    }

    fn search(path: &Path, has_environment: bool) -> Result<Self> {
        let none = || Error::NoRepository(fs::absolute(path));
        let start = real(path)?.ok_or_else(none)?;
        if start.is_file() {
            return Self::named(&start, has_environment);
        }
        let ceilings = ceilings();
        let device = device(&start);
        let may_cross = env::var_os("GIT_DISCOVERY_ACROSS_FILESYSTEM").is_some_and(|value| is_true(&value));
        for dir in start.ancestors() {
            if dir != start
                && (ceilings.iter().any(|ceiling| ceiling == dir) || (!may_cross && self::device(dir) != device))
            {
                break;
            }
            if let Some(found) = Self::here(dir, has_environment)? {
                return Ok(found);
            }
        }
        Err(none())
    }

    /// The repository of that very directory or git file, not one that it lies in.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub(super) fn of(path: &Path) -> Result<Self> {
        let none = || Error::NoRepository(fs::absolute(path));
        let path = real(path)?.ok_or_else(none)?;
        if path.is_file() { Self::named(&path, false) } else { Self::here(&path, false)?.ok_or_else(none) }
    }

    /// The repository of that directory: its own `.git`, or itself.
    fn here(dir: &Path, has_environment: bool) -> Result<Option<Self>> {
        let dot_git = dir.join(".git");
        if dot_git.is_file() {
            let target = read_git_file(&dot_git)?.ok_or_else(|| Error::NoRepository(fs::absolute(dir)))?;
            let found = Self::at(&target, has_environment).ok_or(Error::NoRepository(target))?;
            return Ok(Some(Self { top: Some(dir.to_owned()), ..found }));
        }
        for candidate in [&dot_git, dir] {
            if let Some(found) = Self::at(candidate, has_environment) {
                return Ok(Some(Self { top: (candidate != dir).then(|| dir.to_owned()), ..found }));
            }
            // Not an outer repository instead of one that is broken.
            amid_migration(candidate)?;
        }
        Ok(None)
    }

    /// That directory, if it is a git directory.
    fn at(dir: &Path, has_environment: bool) -> Option<Self> {
        if !head_is_sound(dir) {
            return None;
        }
        let variable = |name| env::var_os(name).filter(|_| has_environment).map(|dir| fs::absolute(Path::new(&dir)));
        let shared = common_dir(dir).unwrap_or_else(|| dir.to_owned());
        let common = variable("GIT_COMMON_DIR").unwrap_or_else(|| shared.clone());
        let objects = variable("GIT_OBJECT_DIRECTORY").unwrap_or_else(|| common.join("objects"));
        let found = Self { own: dir.to_owned(), common, shared, objects, top: None };
        (found.objects.is_dir() && found.common.join("refs").is_dir()).then_some(found)
    }
}

/// The path without links and dots; `None` if it leads nowhere.
fn real(path: &Path) -> Result<Option<PathBuf>> {
    match path.canonicalize() {
        Ok(path) => Ok(Some(path)),
        Err(error) if fs::is_nothing(&error) => Ok(None),
        Err(source) => Err(Error::Io { path: path.to_owned(), source }),
    }
}

/// Where a `.git` file leads to.
fn read_git_file(path: &Path) -> Result<Option<PathBuf>> {
    let text = read_line(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    let Some(target) = text.as_deref().and_then(|text| text.strip_prefix(b"gitdir: ")) else {
        let reason = "not 'gitdir: ' and a path".to_owned();
        return Err(Error::Corrupt { path: path.to_owned(), offset: 0, line: Some(1), reason });
    };
    let Some(target) = path_of(target) else { return Ok(None) };
    real(&path.parent().unwrap_or(path).join(target))
}

/// A migration to the other format that was interrupted leaves a repository without `HEAD`, and the refs in a folder.
fn amid_migration(dir: &Path) -> Result<()> {
    if !dir.join("objects").is_dir() || dir.join("HEAD").exists() {
        return Ok(());
    }
    match migration_in(dir) {
        Some(folder) => {
            let reason = "a migration of the refs was interrupted, and left them here".to_owned();
            Err(Error::Corrupt { path: dir.join(folder), offset: 0, line: None, reason })
        }
        None => Ok(()),
    }
}

fn migration_in(dir: &Path) -> Option<OsString> {
    let names = dir.read_dir().ok()?.filter_map(std::result::Result::ok).map(|entry| entry.file_name());
    names.into_iter().find(|name| name.as_encoded_bytes().starts_with(b"ref_migration."))
}

/// What `commondir` in a linked worktree's git directory says.
fn common_dir(dir: &Path) -> Option<PathBuf> {
    let text = read_line(&dir.join("commondir")).ok()??;
    let common = dir.join(path_of(&text)?);
    Some(common.canonicalize().unwrap_or(common))
}

/// The content of a file without the line ends at its end; `None` if there is no file.
fn read_line(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut text = Vec::new();
    if read_through(path, &mut text)? != There::File {
        return Ok(None);
    }
    while let Some(b'\n' | b'\r') = text.last() {
        text.pop();
    }
    Ok(Some(text))
}

/// Whether there is a `HEAD` that could be one: a ref below `refs/`, or an object id.
fn head_is_sound(dir: &Path) -> bool {
    let path = dir.join("HEAD");
    let mut text = Vec::new();
    match look(&path, &mut text) {
        Ok(There::Link(target)) => return target.as_os_str().as_encoded_bytes().starts_with(b"refs/"),
        Ok(There::File) => {}
        _ => return false,
    }
    match text.strip_prefix(b"ref:") {
        Some(target) => target.trim_ascii_start().starts_with(b"refs/"),
        None => text.get(..40).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)),
    }
}

/// The directories that the search does not enter from below. Those behind an empty entry are taken as they are spelled.
fn ceilings() -> Vec<PathBuf> {
    let list = env::var_os("GIT_CEILING_DIRECTORIES").unwrap_or_default();
    let mut as_spelled = false;
    let mut ceilings = Vec::new();
    for entry in env::split_paths(&list) {
        if entry.as_os_str().is_empty() {
            as_spelled = true;
        } else if entry.is_absolute() {
            ceilings.extend(if as_spelled { Some(entry) } else { entry.canonicalize().ok() });
        }
    }
    ceilings
}

/// Git's idea of a true value.
pub(super) fn is_true(value: &OsStr) -> bool {
    let value = value.to_string_lossy().to_ascii_lowercase();
    matches!(&value[..], "true" | "yes" | "on") || value.parse::<i64>().is_ok_and(|number| number != 0)
}

#[cfg(unix)]
fn device(dir: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    dir.metadata().ok().map(|meta| meta.dev())
}

#[cfg(not(unix))]
fn device(_: &Path) -> Option<u64> {
    None
}

/// Bytes as a path.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere not every path can be spelled")]
pub(super) fn path_of(bytes: &[u8]) -> Option<&Path> {
    use std::os::unix::ffi::OsStrExt;
    Some(Path::new(OsStr::from_bytes(bytes)))
}

/// Bytes as a path.
#[cfg(not(unix))]
pub(super) fn path_of(bytes: &[u8]) -> Option<&Path> {
    str::from_utf8(bytes).ok().map(Path::new)
}
