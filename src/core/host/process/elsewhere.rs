//! Processes as sysinfo describes them on systems other than Linux. These do not say which container a process is in, or which files it
//! has open.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use nix::unistd::Uid;
use sysinfo::{Pid, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System, UpdateKind};

use super::found::Process;

impl From<&sysinfo::Process> for Process {
    fn from(found: &sysinfo::Process) -> Process {
        Process {
            pid: found.pid().as_u32(),
            parent: found.parent().map_or(0, Pid::as_u32),
            session: found.session_id().map_or(0, Pid::as_u32),
            start_ticks: found.start_time(),
            zombie: matches!(found.status(), ProcessStatus::Zombie | ProcessStatus::Dead),
            suspended: found.status() == ProcessStatus::Stop,
            cpu_ticks: found.accumulated_cpu_time() / 10,
            resident: found.memory(),
        }
    }
}

fn seen(which: ProcessesToUpdate, what: ProcessRefreshKind) -> System {
    let mut system = System::new();
    system.refresh_processes_specifics(which, true, what.without_tasks());
    system
}

/// Asks about one process.
fn ask<T>(pid: u32, what: ProcessRefreshKind, answer: impl FnOnce(&sysinfo::Process) -> T) -> Option<T> {
    let pid = Pid::from_u32(i32::try_from(pid).ok()?.cast_unsigned());
    seen(ProcessesToUpdate::Some(&[pid]), what).process(pid).map(answer)
}

fn bytes(words: &[OsString]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.clone().into_vec()).collect()
}

/// The process with this number, if there is one.
pub fn look_up(pid: u32) -> Option<Process> {
    ask(pid, ProcessRefreshKind::nothing().with_cpu().with_memory(), |found| Process::from(found))
}

/// Every process of this host that this user may see.
pub fn all() -> impl Iterator<Item = Process> {
    let system = seen(ProcessesToUpdate::All, ProcessRefreshKind::nothing().with_cpu().with_memory());
    system.processes().values().map(Process::from).collect::<Vec<_>>().into_iter()
}

/// The process alone, if it is there: this system does not number threads.
pub fn threads(pid: u32) -> impl Iterator<Item = u32> {
    look_up(pid).map(|found| found.pid).into_iter()
}

/// The words that it was started with. Empty if they may not be read, or it is gone.
pub fn arguments(pid: u32) -> Vec<Vec<u8>> {
    let what = ProcessRefreshKind::nothing().with_cmd(UpdateKind::Always);
    ask(pid, what, |found| bytes(found.cmd())).unwrap_or_default()
}

