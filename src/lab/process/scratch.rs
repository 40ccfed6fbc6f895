//! Temporary folders that go with their owner, also when that is killed: then the next launch, or the next look, removes them.
//!
//! A folder stays while its owner lives, or a living process has it as its TMPDIR. The owner holds a lock inside; a
//! folder gets the name by which it is found only after that lock was taken.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use nix::unistd::Uid;

use super::of_run::with_variable;
use crate::host;

/// Where sockets are made if the folder of temporary files has a path that is too long for them.
pub const SHORT: &str = "/tmp";

/// What a temporary folder is for.
#[derive(Debug)]
pub struct Purpose {
    /// How its name begins; before its lock is taken, a dot comes first.
    prefix: &'static str,
    /// The file that its owner locks.
    lock: &'static str,
}

/// The files of a launcher and its ranks.
pub static LAUNCH: Purpose = Purpose { prefix: "hvd-lab-launch-", lock: "owner.lock" };
/// A recording that was unpacked to be played.
pub static REPLAY: Purpose = Purpose { prefix: "hvd-lab-replay-", lock: "in-use.lock" };

/// Names the files outside the folder that are deleted with it.
const ALSO: &str = "also";
/// Open MPI keeps the shared memory of each rank here, and leaves it there when launcher and ranks are killed.
const SHARED_MEMORY: &str = "/dev/shm";
const SEGMENTS: [&str; 2] = ["sm_segment.", "vader_segment."];
/// Longer than any process takes to lock its folder. A recording that an older lab unpacked has no lock at all.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Folders of this process, for a program that ends without dropping what it has.
static LIVING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A temporary folder of this process; removed when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    _owner: File,
}

impl Scratch {
    /// For a launch, in the folder of temporary files, or in /tmp where TMPDIR names none that is everybody's and takes folders.
    ///
    /// # Errors
    /// Neither takes one.
    pub fn new() -> io::Result<Scratch> {
        let usual = std::env::temp_dir();
        let short = || Scratch::under(Path::new(SHORT), &LAUNCH);
        if usual.is_absolute() { Scratch::under(&usual, &LAUNCH).or_else(|error| short().map_err(|_| error)) } else { short() }
    }

    /// In another folder.
    ///
    /// # Errors
    /// That folder takes none.
    pub fn under(folder: &Path, purpose: &Purpose) -> io::Result<Scratch> {
        let made = tempfile::Builder::new().prefix(&format!(".{}", purpose.prefix)).tempdir_in(folder)?;
        let owner = open_lock(&made.path().join(purpose.lock), true)?;
        // A folder whose lock cannot be taken, on a file system without locks, is never swept.
        let _ = owner.try_lock();
        let name = made.path().file_name().unwrap_or_default().to_string_lossy().replacen('.', "", 1);
        let path = made.path().with_file_name(name);
        fs::rename(made.path(), &path)?;
        // Its name is another one now.
        let _ = made.keep();
        if let Ok(mut living) = LIVING.lock() {
            living.insert(path.clone());
        }
        Ok(Scratch { path, _owner: owner })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it that neither the lab nor MPI has made: the first by name.
    pub fn foreign(&self) -> Option<String> {
        let ours = [LAUNCH.lock, ALSO, "events", "ompi.", "prte.", "pmix", "openmpi-sessions"];
        let names = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| !ours.iter().any(|ours| name.starts_with(ours))).min()
    }

    /// Let the shared memory of a rank go with the folder, which no other job uses.
    pub fn adopt_shared_memory(&self, rank: u32) {
        let maps = fs::read_to_string(format!("/proc/{rank}/maps")).unwrap_or_default();
        let mut found: Vec<&str> = maps.lines().filter_map(segment).collect();
        found.sort_unstable();
        found.dedup();
        let list = OpenOptions::new().create(true).append(true).open(self.path.join(ALSO));
        // Not listed, they stay until the machine is started again, as they would without the lab.
        let _ = list.and_then(|mut list| found.iter().try_for_each(|path| writeln!(list, "{path}")));
    }
}

/// The file of a segment in a line of /proc/PID/maps, unless it was removed.
fn segment(line: &str) -> Option<&str> {
    let path = &line[line.find(SHARED_MEMORY)?..];
    let name = path.strip_prefix(SHARED_MEMORY)?.strip_prefix('/')?;
    let is_segment = SEGMENTS.iter().any(|prefix| name.starts_with(prefix)) && !name.contains(['/', ' ']);
    is_segment.then_some(path)
}

fn remove(folder: &Path) {
    let list = fs::read_to_string(folder.join(ALSO)).unwrap_or_default();
    // If it cannot be removed now, the next sweep tries again.
    list.lines().filter(|line| segment(line) == Some(*line)).for_each(|path| drop(fs::remove_file(path)));
    let _ = fs::remove_dir_all(folder);
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Ok(mut living) = LIVING.lock() {
            living.remove(&self.path);
        }
        remove(&self.path);
    }
}

/// Remove all folders of this process, which is about to end without dropping them.
pub fn remove_all() {
    // Where a thread fell while it held the list, the next lab sweeps.
    if let Ok(mut living) = LIVING.try_lock() {
        std::mem::take(&mut *living).iter().for_each(|folder| remove(folder));
    }
}

/// Remove the folders of owners that were killed.
pub fn sweep() {
    let folders = BTreeSet::from([std::env::temp_dir(), PathBuf::from(SHORT)]);
    folders.iter().for_each(|folder| sweep_in(folder));
}

