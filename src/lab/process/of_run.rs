//! The processes of a run: finding them, proving that they belong to it, and signalling them.
//!
//! A number that another process wrote into a file does not name a process by itself. Its start time is compared as well, since numbers
//! are used again, and so is the mark in its environment, since other hosts and containers use the same numbers at the same times.
//! Within the life of one process a [`ProcessHandle`] takes the place of the start time.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::sys::signal::Signal;

use super::ProcessHandle;
use super::this_program::SUPERVISE;
pub use crate::domain::run::RUN_DIR_VARIABLE;
use crate::host::process::{self, Process, look_up};

/// Marks every process of a short question in its environment.
pub const QUESTION_VARIABLE: &str = "HVD_LAB_QUESTION";

/// Whether the process that was seen with this start time still runs.
pub fn is_alive(pid: u32, start_ticks: u64) -> bool {
    look_up(pid).is_some_and(|process| !process.zombie && process.start_ticks == start_ticks)
}

/// Every process of this host that runs, as far as it may be seen.
fn all() -> impl Iterator<Item = Process> {
    process::all().filter(|process| !process.zombie)
}

/// What is known here about a process that is recorded as one of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It lives, and was started for this run.
    Ours,
    /// It does not live; its number may have passed to another process.
    Gone,
    /// It lives, and is another user's: its environment may not be read.
    Hidden,
}

/// Whether this process of this host and container is the run's: the one question before anything is sent to it.
pub fn prove(pid: u32, start_ticks: u64, folder: &Path) -> Proof {
    // macOS says no more about another user's process than that it exists.
    if !cfg!(target_os = "linux") && look_up(pid).is_some_and(|process| process.start_ticks == 0) {
        return Proof::Hidden;
    }
    match is_alive(pid, start_ticks).then(|| is_of_run(pid, folder)) {
        Some(Some(true)) => Proof::Ours,
        Some(None) if is_alive(pid, start_ticks) => Proof::Hidden,
        _ => Proof::Gone,
    }
}

