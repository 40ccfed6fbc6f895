//! The processes of this host. No other module asks the system who they are, or lists their numbers.
//!
//! Never signals a process.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use nix::unistd::{Uid, User};

use crate::domain::device::Reading;

// Its tests hold it against /proc, where that is.
#[cfg(any(test, not(target_os = "linux")))]
mod elsewhere;
mod found;
#[cfg(target_os = "linux")]
mod proc;

pub use found::Process;

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use proc as system;

/// Longer command lines are cut: they are recorded twice a second.
const LONGEST: usize = 120;

/// The process with this number, if there is one (on Linux ended ones that nobody waited for included).
pub fn look_up(pid: u32) -> Option<Process> {
    system::look_up(pid)
}

/// Every process of this host, as far as it may be seen (on Linux ended ones that nobody waited for included).
pub fn all() -> impl Iterator<Item = Process> {
    system::all()
}

/// The threads of a process; on a system that does not number them, of one that is there the process alone.
pub fn threads(pid: u32) -> impl Iterator<Item = u32> {
    system::threads(pid)
}

/// The words that it was started with. None where they may not be read, or it is gone.
pub fn arguments(pid: u32) -> Vec<Vec<u8>> {
    system::arguments(pid)
}

/// The variables that it was started with, each as `NAME=value`. macOS hides those of its own programs, such as a shell: there are
/// none then.
///
/// # Errors
/// The process is gone, or its environment may not be read ([`io::ErrorKind::PermissionDenied`]).
pub fn environment(pid: u32) -> io::Result<Vec<Vec<u8>>> {
    system::environment(pid)
}

/// The processes that run and were started with this variable, `NAME=value`, as far as it may be read.
pub fn with_variable(entry: &[u8]) -> Vec<u32> {
    system::with_variable(entry)
}

/// Whether the path of a folder leads a process to the same folder as this one: in a container it may be another.
pub fn sees(pid: u32, folder: &Path) -> bool {
    system::sees(pid, folder)
}

/// Whether some process of this user has a file in the folder open; true where the system does not tell.
pub fn is_open(folder: &Path) -> bool {
    system::is_open(folder)
}

/// Bytes that a process has written so far, to files and pipes alike; `None` where the system does not tell.
pub fn written(pid: u32) -> Option<u64> {
    system::written(pid)
}

/// From now on no file of the process may grow beyond so many bytes.
///
/// # Errors
/// The system's, or that it sets no limits of another process.
pub fn limit_files(pid: u32, bytes: u64) -> io::Result<()> {
    system::limit_files(pid, bytes)
}

/// Name of the program with its arguments, or why it cannot be told: a GPU's processes may belong to another container.
pub fn command(pid: u32) -> String {
    let line = arguments(pid);
    let mut words = line.iter().map(|word| String::from_utf8_lossy(word).into_owned()).filter(|word| !word.is_empty());
    // Its folders say little and take the room of its arguments.
    let program = words.next().map(|path| path.rsplit('/').next().unwrap_or(&path).to_owned());
    match program {
        Some(program) => {
            let whole = std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ");
            whole.chars().map(|c| if c.is_control() { '?' } else { c }).take(LONGEST).collect()
        }
        // A process of the kernel, or one that has just ended, has a name only.
        None => system::name(pid).unwrap_or_else(|| "(not visible here)".into()),
    }
}

/// The name of the user that it runs as, or the number of one without a name.
pub fn owner(pid: u32) -> Reading<String> {
    match system::user(pid) {
        Some(uid) => Reading::Value(user_name(uid)),
        None => Reading::missing("no process of this id is visible here: it may run in another container"),
    }
}

/// The name of a user, or the number of one without a name.
pub fn user_name(uid: u32) -> String {
    // Names may come over the network, and are asked for twice a second.
    static NAMES: Mutex<BTreeMap<u32, String>> = Mutex::new(BTreeMap::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let name = |uid| match User::from_uid(Uid::from_raw(uid)) {
        Ok(Some(user)) => user.name,
        _ => uid.to_string(),
    };
    names.entry(uid).or_insert_with_key(|uid| name(*uid)).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_among_all() {
        let me = std::process::id();
        assert_eq!(all().find(|process| process.pid == me).unwrap().start_ticks, look_up(me).unwrap().start_ticks);
        assert!(threads(me).any(|thread| thread == me));
    }

    #[test]
    fn a_process_has_an_owner_or_the_reason_why_none_is_known() {
        let me = User::from_uid(Uid::effective()).unwrap().map_or(Uid::effective().to_string(), |user| user.name);
        assert_eq!(owner(std::process::id()), Reading::Value(me));
        // Above the highest that Linux gives.
        assert!(owner(4_294_967_295).reason().is_some_and(|why| why.contains("container")));
    }
}