fn sweep_in(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // Not of a link: what it points to is not ours.
        let Ok(metadata) = entry.metadata() else { continue };
        if !metadata.is_dir() || metadata.uid() != Uid::effective().as_raw() {
            continue;
        }
        let is_old = || metadata.modified().is_ok_and(|then| then.elapsed().is_ok_and(|age| age > ABANDONED));
        let is_left = [&LAUNCH, &REPLAY].into_iter().any(|Purpose { prefix, lock }| {
            name.starts_with(prefix) && has_no_owner(&entry.path(), lock, is_old)
                || name.strip_prefix('.').is_some_and(|name| name.starts_with(prefix)) && is_old()
        });
        if is_left {
            remove(&entry.path());
        }
    }
}

/// Ranks may outlive a supervisor that was killed, until the next look at their run. An older lab took no lock, but kept the
/// events of a recording open for as long as it played them.
fn has_no_owner(folder: &Path, lock: &str, is_old: impl Fn() -> bool) -> bool {
    let is_free = match open_lock(&folder.join(lock), false) {
        Ok(owner) => owner.try_lock().is_ok(),
        Err(error) => error.kind() == ErrorKind::NotFound && is_old() && !host::process::is_open(folder),
    };
    is_free && with_variable("TMPDIR", folder).is_empty()
}

fn open_lock(path: &Path, create: bool) -> io::Result<File> {
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
    OpenOptions::new().read(true).write(true).create(create).truncate(false).mode(0o600).custom_flags(flags).open(path)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn segments_of_shared_memory_are_told_from_all_else() {
        let line = |path: &str| format!("7f0-7f1 rw-s 00000000 00:1a 42                 {path}");
        let name = "/dev/shm/sm_segment.node.0.d95e0001.0";
        assert_eq!(segment(&line(name)), Some(name));
        for other in ["/dev/shm/sm_segment.node.0 (deleted)", "/dev/shm/sm_segment./../x", "/dev/shm/theirs", "/lib/x.so", ""] {
            assert_eq!(segment(&line(other)), None, "{other}");
        }
    }

    #[test]
    fn what_a_killed_owner_left_is_removed_and_nothing_else() {
        let kept = Scratch::new().unwrap();
        assert!(kept.path().is_dir());
        let gone = Scratch::new().unwrap();
        let path = gone.path().to_owned();
        drop(gone);
        assert!(!path.exists());

        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir(&path).unwrap();
            File::create(path.join(LAUNCH.lock)).unwrap();
            path
        };
        let (left, held, used) = (make("hvd-lab-launch-left"), make("hvd-lab-launch-held"), make("hvd-lab-launch-used"));
        let (unfinished, other) = (make(".hvd-lab-launch-new"), make("hvd-lab-something"));
        let target = make("target");
        symlink(&target, folder.path().join("hvd-lab-launch-link")).unwrap();
        let owner = File::open(held.join(LAUNCH.lock)).unwrap();
        owner.try_lock().unwrap();
        let mut rank = std::process::Command::new("sh");
        rank.args(["-c", "echo; read line"]).env("TMPDIR", &used).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut rank = rank.spawn().unwrap();
        // Just started, it has no environment to be read yet.
        rank.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        sweep_in(folder.path());
        assert!(!left.exists());
        assert!([&held, &used, &unfinished, &other, &target].into_iter().all(|path| path.join(LAUNCH.lock).exists()));
        drop(owner);
        rank.kill().unwrap();
        rank.wait().unwrap();
        sweep_in(folder.path());
        assert!(!held.exists() && !used.exists() && unfinished.exists());
        sweep();
        assert!(kept.path().is_dir());
    }

    fn unpacked(place: &Path) -> Scratch {
        sweep_in(place);
        Scratch::under(place, &REPLAY).unwrap()
    }

    fn old(folder: &Path) {
        let before = std::time::SystemTime::now() - 2 * ABANDONED;
        File::open(folder).unwrap().set_modified(before).unwrap();
    }

    #[test]
    fn what_a_dead_lab_left_is_swept_and_what_is_in_use_stays() {
        let place = tempfile::tempdir().unwrap();
        let living = unpacked(place.path());
        let at = |name: &str| place.path().join(format!("{}{name}", REPLAY.prefix));
        for name in ["killed", "older", "older-in-use", "being-made"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("events.jsonl"), "{}").unwrap();
        }
        // Its lab is gone, and the lock with it.
        fs::write(at("killed").join(REPLAY.lock), "").unwrap();
        let _played = File::open(at("older-in-use").join("events.jsonl")).unwrap();
        old(&at("older"));
        old(&at("older-in-use"));
        // What only has the name is none of ours.
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join(REPLAY.lock), "").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), at("link")).unwrap();
        fs::write(at("file"), "").unwrap();
        fs::create_dir(place.path().join("other")).unwrap();

        let next = unpacked(place.path());
        let is_there = ["killed", "older", "older-in-use", "being-made", "link", "file"].map(|name| at(name).exists());
        // Other systems do not say that nobody has it open.
        let older = !cfg!(target_os = "linux");
        assert_eq!(is_there, [false, older, true, true, true, true]);
        assert!(living.path().is_dir() && next.path().is_dir() && elsewhere.path().join(REPLAY.lock).exists());
        let (first, second) = (living.path().to_owned(), next.path().to_owned());
        drop((living, next));
        assert!(!first.exists() && !second.exists() && place.path().join("other").is_dir());
    }

    #[test]
    fn many_labs_at_once_take_no_folder_from_each_other() {
        let place = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let own = unpacked(place.path());
                        fs::write(own.path().join("events.jsonl"), "{}").unwrap();
                        assert!(own.path().join("events.jsonl").exists());
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