/// Whether a process was started for the run in this folder; `None` where its environment may not be read.
fn is_of_run(pid: u32, folder: &Path) -> Option<bool> {
    match process::environment(pid) {
        Ok(variables) => {
            let has_mark = variables.contains(&entry(RUN_DIR_VARIABLE, folder));
            Some((has_mark || is_supervisor(pid, folder)) && process::sees(pid, folder))
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
        Err(_) => Some(false),
    }
}

fn entry(name: &str, value: &Path) -> Vec<u8> {
    [name.as_bytes(), b"=", value.as_os_str().as_bytes()].concat()
}

/// By its command line, which is all that a supervisor of an older version has.
fn is_supervisor(pid: u32, folder: &Path) -> bool {
    let words = process::arguments(pid);
    words.get(1..3).is_some_and(|words| words[0] == SUPERVISE.as_bytes() && words[1] == folder.as_os_str().as_bytes())
}

/// Processes of a session, other than its leader.
pub fn of_session(session: u32) -> Vec<u32> {
    all().filter(|process| process.session == session && process.pid != session).map(|process| process.pid).collect()
}

/// Processes that are proven to have been started for a run by a supervisor, other than the caller.
pub fn of_run(folder: &Path) -> Vec<u32> {
    let is_started = |pid: &u32| *pid != std::process::id() && process::sees(*pid, folder) && !is_supervisor(*pid, folder);
    with_variable(RUN_DIR_VARIABLE, folder).into_iter().filter(is_started).collect()
}

/// Processes whose environment has this variable with this path, as far as it may be read.
pub fn with_variable(name: &str, path: &Path) -> Vec<u32> {
    process::with_variable(&entry(name, path))
}

/// Send a signal to every process that is proven to be the run's, other than a supervisor; whether there was any.
pub fn signal_run(folder: &Path, signal: Signal) -> bool {
    signal_all(&of_run(folder), signal, |pid| is_of_run(pid, folder) == Some(true))
}

/// Send a signal to every process of the session that this one leads, other than itself; whether there was any.
pub fn signal_own_session(signal: Signal) -> bool {
    let session = std::process::id();
    signal_all(&of_session(session), signal, |pid| look_up(pid).is_some_and(|process| process.session == session))
}

/// Send a signal to those of which this is still true; whether there was any to begin with.
fn signal_all(found: &[u32], signal: Signal, is_it: impl Fn(u32) -> bool) -> bool {
    found.iter().for_each(|pid| _ = send(*pid, signal, || is_it(*pid)));
    !found.is_empty()
}

/// Send a signal to every descendant of this process; whether there was any. A parent that ended hands its children on to a
/// process that adopts them, as a supervisor does on Linux.
pub fn signal_descendants(signal: Signal) -> bool {
    signal_each(&descendants(std::process::id()), signal)
}

/// Send a signal to those of these processes that still run; whether there was any to begin with.
pub fn signal_each(found: &[Process], signal: Signal) -> bool {
    found.iter().for_each(|process| _ = send(process.pid, signal, || is_alive(process.pid, process.start_ticks)));
    !found.is_empty()
}

/// Whether the parent of a process has ended, and it was handed on to this supervisor. Only Linux lets a process adopt others:
/// elsewhere they go to the first of all.
pub fn is_adopted(parent: u32, supervisor: u32) -> bool {
    parent == supervisor || !cfg!(target_os = "linux") && parent == 1
}

/// Processes of the run in this folder whose parents have ended, and which were handed on to this supervisor. Processes
/// of a probe command are left out.
pub fn adopted(folder: &Path) -> Vec<Process> {
    let me = std::process::id();
    let is_question = |process: &Process| {
        let entry = [QUESTION_VARIABLE.as_bytes(), b"="].concat();
        process::environment(process.pid).is_ok_and(|variables| variables.iter().any(|of| of.starts_with(&entry)))
    };
    let found = all().filter(|process| process.pid != me && is_adopted(process.parent, me));
    // Elsewhere the first of all processes has the children of all others too.
    let found = found.filter(|process| cfg!(target_os = "linux") || is_of_run(process.pid, folder) == Some(true));
    found.filter(|process| !is_question(process)).collect()
}

/// All that a process has started, and what those have, as far as none between has ended.
pub fn descendants(of: u32) -> Vec<Process> {
    let all: Vec<Process> = all().collect();
    let mut found = BTreeSet::from([of]);
    // Generation by generation.
    loop {
        let born: Vec<u32> = all.iter().filter(|it| found.contains(&it.parent)).map(|it| it.pid).collect();
        let known = found.len();
        found.extend(born);
        if found.len() == known {
            return all.into_iter().filter(|process| process.pid != of && found.contains(&process.pid)).collect();
        }
    }
}

/// Send a signal to a process of a run if it is [proven](prove) to be that; whether it was sent.
pub fn signal_proven(pid: u32, start_ticks: u64, folder: &Path, signal: Signal) -> bool {
    send(pid, signal, || prove(pid, start_ticks, folder) == Proof::Ours)
}

/// Send a signal to a child that was not waited for yet: until then its number is its own.
pub fn signal(pid: u32, signal: Signal) {
    send(pid, signal, || true);
}

fn send(pid: u32, signal: Signal, is_it: impl FnOnce() -> bool) -> bool {
    // Held while the proof is made, so that what was proven is true of the process that gets the signal.
    ProcessHandle::open(pid).is_some_and(|process| is_it() && process.signal(signal))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn this_process_lives_and_an_impostor_does_not() {
        let me = look_up(std::process::id()).unwrap();
        assert!(is_alive(me.pid, me.start_ticks));
        assert!(!is_alive(me.pid, me.start_ticks + 1));
    }

    #[test]
    fn a_grandchild_with_a_session_and_an_environment_of_its_own_is_a_descendant() {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "env -i setsid sh -c 'echo $$; exec sleep 300' & wait"]).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut pid = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut pid).unwrap();
        let pid: u32 = pid.trim().parse().unwrap();
        // Other tests have children too: only these two are looked at.
        let ours = descendants(std::process::id());
        for pid in [child.id(), pid] {
            assert!(ours.iter().any(|process| process.pid == pid), "{pid} in {ours:?}");
            signal(pid, Signal::SIGKILL);
        }
        child.wait().unwrap();
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
