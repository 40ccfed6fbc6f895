//! Processes as Linux shows them in /proc.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::found::Process;

impl Process {
    /// What `/proc/PID/stat` says. Fields count from behind the last `)`: a command name may contain anything.
    fn parse(stat: &str) -> Option<Process> {
        let pid = stat.split_once(' ')?.0.parse().ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(Process {
            pid,
            parent: u32::try_from(number(1)?).ok()?,
            session: u32::try_from(number(3)?).ok()?,
            start_ticks: number(19)?,
            zombie: matches!(*fields.first()?, "Z" | "X"),
            suspended: *fields.first()? == "T",
            cpu_ticks: (11..15).map(number).sum::<Option<u64>>()?,
            resident: number(21)?.saturating_mul(rustix::param::page_size() as u64),
        })
    }
}

/// The process with this number, if there is one (including one that has ended and that its parent has not waited for).
pub fn look_up(pid: u32) -> Option<Process> {
    // A command name need not be UTF-8 text.
    Process::parse(&String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?))
}

/// Every process of this host that this user may see (including ended ones that their parents have not waited for).
pub fn all() -> impl Iterator<Item = Process> {
    numbers("/proc").filter_map(look_up)
}

/// The threads of a process.
pub fn threads(pid: u32) -> impl Iterator<Item = u32> {
    numbers(&format!("/proc/{pid}/task"))
}

/// The entries of a folder that are numbers.
fn numbers(folder: &str) -> impl Iterator<Item = u32> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// What a file of a process lists, each entry with a NUL behind it.
fn list(pid: u32, file: &str) -> io::Result<Vec<Vec<u8>>> {
    let mut bytes = fs::read(format!("/proc/{pid}/{file}"))?;
    bytes.pop_if(|last| *last == 0);
    Ok(if bytes.is_empty() { Vec::new() } else { bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect() })
}

/// The words that it was started with. Empty if they may not be read, or it is gone.
pub fn arguments(pid: u32) -> Vec<Vec<u8>> {
    list(pid, "cmdline").unwrap_or_default()
}

/// The environment that the process started with, each variable as `NAME=value`.
///
/// # Errors
/// The process is gone, or its environment may not be read ([`io::ErrorKind::PermissionDenied`]).
pub fn environment(pid: u32) -> io::Result<Vec<Vec<u8>>> {
    list(pid, "environ")
}

/// The running processes that were started with this variable, `NAME=value`, as far as it may be read.
pub fn with_variable(entry: &[u8]) -> Vec<u32> {
    let has_it = |pid: &u32| environment(*pid).is_ok_and(|variables| variables.iter().any(|variable| variable == entry));
    all().filter(|process| !process.zombie).map(|process| process.pid).filter(has_it).collect()
}

pub(super) fn name(pid: u32) -> Option<String> {
    Some(fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned())
}

pub(super) fn user(pid: u32) -> Option<u32> {
    Some(fs::metadata(format!("/proc/{pid}")).ok()?.uid())
}

/// Whether the path of a folder leads a process to the same folder as this one: in a container it may be another.
pub fn sees(pid: u32, folder: &Path) -> bool {
    let Ok(ours) = fs::metadata(folder) else { return is_in_our_container(pid) };
    let theirs = Path::new("/proc").join(pid.to_string()).join("root").join(folder.strip_prefix("/").unwrap_or(folder));
    match fs::metadata(theirs) {
        Ok(theirs) => (theirs.dev(), theirs.ino()) == (ours.dev(), ours.ino()),
        Err(error) => error.kind() != io::ErrorKind::NotFound && is_in_our_container(pid),
    }
}

fn is_in_our_container(pid: u32) -> bool {
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    namespace(&pid.to_string()) == namespace("self")
}

/// Whether some process of this user has a file in the folder open.
pub fn is_open(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return true };
    let files = numbers("/proc").flat_map(|pid| fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten());
    let mut targets = files.filter_map(|file| fs::read_link(file.path()).ok());
    targets.any(|target: PathBuf| target.starts_with(&folder))
}

/// Bytes that a process has written so far, to files and pipes alike.
pub fn written(pid: u32) -> Option<u64> {
    let counts = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    counts.lines().find_map(|line| line.strip_prefix("wchar:"))?.trim().parse().ok()
}

/// Limits the size of each file that the process writes from now on, in bytes.
///
/// # Errors
/// The system's.
pub fn limit_files(pid: u32, bytes: u64) -> io::Result<()> {
    use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
    let limit = Rlimit { current: Some(bytes), ..getrlimit(Resource::Fsize) };
    prlimit(Pid::from_raw(pid.cast_signed()), Resource::Fsize, limit)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_spaces_and_brackets_do_not_shift_the_fields() {
        let stat = "42 (a) b) (c) R 1 42 7 0 -1 4194304 1 0 0 0 1 2 3 4 20 0 1 0 987654 1 3";
        let resident = 3 * rustix::param::page_size() as u64;
        let (zombie, suspended) = (false, false);
        let process =
            Process { pid: 42, parent: 1, session: 7, start_ticks: 987_654, zombie, suspended, cpu_ticks: 10, resident };
        assert_eq!(Process::parse(stat), Some(process.clone()));
        assert_eq!(Process::parse(&stat.replace(" R ", " Z ")), Some(Process { zombie: true, ..process.clone() }));
        assert_eq!(Process::parse(&stat.replace(" R ", " T ")), Some(Process { suspended: true, ..process }));
        assert_eq!(Process::parse("42 (a"), None);
    }

    #[test]
    fn a_process_whose_name_is_not_utf_8_is_found() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
        std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
        let mut child = std::process::Command::new(&program).arg("60").spawn().unwrap();
        // It takes its name a moment after it was started.
        let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let mut name = Vec::new();
        while name != b"caf\xe9\n" && std::time::Instant::now() < end {
            name = fs::read(format!("/proc/{}/comm", child.id())).unwrap();
            std::thread::yield_now();
        }
        let found = look_up(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(name == b"caf\xe9\n" && found.is_some(), "{name:?}: {found:?}");
    }
}
