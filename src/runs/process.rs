//! Processes as /proc shows them: is this one still the same, who is in this session, and ending them.
//!
//! Never starts a process. A pid alone is no name: it goes with its start time, since numbers are used again.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Set for everything that a supervisor starts, to the path of the run folder: leftovers are known by it.
pub const RUN_DIR_VARIABLE: &str = "HVD_LAB_RUN_DIR";

/// What `/proc/PID/stat` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub session: u32,
    /// Clock ticks since boot.
    pub start_ticks: u64,
    /// Ended, but its parent has not asked for its exit code yet.
    pub zombie: bool,
}

/// The process with this number, if there is one (ended ones that nobody waited for included).
pub fn look_up(pid: u32) -> Option<Process> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Fields count from behind the last `)`: a command name may contain anything.
fn parse_stat(stat: &str) -> Option<Process> {
    let pid = stat.split_once(' ')?.0.parse().ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(Process {
        pid,
        session: fields.get(3)?.parse().ok()?,
        start_ticks: fields.get(19)?.parse().ok()?,
        zombie: matches!(*fields.first()?, "Z" | "X"),
    })
}

/// Whether the process that was seen with this start time still runs.
pub fn is_alive(pid: u32, start_ticks: u64) -> bool {
    look_up(pid).is_some_and(|process| !process.zombie && process.start_ticks == start_ticks)
}

/// Every process of this machine that runs, as far as it may be seen.
fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| look_up(entry.file_name().to_str()?.parse().ok()?))
        .filter(|process| !process.zombie)
        .collect()
}

/// Processes of a session, other than its leader.
pub fn of_session(session: u32) -> Vec<u32> {
    all().into_iter().filter(|process| process.session == session && process.pid != session).map(|process| process.pid).collect()
}

/// Processes started for a run: those whose environment names its folder, other than the caller.
pub fn of_run(folder: &Path) -> Vec<u32> {
    with_variable(RUN_DIR_VARIABLE, folder.as_os_str())
}

/// Processes that were started with this variable in their environment, other than the caller.
pub fn with_variable(name: &str, value: &OsStr) -> Vec<u32> {
    let mut wanted = format!("{name}=").into_bytes();
    wanted.extend(value.as_bytes());
    let has_it = |pid: u32| {
        fs::read(format!("/proc/{pid}/environ")).is_ok_and(|text| text.split(|byte| *byte == 0).any(|entry| entry == wanted))
    };
    all().into_iter().map(|process| process.pid).filter(|pid| *pid != std::process::id() && has_it(*pid)).collect()
}

/// Send a signal. A process that is gone already, or belongs to someone else, is left alone.
pub fn signal(pid: u32, signal: Signal) {
    if let Ok(pid) = i32::try_from(pid)
        && pid > 1
    {
        let _ = kill(Pid::from_raw(pid), signal);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn names_with_spaces_and_brackets_do_not_shift_the_fields() {
        let stat = "42 (a) b) (c) R 1 42 7 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 1";
        assert_eq!(parse_stat(stat), Some(Process { pid: 42, session: 7, start_ticks: 987_654, zombie: false }));
        assert_eq!(parse_stat("42 (a"), None);
    }

    #[test]
    fn this_process_lives_and_an_impostor_does_not() {
        let me = look_up(std::process::id()).unwrap();
        assert!(is_alive(me.pid, me.start_ticks));
        assert!(!is_alive(me.pid, me.start_ticks + 1));
    }

    #[test]
    fn a_child_is_found_by_the_folder_in_its_environment() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "echo; read line"]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.env(RUN_DIR_VARIABLE, folder.path()).spawn().unwrap();
        // Just started, it has no environment to be read yet.
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let found = of_run(folder.path());
        signal(child.id(), Signal::SIGKILL);
        child.wait().unwrap();
        assert_eq!(found, [child.id()]);
        assert_eq!(of_run(folder.path()), [0; 0]);
    }
}
