//! The processes of this host, as the system describes them. Other modules ask here, and read no /proc/PID themselves.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use nix::unistd::{Uid, User};

use crate::domain::device::Reading;

// The tests of `elsewhere` compare it with /proc.
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

pub use system::{all, arguments, environment, is_open, limit_files, look_up, sees, threads, with_variable, written};

/// Longer command lines are cut: they are recorded twice a second.
const LONGEST: usize = 120;

/// Name of the program with its arguments, or why it is unknown: a GPU's processes may belong to another container.
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
    let ask = || User::from_uid(Uid::from_raw(uid)).ok().flatten().map_or_else(|| uid.to_string(), |user| user.name);
    names.entry(uid).or_insert_with(ask).clone()
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
