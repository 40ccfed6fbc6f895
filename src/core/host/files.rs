//! Files that are the old version or the new one as a whole, also on a full disk and after a power cut.
//!
//! A new version is written to a temporary file beside the old one, synced and renamed. Nothing is overwritten in place.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use nix::unistd::geteuid;
use rustix::fs::statvfs;

use super::{access, file_limit, owners};

const PREFIX: &str = ".hvd-lab-";
const SUFFIX: &str = ".tmp";
/// A writer locks its temporary file at once: one of this age without a lock was left by a process that was killed.
const LEFT_OVER: Duration = Duration::from_secs(1);
/// The same where there are no locks.
const SURELY_LEFT_OVER: Duration = Duration::from_secs(600);

/// Whether another process holds the lock of this file. If not, `file` holds a shared lock from now on.
pub fn is_held(file: &File) -> bool {
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Replace the file, or make it.
///
/// # Errors
/// The system's; the file is as it was then.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, true, access::of_lab(), |file| file.write_all(bytes))
}

/// As [`write()`], readable by this user alone from the first moment.
///
/// # Errors
/// As [`write()`].
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, true, 0o600, |file| file.write_all(bytes))
}

/// Make a file that is not there yet.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`], and the system's; nothing is left of it then.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, false, access::of_lab(), |file| file.write_all(bytes))
}

/// Make the file that others are to read, in a folder that they may write to; with `replace`, one's own is replaced. A link is
/// replaced itself, whatever it points to.
///
/// # Errors
/// As [`write()`] and [`write_new`]; also if the path belongs to another user, or is not a regular file.
pub fn share(path: &Path, replace: bool, bytes: &[u8]) -> io::Result<()> {
    place(path, replace, access::FOR_ALL, |file| {
        owners::may_replace(path, file)?;
        file.write_all(bytes)
    })
}

/// Write a file that the user asked for by its name. It may be a device or a pipe, such as /dev/stdout.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] where there is a file that may not be replaced, and the system's.
pub fn export(path: &Path, replace: bool, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let there = fs::metadata(path).ok();
    if there.as_ref().is_some_and(|there| !there.is_file() && !there.is_dir()) {
        owners::target(path)?;
        return file_limit::explained(fill(&mut owners::open(path, OpenOptions::new().write(true), 0)?));
    }
    // The permissions of another user's file might let that user write the new one as well.
    let own = there.filter(|there| there.is_file() && there.uid() == geteuid().as_raw());
    put(path, replace, own.map_or(access::of_user(), |there| there.permissions().mode() & 0o7777), fill)
}

/// Whether a file can be written in this folder: permissions say little about full, read-only and remote file systems.
///
/// # Errors
/// The system's; nothing is left of the file.
pub fn try_writing(folder: &Path) -> io::Result<()> {
    let probe = Temporary(folder.join(temporary_name()));
    let written = OpenOptions::new().write(true).create_new(true).open(&probe.0).and_then(|mut file| file.write_all(&[0; 4096]));
    file_limit::explained(written)
}

/// Open a file to append to it, or make it. A pipe is refused, since opening it would wait.
///
/// # Errors
/// The system's; also if the path is not a regular file, or a link of another user.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    let file = owners::open(path, OpenOptions::new().create(true).read(true).append(true), O_NONBLOCK)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe or a device, not a file"))
    }
}

/// Whether the disk, the user's share of it or the largest size of a file is used up.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
}

/// Bytes that a program of this user can still write in a folder; nothing where the system does not say.
pub fn room(folder: &Path) -> Option<u64> {
    let disk = statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Removes the temporary file unless it was renamed.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // After the rename there is nothing to remove.
        let _ = fs::remove_file(&self.0);
    }
}

fn put(path: &Path, replace: bool, mode: u32, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    // Renaming a file over a device or a pipe would take it away from the whole machine.
    if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "what is there is not a regular file"));
    }
    // A link stays, and what it points to is replaced.
    place(&owners::target(path)?, replace, mode, fill)
}

/// Never follows a link.
fn place(path: &Path, replace: bool, mode: u32, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    if !replace && path.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temporary = Temporary(folder.join(temporary_name()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary.0)?;
    // The umask may have taken some away. Some file systems have no permissions, and then there is nothing to change.
    let _ = file.set_permissions(Permissions::from_mode(mode));
    // Some file systems have no locks.
    let _ = file.try_lock();
    file_limit::explained(fill(&mut file).and_then(|()| file.sync_all()))?;
    let _ = file.unlock();
    if replace {
        fs::rename(&temporary.0, path)?
    } else {
        name(&temporary.0, path)?
    }
    // Without it the new name may be gone after a power cut, but never the old version with it.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    sweep(folder);
    Ok(())
}

/// Give a file its name, unless another one has it.
fn name(temporary: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(temporary, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            // Where there are no links, the name is taken first.
            File::create_new(path)?;
            fs::rename(temporary, path).inspect_err(|_| _ = fs::remove_file(path))
        }
        named => named,
    }
}

