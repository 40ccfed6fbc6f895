//! Whose files are written in folders that others can write: no link of another user is followed, and no file of another user
//! is replaced where each learner has one.

use std::ffi::c_int;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc::{ELOOP, O_NOFOLLOW};
use nix::unistd::geteuid;

use super::process::user_name;

/// The user, root, or the owner of the folder made it: the rule that Linux has for links in sticky folders.
fn is_trusted(path: &Path, there: &Metadata) -> bool {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let of_folder = || folder.metadata().is_ok_and(|folder| folder.uid() == there.uid());
    [0, geteuid().as_raw()].contains(&there.uid()) || of_folder()
}

fn refusal(what: &str, owner: u32) -> io::Error {
    let text = format!("there is {what} of user {} there: remove it, or use another name", user_name(owner));
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

/// Where a new version of `path` belongs: the target of a link that may be followed, else the path itself.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] for a link or a pipe of another user.
pub fn target(path: &Path) -> io::Result<PathBuf> {
    let Ok(there) = path.symlink_metadata() else { return Ok(path.to_owned()) };
    let kind = there.file_type();
    if (kind.is_symlink() || kind.is_fifo()) && !is_trusted(path, &there) {
        return Err(refusal(if kind.is_fifo() { "a pipe" } else { "a link" }, there.uid()));
    }
    // A link to nothing is replaced itself.
    Ok(if kind.is_symlink() { fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()) } else { path.to_owned() })
}

/// Open a file that grows in place, with further flags of open(2).
///
/// # Errors
/// As [`target`], and the system's.
pub fn open(path: &Path, options: &OpenOptions, flags: c_int) -> io::Result<File> {
    match options.clone().custom_flags(flags | O_NOFOLLOW).open(path) {
        Err(error) if error.raw_os_error() == Some(ELOOP) => {
            target(path)?;
            options.clone().custom_flags(flags).open(path)
        }
        opened => opened,
    }
}

/// Whether the new version of a shared file may take the place of what has its name. A link of one's own may go.
///
/// # Errors
/// It belongs to another user than `new`, or is not a file. Some file systems show one owner for all files.
pub(super) fn may_replace(path: &Path, new: &File) -> io::Result<()> {
    let Ok(there) = path.symlink_metadata() else { return Ok(()) };
    let kind = there.file_type();
    let what = match () {
        () if kind.is_file() => "a file",
        () if kind.is_symlink() => "a link",
        () if kind.is_dir() => "a folder",
        () => "a pipe or a device",
    };
    if there.uid() != new.metadata()?.uid() {
        return Err(refusal(what, there.uid()));
    }
    if kind.is_file() || kind.is_symlink() {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("there is {what} in its place: remove it")))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    /// Any user but the one of the test.
    const OTHER: u32 = 12_345;

    /// The name of a test that is skipped where no file can be given to another user.
    fn give_away(path: &Path) -> bool {
        let given = lchown(path, Some(OTHER), None).is_ok();
        if !given {
            eprintln!("skipped: only root can give a file to another user");
        }
        given
    }

    #[test]
    fn only_a_link_of_ones_own_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let [precious, link, pipe] = ["precious", "link", "pipe"].map(|name| folder.path().join(name));
        fs::write(&precious, "precious").unwrap();
        symlink(&precious, &link).unwrap();
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let whole = precious.canonicalize().unwrap();
        assert_eq!(
            (target(&link).unwrap(), target(&precious).unwrap(), target(&pipe).unwrap()),
            (whole, precious.clone(), pipe.clone())
        );
        let write = |path: &Path| open(path, OpenOptions::new().write(true).truncate(true), nix::libc::O_NONBLOCK);
        write(&link).unwrap();
        fs::write(&precious, "precious").unwrap();
        if !give_away(&link) || !give_away(&pipe) {
            return;
        }
        for path in [&link, &pipe] {
            let error = target(path).unwrap_err();
            assert!(error.to_string().contains("of user 12345 there: remove it"), "{error}");
        }
        assert_eq!(write(&link).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        assert!(lchown(folder.path(), Some(OTHER), None).is_ok() && target(&link).is_ok(), "it is that user's folder");
    }

    #[test]
    fn a_shared_file_takes_the_place_of_ones_own_alone() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let new = File::create(place("new")).unwrap();
        fs::create_dir(place("folder")).unwrap();
        nix::unistd::mkfifo(&place("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        symlink(place("new"), place("link")).unwrap();
        fs::write(place("old"), "").unwrap();
        for name in ["none", "old", "link"] {
            may_replace(&place(name), &new).unwrap();
        }
        for name in ["folder", "pipe"] {
            let error = may_replace(&place(name), &new).unwrap_err().to_string();
            assert!(error.contains("in its place: remove it"), "{name}: {error}");
        }
        for name in ["old", "link", "folder", "pipe"] {
            if !give_away(&place(name)) {
                return;
            }
            let error = may_replace(&place(name), &new).unwrap_err().to_string();
            assert!(error.contains("of user 12345 there"), "{name}: {error}");
        }
    }
}
