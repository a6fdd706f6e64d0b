//! Who may use the files of a repository: `core.sharedRepository`.
//!
//! ```text
//! umask | false | 0             what the process's umask leaves
//! group | true  | 1             0660 besides
//! all | world | everybody | 2   0664 besides
//! 0xxx (octal)                  these bits instead
//! ```
//!
//! Where the owner may not write, nobody gets to; where the owner may execute, who may read may execute too.

use std::fs::File;
use std::io;
use std::path::Path;

use super::fault::{Call, enter};

/// What is added to, or put in the place of, what the umask leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Nothing.
    Umask,
    /// These bits are added.
    Add(u32),
    /// These bits take the place of the others.
    Exactly(u32),
}

impl Sharing {
    /// What a value of `core.sharedRepository` means; `None` if it means nothing.
    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        match value.to_ascii_lowercase().as_str() {
            "umask" | "false" | "no" | "off" | "" => return Some(Self::Umask),
            "group" | "true" | "yes" | "on" => return Some(Self::Add(0o660)),
            "all" | "world" | "everybody" => return Some(Self::Add(0o664)),
            _ => {}
        }
        match u32::from_str_radix(value, 8).ok()? {
            0 => Some(Self::Umask),
            1 => Some(Self::Add(0o660)),
            2 => Some(Self::Add(0o664)),
            // An owner who cannot read and write could not use the repository.
            mode if mode & 0o600 == 0o600 => Some(Self::Exactly(mode & 0o666)),
            _ => None,
        }
    }

    /// The mode that one becomes.
    fn of(self, mode: u32, is_dir: bool) -> u32 {
        let bits = match self {
            Self::Umask => return mode,
            Self::Add(bits) | Self::Exactly(bits) => bits,
        };
        let mut bits = if mode & 0o200 == 0 { bits & !0o222 } else { bits };
        if mode & 0o100 != 0 {
            bits |= (bits & 0o444) >> 2;
        }
        let mut shared = match self {
            Self::Exactly(_) => (mode & !0o777) | bits,
            _ => mode | bits,
        };
        if is_dir {
            shared |= (shared & 0o444) >> 2;
            if shared & 0o060 != 0 {
                shared |= 0o2000;
            }
        }
        shared
    }

    /// Gives a file of ours the mode that it should have.
    #[cfg(unix)]
    pub(super) fn share_file(self, file: &File, path: &Path) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        if self == Self::Umask {
            return Ok(());
        }
        let mut permissions = file.metadata()?.permissions();
        let mode = permissions.mode() & 0o7777;
        if self.of(mode, false) == mode {
            return Ok(());
        }
        permissions.set_mode(self.of(mode, false));
        enter(Call::Chmod, path)?;
        file.set_permissions(permissions)
    }

    /// The same for a directory.
    #[cfg(unix)]
    pub(super) fn share_dir(self, path: &Path) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        if self == Self::Umask {
            return Ok(());
        }
        let mut permissions = path.metadata()?.permissions();
        let mode = permissions.mode() & 0o7777;
        if self.of(mode, true) == mode {
            return Ok(());
        }
        permissions.set_mode(self.of(mode, true));
        enter(Call::Chmod, path)?;
        std::fs::set_permissions(path, permissions)
    }

    /// There are no such modes.
    #[cfg(not(unix))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the same as where there are modes")]
    pub(super) fn share_file(self, _: &File, _: &Path) -> io::Result<()> {
        Ok(())
    }

    /// There are no such modes.
    #[cfg(not(unix))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the same as where there are modes")]
    pub(super) fn share_dir(self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_mean_what_they_mean_to_git() {
        for value in ["umask", "false", "0", "FALSE"] {
            assert_eq!(Sharing::parse(value), Some(Sharing::Umask), "{value}");
        }
        for value in ["group", "true", "1"] {
            assert_eq!(Sharing::parse(value), Some(Sharing::Add(0o660)), "{value}");
        }
        for value in ["all", "world", "everybody", "2"] {
            assert_eq!(Sharing::parse(value), Some(Sharing::Add(0o664)), "{value}");
        }
        assert_eq!(Sharing::parse("0640"), Some(Sharing::Exactly(0o640)));
        assert_eq!(Sharing::parse("0777"), Some(Sharing::Exactly(0o666)));
        for value in ["0400", "nobody", "9"] {
            assert_eq!(Sharing::parse(value), None, "{value}");
        }
    }

    #[test]
    fn modes_are_made_as_git_makes_them() {
        assert_eq!(Sharing::Umask.of(0o600, false), 0o600);
        assert_eq!(Sharing::Add(0o660).of(0o644, false), 0o664);
        assert_eq!(Sharing::Add(0o664).of(0o600, false), 0o664);
        assert_eq!(Sharing::Exactly(0o640).of(0o666, false), 0o640);
        assert_eq!(Sharing::Add(0o660).of(0o444, false), 0o444, "nobody writes what its owner does not");
        assert_eq!(Sharing::Add(0o660).of(0o755, true), 0o2775);
        assert_eq!(Sharing::Exactly(0o600).of(0o755, true), 0o700);
    }
}