/// The environment that the process started with, each variable as `NAME=value`. macOS hides those of its own programs, such as a shell.
///
/// # Errors
/// The process is gone, or its environment may not be read ([`io::ErrorKind::PermissionDenied`]).
pub fn environment(pid: u32) -> io::Result<Vec<Vec<u8>>> {
    let what = ProcessRefreshKind::nothing().with_user(UpdateKind::Always).with_environ(UpdateKind::Always);
    let found = ask(pid, what, |found| (found.effective_user_id().map(|user| **user), bytes(found.environ())));
    let (user, variables) = found.ok_or(io::ErrorKind::NotFound)?;
    let may_be_read = Uid::effective().is_root() || user == Some(Uid::effective().as_raw());
    if may_be_read { Ok(variables) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// The running processes that were started with this variable, `NAME=value`, as far as it may be read.
pub fn with_variable(entry: &[u8]) -> Vec<u32> {
    // One look at all of them: each single look takes as long.
    let system = seen(ProcessesToUpdate::All, ProcessRefreshKind::nothing().with_environ(UpdateKind::Always));
    let has_it = |found: &&sysinfo::Process| {
        !Process::from(*found).zombie && found.environ().iter().any(|variable| variable.as_bytes() == entry)
    };
    system.processes().values().filter(has_it).map(|found| found.pid().as_u32()).collect()
}

pub(super) fn name(pid: u32) -> Option<String> {
    ask(pid, ProcessRefreshKind::nothing(), |found| found.name().to_string_lossy().into_owned())
}

pub(super) fn user(pid: u32) -> Option<u32> {
    ask(pid, ProcessRefreshKind::nothing().with_user(UpdateKind::Always), |found| found.effective_user_id().map(|user| **user))?
}

/// Whether the process is there: this system has no containers.
pub fn sees(pid: u32, _folder: &Path) -> bool {
    look_up(pid).is_some()
}

/// Always: this system does not say.
pub fn is_open(_folder: &Path) -> bool {
    true
}

/// `None`: this system does not say.
pub fn written(_pid: u32) -> Option<u64> {
    None
}

/// # Errors
/// Always: this system sets no limits of another process.
pub fn limit_files(_pid: u32, _bytes: u64) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system sets no limits of another process"))
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use nix::sys::signal::{Signal, kill};

    use super::super::proc;
    use super::*;

    /// A process of its own session that waits, with a variable and odd words.
    fn waiting() -> Child {
        let mut command = Command::new("setsid");
        command.args(["cat", "-", "/dev/null/a  b"]).env_clear().env("HVD_LAB_MARK", "a=b c").env("PATH", "/usr/bin:/bin");
        let child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        // It is cat from the moment on that it has cat's name.
        while proc::name(child.id()).is_some_and(|name| name != "cat") {
            std::thread::yield_now();
        }
        child
    }

    #[test]
    fn both_tell_the_same_of_a_process() {
        let mut child = waiting();
        let pid = child.id();
        let (here, there) = (look_up(pid).unwrap(), proc::look_up(pid).unwrap());
        let marked = with_variable(b"HVD_LAB_MARK=a=b c");
        let listed = all().find(|process| process.pid == pid).unwrap();
        let asked = (arguments(pid), environment(pid).unwrap(), name(pid), user(pid), threads(pid).collect::<Vec<_>>());
        let read = (proc::arguments(pid), proc::environment(pid).unwrap(), proc::name(pid), proc::user(pid), vec![pid]);
        child.kill().unwrap();
        let ended = loop {
            match look_up(pid) {
                Some(found) if !found.zombie => std::thread::yield_now(),
                found => break found,
            }
        };
        child.wait().unwrap();
        assert_eq!((here.pid, here.parent, here.session), (pid, there.parent, there.session));
        assert_eq!((here.zombie, here.suspended, here.start_ticks), (false, false, listed.start_ticks));
        assert!(here.resident > 0 && here.start_ticks > 1_000_000_000, "{here:?}");
        assert_eq!(asked, read);
        assert!(marked.contains(&pid) && !with_variable(b"HVD_LAB_MARK=a=b c").contains(&pid), "{marked:?}");
        assert!(ended.is_none_or(|ended| ended.zombie) && look_up(pid).is_none() && arguments(pid).is_empty());
        assert_eq!(environment(pid).unwrap_err().kind(), io::ErrorKind::NotFound);
        let here = Path::new("/");
        assert!(sees(std::process::id(), here) && !sees(pid, here) && is_open(here), "what they do not tell");
        assert_eq!(written(std::process::id()), None);
        assert_eq!(limit_files(std::process::id(), 1).unwrap_err().kind(), io::ErrorKind::Unsupported);
        assert_eq!((name(u32::MAX), user(u32::MAX)), (None, None));
    }

    #[test]
    fn a_process_that_is_stopped_is_seen_stopped() {
        let mut child = waiting();
        let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
        let until = |is_it: &dyn Fn(Process) -> bool| (0..10_000).any(|_| look_up(child.id()).is_some_and(is_it));
        kill(pid, Signal::SIGSTOP).unwrap();
        let stopped = until(&|process| process.suspended);
        kill(pid, Signal::SIGCONT).unwrap();
        let goes_on = until(&|process| !process.suspended);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(stopped && goes_on);
    }
}
