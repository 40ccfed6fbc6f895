//! The processes of a run: is this one proven to be the run's, who is in this session, and ending them.
//!
//! Never starts a process. A pid alone is no name: it goes with its start time, since numbers are used again, and with the
//! mark in its environment, since other hosts and containers use the same numbers at the same times.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::io::Errno;
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

pub use crate::domain::run::RUN_DIR_VARIABLE;
use crate::host::process;
pub use crate::host::process::{Process, look_up};

/// Whether the process that was seen with this start time still runs.
pub fn is_alive(pid: u32, start_ticks: u64) -> bool {
    look_up(pid).is_some_and(|process| !process.zombie && process.start_ticks == start_ticks)
}

/// Every process of this host that runs, as far as it may be seen.
fn all() -> impl Iterator<Item = Process> {
    process::all().filter(|process| !process.zombie)
}

/// What can be told here of a process that is said to belong to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It lives, and was started for this run.
    Ours,
    /// It does not live; its number may have passed to another process.
    Gone,
    /// It lives, and is another user's: nobody can tell what it was started for.
    Hidden,
}

/// Whether this process of this host and container is the run's: the one question before anything is sent to it.
pub fn prove(pid: u32, start_ticks: u64, folder: &Path) -> Proof {
    match is_alive(pid, start_ticks).then(|| is_of_run(pid, folder)) {
        Some(Some(true)) => Proof::Ours,
        Some(None) if is_alive(pid, start_ticks) => Proof::Hidden,
        _ => Proof::Gone,
    }
}

/// Whether a process was started for the run in this folder; `None` where its environment may not be read.
fn is_of_run(pid: u32, folder: &Path) -> Option<bool> {
    match has_variable(pid, RUN_DIR_VARIABLE, folder) {
        Ok(has_mark) => Some((has_mark || is_supervisor(pid, folder)) && sees_folder(pid, folder)),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
        Err(_) => Some(false),
    }
}

fn has_variable(pid: u32, name: &str, value: &Path) -> io::Result<bool> {
    let wanted = [name.as_bytes(), b"=", value.as_os_str().as_bytes()].concat();
    let environment = fs::read(format!("/proc/{pid}/environ"))?;
    Ok(environment.split(|byte| *byte == 0).any(|entry| entry == wanted))
}

/// By its command line, which is all that a supervisor of an older version has.
fn is_supervisor(pid: u32, folder: &Path) -> bool {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = words.split(|byte| *byte == 0).skip(1);
    words.next() == Some(b"supervise".as_slice()) && words.next() == Some(folder.as_os_str().as_bytes())
}

/// In a container the same path may be another folder.
fn sees_folder(pid: u32, folder: &Path) -> bool {
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

/// Processes of a session, other than its leader.
pub fn of_session(session: u32) -> Vec<u32> {
    all().filter(|process| process.session == session && process.pid != session).map(|process| process.pid).collect()
}

/// Processes that are proven to have been started for a run by a supervisor, other than the caller.
pub fn of_run(folder: &Path) -> Vec<u32> {
    let is_started =
        |pid: &u32| *pid != std::process::id() && is_of_run(*pid, folder) == Some(true) && !is_supervisor(*pid, folder);
    all().map(|process| process.pid).filter(is_started).collect()
}

/// Processes whose environment has this variable with this path, as far as it may be read.
pub fn with_variable(name: &str, path: &Path) -> Vec<u32> {
    all().map(|process| process.pid).filter(|pid| has_variable(*pid, name, path).is_ok_and(|has_it| has_it)).collect()
}

/// Send a signal to every process that is proven to be the run's, other than a supervisor; whether there was any.
pub fn signal_run(folder: &Path, signal: Signal) -> bool {
    let found = of_run(folder);
    found.iter().for_each(|pid| {
        send(*pid, signal, || is_of_run(*pid, folder) == Some(true));
    });
    !found.is_empty()
}

/// Send a signal to every process of the session that this one leads, other than itself; whether there was any.
pub fn signal_own_session(signal: Signal) -> bool {
    let session = std::process::id();
    let found = of_session(session);
    found.iter().for_each(|pid| {
        send(*pid, signal, || look_up(*pid).is_some_and(|process| process.session == session));
    });
    !found.is_empty()
}

/// Send a signal to every descendant of this process; whether there was any. A parent that ended hands its children on to a
/// process that adopts them, as a supervisor does.
pub fn signal_descendants(signal: Signal) -> bool {
    let found = descendants();
    found.iter().for_each(|process| {
        send(process.pid, signal, || is_alive(process.pid, process.start_ticks));
    });
    !found.is_empty()
}

fn descendants() -> Vec<Process> {
    let all: Vec<Process> = all().collect();
    let mut found = BTreeSet::from([std::process::id()]);
    // Generation by generation.
    loop {
        let born: Vec<u32> = all.iter().filter(|of| found.contains(&of.parent)).map(|of| of.pid).collect();
        let known = found.len();
        found.extend(born);
        if found.len() == known {
            return all.into_iter().filter(|of| of.pid != std::process::id() && found.contains(&of.pid)).collect();
        }
    }
}

/// Send a signal to a process of a run if it is [proven](prove) to be that; whether it was sent.
pub fn signal_proven(pid: u32, start_ticks: u64, folder: &Path, signal: Signal) -> bool {
    send(pid, signal, || prove(pid, start_ticks, folder) == Proof::Ours)
}

/// Send a signal to a child that nobody has waited for yet: its number is its own until then.
pub fn signal(pid: u32, signal: Signal) {
    send(pid, signal, || true);
}

/// The process is held while it is asked for, so that what was proven is true of the process that gets the signal.
fn send(pid: u32, signal: Signal, is_it: impl FnOnce() -> bool) -> bool {
    let Some(number) = i32::try_from(pid).ok().filter(|number| *number > 1) else { return false };
    let held = rustix::process::Pid::from_raw(number).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
    if !is_it() {
        return false;
    }
    match (held, rustix::process::Signal::from_named_raw(signal as i32)) {
        (Some(Ok(process)), Some(signal)) => pidfd_send_signal(process, signal).is_ok(),
        (Some(Err(Errno::SRCH)), _) => false,
        // Before Linux 5.3 nothing holds a process.
        _ => kill(Pid::from_raw(number), signal).is_ok(),
    }
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
        let ours = descendants();
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
