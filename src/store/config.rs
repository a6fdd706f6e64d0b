//! The configuration, from the sources that git reads, each named here: none is found by running git.

use std::env;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use gix_config::file::includes::{self, conditional};
use gix_config::file::{Metadata, init};
use gix_config::path::interpolate;
use gix_config::{File, Source};

use super::discover::{GitDirs, is_true};
use super::write_config::WriteConfig;
use crate::fs::{self, There, read_through};
use crate::model::{Error, HashKind, Result};

/// How refs are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Loose refs and packed-refs.
    Files,
    /// A stack of tables.
    Reftable,
}

impl Format {
    /// The name git's configuration uses (`extensions.refStorage`).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Reftable => "reftable",
        }
    }
}

/// What the repository's own configuration file says of its format. Nothing else can say it but `GIT_REFERENCE_BACKEND`.
#[derive(Debug, Clone)]
pub(super) struct RepositoryFormat {
    pub(super) format: Format,
    pub(super) hash: HashKind,
    /// Where the refs are, if not in the git directory.
    pub(super) location: Option<PathBuf>,
    has_worktree_config: bool,
}

impl RepositoryFormat {
    /// Reads it from the common directory.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Corrupt`]; [`Error::Unsupported`] for a version, format, hash or extension that is not
    /// known.
    pub(super) fn read(dirs: &GitDirs) -> Result<Self> {
        let path = dirs.config();
        let file = read(&path, Source::Local, init::Options::default())?;
        let unsupported = |reason: String| Error::Unsupported { path: path.clone(), reason };
        let mut found =
            Self { format: Format::Files, hash: HashKind::Sha1, location: None, has_worktree_config: false };
        let Some(file) = file else { return found.overridden() };
        // Without a version extensions are nothing but words.
        let Ok(version) = file.raw_value("core.repositoryformatversion") else { return found.overridden() };
        let Some(version @ 0..=1) = number(&version) else {
            return Err(unsupported(format!("core.repositoryformatversion is {version}")));
        };
        for section in file.sections_by_name("extensions").into_iter().flatten() {
            let subsection = section.header().subsection_name().map(|name| format!("{name}.")).unwrap_or_default();
            for key in section.value_names() {
                let name = subsection.clone() + &key.to_ascii_lowercase();
                // Of several values the last counts, but none may be unknown. No value at all is one, too.
                let mut values = section.values(&key);
                if values.is_empty() {
                    values.push(Vec::new().into());
                }
                for value in values {
                    found.extend(&name, &value.to_string(), version).map_err(unsupported)?;
                }
            }
        }
        found.overridden()
    }

    /// Takes an extension in. Some mean something in version 1 only; unknown ones mean nothing in version 0.
    fn extend(&mut self, name: &str, value: &str, version: i64) -> std::result::Result<(), String> {
        let unknown = || format!("extensions.{name} is {value:?}, which is not known");
        match name {
            "noop" | "preciousobjects" | "partialclone" => return Ok(()),
            "worktreeconfig" => {
                self.has_worktree_config = value.is_empty() || is_true(value.as_ref());
                return Ok(());
            }
            "noop-v1" | "compatobjectformat" | "relativeworktrees" | "submodulepathconfig" => {}
            "objectformat" => self.hash = HashKind::from_name(value).ok_or_else(unknown)?,
            "refstorage" => (self.format, self.location) = storage(value).ok_or_else(unknown)?,
            _ if version == 1 => return Err(unknown()),
            _ => return Ok(()),
        }
        match version {
            0 => Err(format!("extensions.{name} needs core.repositoryformatversion 1")),
            _ => Ok(()),
        }
    }

    fn overridden(mut self) -> Result<Self> {
        if let Some(value) = env::var_os("GIT_REFERENCE_BACKEND") {
            let unsupported = || Error::Unsupported {
                path: PathBuf::from("GIT_REFERENCE_BACKEND"),
                reason: format!("no reference format: {}", value.display()),
            };
            let value = value.to_str().ok_or_else(unsupported)?;
            (self.format, self.location) = storage(value).ok_or_else(unsupported)?;
        }
        Ok(self)
    }
}

