//! Who may read and write what the lab makes: its user alone, or a group that HVD_LAB_GROUP names.
//!
//! A program calls [`settle`] before it makes anything. What it starts inherits the umask, unless it is started [`as_user`].

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use nix::libc::{O_DIRECTORY, O_NOFOLLOW};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Gid, Group, Uid, fchown, getegid};

/// Names a group that may read and write everything here. Without it only the user may.
pub const GROUP_VARIABLE: &str = "HVD_LAB_GROUP";

struct Settled {
    /// The umask that the user came with: files that the user asks for by name are made with it.
    users_umask: u32,
    group: Option<Gid>,
}

static SETTLED: OnceLock<Settled> = OnceLock::new();

/// Set the umask of this process; the first call counts.
///
/// # Errors
/// HVD_LAB_GROUP names no group of this user. Only the user has access then.
pub fn settle() -> Result<(), String> {
    let wanted = std::env::var(GROUP_VARIABLE).ok().filter(|name| !name.is_empty());
    let group = wanted.map(|name| group_of_user(&name)).transpose();
    let mask = if matches!(group, Ok(Some(_))) { 0o007 } else { 0o077 };
    SETTLED.get_or_init(|| {
        let users = umask(Mode::from_bits_truncate(mask));
        #[allow(clippy::useless_conversion, reason = "these are 16 bits on macOS")]
        Settled { users_umask: users.bits().into(), group: group.clone().ok().flatten() }
    });
    group.map(drop)
}

/// By name or number.
fn group_of_user(name: &str) -> Result<Gid, String> {
    let by_name = || Group::from_name(name).ok().flatten().map(|group| group.gid);
    let group = by_name().or_else(|| name.parse().ok().map(Gid::from_raw));
    let is_members = |gid: &Gid| Uid::effective().is_root() || getegid() == *gid || groups().contains(gid);
    group.filter(is_members).ok_or_else(|| {
        format!("{GROUP_VARIABLE} is `{name}`, which is not a group of yours: use one that `id -Gn` lists, or unset it")
    })
}

/// Those of this process beside its first.
fn groups() -> Vec<Gid> {
    let groups = rustix::process::getgroups().unwrap_or_default();
    groups.into_iter().map(|group| Gid::from_raw(group.as_raw())).collect()
}

fn group() -> Option<Gid> {
    SETTLED.get().and_then(|settled| settled.group)
}

/// The permissions of a file that the lab keeps.
pub(super) fn of_lab() -> u32 {
    if group().is_some() { 0o660 } else { 0o600 }
}

/// The permissions of a file that is there for others to read, such as the copy for an instructor, whatever the umask.
pub(super) const FOR_ALL: u32 = 0o644;

/// The permissions of a file that the user asked for by name: as another program would make it, but only the user may write it.
pub(super) fn of_user() -> u32 {
    0o644 & !users_umask()
}

/// The umask to start programs with that are the user's rather than the lab's, such as cargo.
pub fn users_umask() -> u32 {
    SETTLED.get().map_or(0o022, |settled| settled.users_umask)
}

/// Puts the umask of the lab back, also after a panic.
struct Back(Mode);

impl Drop for Back {
    fn drop(&mut self) {
        umask(self.0);
    }
}

/// Start a program with the umask that the user came with: one of the user's, or one of the lab that has to know that umask.
///
/// It lasts as short as a start does, for other threads have that umask meanwhile: what they make has explicit permissions, or is in a
/// private folder.
pub fn as_user<T>(start: impl FnOnce() -> T) -> T {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let Some(settled) = SETTLED.get() else { return start() };
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    #[allow(clippy::useless_conversion, clippy::cast_possible_truncation, reason = "these are 16 bits on macOS")]
    let _back = Back(umask(Mode::from_bits_truncate(settled.users_umask as nix::libc::mode_t)));
    start()
}

/// Make a folder that is not there yet.
///
/// # Errors
/// The system's.
pub fn new_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(if group().is_some() { 0o770 } else { 0o700 }).create(path)?;
    let Some(group) = group() else { return Ok(()) };
    // By the folder itself: another one of the group may have put a link in its place by now.
    let folder = OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_DIRECTORY).open(path)?;
    fchown(&folder, None, Some(group))?;
    // What is made in it belongs to the group too.
    folder.set_permissions(Permissions::from_mode(0o2770))
}

/// Make a folder, and those above it that are missing; one that is there stays as it is.
///
/// # Errors
/// The system's.
pub fn make_folder(path: &Path) -> io::Result<()> {
    match new_folder(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
                make_folder(above)?;
            }
            new_folder(path)
        }
        Err(_) if path.is_dir() => Ok(()),
        made => made,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn folders_are_private_whatever_the_umask_and_what_is_there_stays() {
        let place = tempfile::tempdir().unwrap();
        let old = place.path().join("old");
        fs::create_dir(&old).unwrap();
        fs::set_permissions(&old, Permissions::from_mode(0o755)).unwrap();
        let new = old.join("a/b");
        make_folder(&new).unwrap();
        make_folder(&new).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(&old), mode(&old.join("a")), mode(&new)), (0o755, 0o700, 0o700));
        assert_eq!(new_folder(&new).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(make_folder(Path::new("/dev/null/lab")).is_err() && make_folder(Path::new("/proc/lab")).is_err());
    }

    #[test]
    fn a_group_that_is_not_the_users_is_refused_by_name() {
        let error = group_of_user("no-such-group").unwrap_err();
        assert!(error.contains("no-such-group") && error.contains("id -Gn"), "{error}");
        assert_eq!(group_of_user(&getegid().to_string()), Ok(getegid()));
    }
}