/// A part of a file name that no other call has, in this process, on this host, or on another one that shares the folder. It cannot be
/// guessed, so no other user can make that file first.
pub(super) fn unique() -> String {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let count = || {
        let nanoseconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        format!("{nanoseconds}-{}", CALLS.fetch_add(1, Ordering::Relaxed))
    };
    // Without random numbers it can be guessed; an existing file is not opened in any case.
    format!("{}-{}", process::id(), super::secret().unwrap_or_else(|_| count()))
}

/// The names in a folder that are UTF-8 text; none of a folder that cannot be read.
pub fn names_in(folder: &Path) -> impl Iterator<Item = String> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok())
}

fn temporary_name() -> String {
    format!("{PREFIX}{}{SUFFIX}", unique())
}

/// Since it was changed last; no time at all where that is not known.
pub(super) fn age(entry: &fs::DirEntry) -> Duration {
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    modified.ok().and_then(|time| time.elapsed().ok()).unwrap_or_default()
}

/// Remove what killed processes left.
fn sweep(folder: &Path) {
    let is_ours = |name: &str| name.starts_with(PREFIX) && name.ends_with(SUFFIX);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_str().is_some_and(is_ours)) {
        let age = age(&entry);
        if age > LEFT_OVER && is_left_over(&entry.path(), age) {
            // Another process may have removed it already, or it belongs to another user.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_left_over(path: &Path, age: Duration) -> bool {
    let Ok(file) = OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path) else { return false };
    match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => age > SURELY_LEFT_OVER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_pipe_or_a_device_stays_what_it_is() {
        use std::os::unix::fs::{FileTypeExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (pipe, link) = (folder.path().join("pipe"), folder.path().join("summary.json"));
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        symlink(&pipe, &link).unwrap();
        for path in [&pipe, &link] {
            let error = put(path, true, 0o600, |file| file.write_all(b"x")).unwrap_err();
            assert!(error.to_string().contains("not a regular file"), "{error}");
        }
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo() && link.is_symlink());
        assert_eq!(names(folder.path()), ["pipe", "summary.json"]);
    }

    #[test]
    fn a_replaced_file_is_new_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("status.json");
        write(&path, b"a long first version").unwrap();
        write(&path, b"short").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"short");
        assert_eq!(write_new(&path, b"x").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"short".to_vec(), vec!["status.json".to_owned()]));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn many_writers_at_once_leave_one_whole_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("series.json");
        std::thread::scope(|scope| {
            for letter in b'a'..=b'h' {
                let path = &path;
                scope.spawn(move || (0..20).for_each(|_| write(path, &vec![letter; 9000]).unwrap()));
            }
        });
        let text = fs::read(&path).unwrap();
        assert!(text.len() == 9000 && text.iter().all(|letter| *letter == text[0]));
        assert_eq!(names(folder.path()), ["series.json"]);
    }

    #[test]
    fn one_of_many_makes_a_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        let made = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..8).map(|_| scope.spawn(|| write_new(&path, b"whole").is_ok())).collect();
            makers.into_iter().map(|maker| maker.join().unwrap()).filter(|made| *made).count()
        });
        assert_eq!((made, names(folder.path())), (1, vec!["new".to_owned()]));
    }

    #[test]
    fn what_killed_processes_left_is_swept_and_what_others_write_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let [old, slow, young] = ["1", "2", "3"].map(|name| {
            let file = File::create(folder.path().join(format!(".hvd-lab-7-{name}-0.tmp"))).unwrap();
            file.set_modified(SystemTime::now() - if name == "3" { Duration::ZERO } else { 2 * LEFT_OVER }).unwrap();
            file
        });
        slow.lock().unwrap();
        write(&folder.path().join("status.json"), b"x").unwrap();
        assert_eq!(names(folder.path()), [".hvd-lab-7-2-0.tmp", ".hvd-lab-7-3-0.tmp", "status.json"]);
        drop((old, young));
    }

    #[test]
    fn more_is_written_behind_a_file_and_no_pipe_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (path, pipe) = (folder.path().join("launcher.log"), folder.path().join("pipe"));
        for word in ["one", "two"] {
            open_to_append(&path).unwrap().write_all(word.as_bytes()).unwrap();
        }
        assert_eq!(fs::read(&path).unwrap(), b"onetwo");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(open_to_append(&pipe).unwrap_err().to_string().contains("not a file"));
        assert!(open_to_append(folder.path()).is_err());
    }

    #[test]
    fn a_link_stays_and_its_target_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [target, link] = ["target", "link"].map(|name| folder.path().join(name));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        write(&link, b"new").unwrap();
        assert!(link.is_symlink() && fs::read(&target).unwrap() == b"new");
    }

    #[test]
    fn an_export_keeps_the_permissions_of_what_it_replaces_and_spares_devices() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.md");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let put = |path: &Path, replace| export(path, replace, |file| file.write_all(b"new"));
        assert_eq!(put(&path, false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        put(&path, true).unwrap();
        assert_eq!((fs::read(&path).unwrap(), path.metadata().unwrap().permissions().mode() & 0o777), (b"new".to_vec(), 0o640));
        put(Path::new("/dev/null"), false).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