/// A number as git reads it: decimal, or hexadecimal behind `0x`.
fn number(text: &[u8]) -> Option<i64> {
    let text = str::from_utf8(text).ok()?.trim();
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// `format` or `format://path`.
fn storage(value: &str) -> Option<(Format, Option<PathBuf>)> {
    let (name, location) = match value.split_once("://") {
        Some((name, location)) => (name, Some(PathBuf::from(location))),
        None => (value, None),
    };
    let format = [Format::Files, Format::Reftable].into_iter().find(|format| format.name() == name)?;
    Some((format, location))
}

/// The settings in force: the system's, the user's, the repository's, the worktree's and the environment's.
#[derive(Debug)]
pub(super) struct Config {
    /// Whether somebody has to be told that a short name means several refs.
    pub(super) warn_ambiguous_refs: bool,
    /// How many digits of an object id are shown where it is abbreviated; `None` if that depends on how many there are.
    pub(super) abbrev: Option<usize>,
    /// What matters to who writes.
    pub(super) write: WriteConfig,
}

impl Config {
    /// Reads all sources, includes among them. (An `onbranch` condition is never met.)
    ///
    /// # Errors
    /// [`Error::Io`] for a file that cannot be read; [`Error::Corrupt`] for one that cannot be understood, or whose
    /// includes never end.
    pub(super) fn read(dirs: &GitDirs, format: &RepositoryFormat) -> Result<Self> {
        let home = env::var_os("HOME").map(PathBuf::from);
        let interpolate = interpolate::Context {
            git_install_dir: None,
            home_dir: home.as_deref(),
            home_for_user: Some(interpolate::home_for_user),
        };
        let conditional = conditional::Context { git_dir: Some(&dirs.own), branch_name: None };
        let includes = includes::Options::follow(interpolate, conditional);
        let options = init::Options { includes, ..init::Options::default() };
        let mut all = File::default();
        for (path, source) in sources(dirs, format, home.as_deref()) {
            let file = match read(&path, source, options) {
                // As git has it: what a user may not read of the system's and their own is not there.
                Err(Error::Io { source: error, .. })
                    if source != Source::Local && error.kind() == ErrorKind::PermissionDenied =>
                {
                    continue;
                }
                file => file?,
            };
            append(&mut all, file, &path)?;
        }
        let path = Path::new("GIT_CONFIG_COUNT");
        if env::var_os("GIT_CONFIG_COUNT").is_some_and(|count| !count.is_empty()) {
            let environment = File::from_env(options).map_err(|error| corrupt(path, &error))?;
            append(&mut all, environment, path)?;
        }
        let is_true = |key: &str| all.boolean(key).ok().flatten();
        let abbrev = match all.raw_value("core.abbrev").ok().map(|value| value.to_string()) {
            None => None,
            Some(value) if value.eq_ignore_ascii_case("auto") => None,
            Some(value) => match value.trim().parse() {
                Ok(digits) => Some(digits),
                // "no" is all of them, and so is what git refuses.
                Err(_) => Some(usize::MAX),
            },
        };
        let warn_ambiguous_refs = is_true("core.warnAmbiguousRefs").unwrap_or(true);
        Ok(Self { warn_ambiguous_refs, abbrev, write: WriteConfig::of(&all, dirs, interpolate) })
    }
}

fn append(all: &mut File, more: Option<File>, path: &Path) -> Result<()> {
    if let Some(more) = more {
        all.append(more).map_err(|error| corrupt(path, &error))?;
    }
    Ok(())
}

/// Where git looks, least first.
fn sources(dirs: &GitDirs, format: &RepositoryFormat, home: Option<&Path>) -> Vec<(PathBuf, Source)> {
    let mut sources = Vec::new();
    if !env::var_os("GIT_CONFIG_NOSYSTEM").is_some_and(|value| is_true(&value)) {
        let path = env::var_os("GIT_CONFIG_SYSTEM").map_or_else(|| PathBuf::from("/etc/gitconfig"), PathBuf::from);
        sources.push((path, Source::System));
    }
    if let Some(path) = env::var_os("GIT_CONFIG_GLOBAL") {
        sources.push((path.into(), Source::User));
    } else {
        let xdg = env::var_os("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let xdg = xdg.or_else(|| home.map(|home| home.join(".config")));
        sources.extend(xdg.map(|dir| (dir.join("git/config"), Source::User)));
        sources.extend(home.map(|home| (home.join(".gitconfig"), Source::User)));
    }
    sources.push((dirs.config(), Source::Local));
    if format.has_worktree_config {
        sources.push((dirs.own.join("config.worktree"), Source::Local));
    }
    sources
}

/// A configuration file; `None` if there is none.
fn read(path: &Path, source: Source, options: init::Options<'_>) -> Result<Option<File>> {
    let mut text = Vec::new();
    let there = read_through(path, &mut text).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    let error = match there {
        There::File => {
            let meta = Metadata { path: Some(path.to_owned()), ..Metadata::from(source) };
            let file = File::from_bytes_owned(&mut text, meta, options).map_err(|error| corrupt(path, &error))?;
            return Ok(Some(file));
        }
        There::Nothing => return Ok(None),
        // /dev/null is how git is told of an empty file.
        There::Other if source != Source::Local => return Ok(None),
        There::Other => ErrorKind::InvalidInput.into(),
        There::Directory => fs::is_a_directory(),
        There::Loop | There::Link(_) => fs::is_a_loop(),
    };
    Err(Error::Io { path: path.to_owned(), source: error })
}

fn corrupt(path: &Path, error: &gix_error::Error) -> Error {
    let line = error.downcast_any_ref::<gix_config::parse::Error>().map(gix_config::parse::Error::line_number);
    let reason = error.iter_errors().map(ToString::to_string).collect::<Vec<_>>().join(": ");
    Error::Corrupt { path: path.to_owned(), offset: 0, line, reason }
}
