//! Temporary folders that go with their owner, also when that is killed: then the next launch, or the next look, removes them.
//!
//! A folder stays while its owner lives, or a living process has it as its TMPDIR. The owner holds a lock inside; a
//! folder gets the name by which it is found only after that lock was taken.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::of_run::with_variable;
use nix::unistd::Uid;

/// Where sockets are made if the folder of temporary files has a path that is too long for them.
pub const SHORT: &str = "/tmp";

const PREFIX: &str = "hvd-lab-launch-";
/// Not locked yet.
const UNFINISHED: &str = ".hvd-lab-launch-";
const OWNER: &str = "owner.lock";
/// Lists what goes with the folder though it is not in it.
const ALSO: &str = "also";
/// Open MPI keeps the shared memory of each rank here, and leaves it there when launcher and ranks are killed.
const SHARED_MEMORY: &str = "/dev/shm";
const SEGMENTS: [&str; 2] = ["sm_segment.", "vader_segment."];
/// Longer than any process takes to lock its folder.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A temporary folder of this process; removed when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    _owner: File,
}

impl Scratch {
    /// In the folder of temporary files, or in /tmp where TMPDIR names none that is everybody's and takes folders.
    ///
    /// # Errors
    /// Neither takes one.
    pub fn new() -> io::Result<Scratch> {
        let usual = std::env::temp_dir();
        let short = || Scratch::under(Path::new(SHORT));
        if usual.is_absolute() { Scratch::under(&usual).or_else(|error| short().map_err(|_| error)) } else { short() }
    }

    /// The same in another folder.
    ///
    /// # Errors
    /// That folder takes none.
    pub fn under(folder: &Path) -> io::Result<Scratch> {
        let made = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(folder)?;
        let owner = File::create(made.path().join(OWNER))?;
        owner.try_lock()?;
        let name = made.path().file_name().unwrap_or_default().to_string_lossy().replacen(UNFINISHED, PREFIX, 1);
        let path = made.path().with_file_name(name);
        fs::rename(made.path(), &path)?;
        // Its name is another one now.
        let _ = made.keep();
        Ok(Scratch { path, _owner: owner })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it that neither the lab nor MPI has made: the first by name.
    pub fn foreign(&self) -> Option<String> {
        const OURS: [&str; 7] = [OWNER, ALSO, "events", "ompi.", "prte.", "pmix", "openmpi-sessions"];
        let names = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| !OURS.iter().any(|ours| name.starts_with(ours))).min()
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
        remove(&self.path);
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
        let is_left = match (name.starts_with(PREFIX), name.starts_with(UNFINISHED)) {
            (true, _) => has_no_owner(&entry.path()),
            (_, true) => is_old(),
            _ => false,
        };
        if is_left {
            remove(&entry.path());
        }
    }
}

/// Ranks may outlive a supervisor that was killed, until the next look at their run.
fn has_no_owner(folder: &Path) -> bool {
    let Ok(owner) = File::open(folder.join(OWNER)) else { return false };
    owner.try_lock().is_ok() && with_variable("TMPDIR", folder).is_empty()
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
            File::create(path.join(OWNER)).unwrap();
            path
        };
        let (left, held, used) = (make("hvd-lab-launch-left"), make("hvd-lab-launch-held"), make("hvd-lab-launch-used"));
        let (unfinished, other) = (make(".hvd-lab-launch-new"), make("hvd-lab-something"));
        let target = make("target");
        symlink(&target, folder.path().join("hvd-lab-launch-link")).unwrap();
        let owner = File::open(held.join(OWNER)).unwrap();
        owner.try_lock().unwrap();
        let mut rank = std::process::Command::new("sh");
        rank.args(["-c", "echo; read line"]).env("TMPDIR", &used).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut rank = rank.spawn().unwrap();
        // Just started, it has no environment to be read yet.
        rank.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        sweep_in(folder.path());
        assert!(!left.exists());
        assert!([&held, &used, &unfinished, &other, &target].into_iter().all(|path| path.join(OWNER).exists()));
        drop(owner);
        rank.kill().unwrap();
        rank.wait().unwrap();
        sweep_in(folder.path());
        assert!(!held.exists() && !used.exists() && unfinished.exists());
        sweep();
        assert!(kept.path().is_dir());
    }
}
