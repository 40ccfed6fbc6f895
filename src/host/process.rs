//! What this host knows of a process by its id.
//!
//! Never signals a process.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError};

use nix::unistd::{Uid, User};

use crate::domain::device::Reading;

/// Longer command lines are cut: they are recorded twice a second.
const LONGEST: usize = 120;

/// Name of the program with its arguments, or why it cannot be told: a GPU's processes may belong to another container.
pub fn command(pid: u32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line);
    let mut words = line.split('\0').filter(|word| !word.is_empty());
    // Its folders say little and take the room of its arguments.
    let program = words.next().map(|path| path.rsplit('/').next().unwrap_or(path).to_owned());
    match program {
        Some(program) => {
            let whole = std::iter::once(program.as_str()).chain(words).collect::<Vec<_>>().join(" ");
            whole.chars().map(|c| if c.is_control() { '?' } else { c }).take(LONGEST).collect()
        }
        // A process of the kernel, or one that has just ended, has a name only.
        None => match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
            Ok(name) => name.trim_end().to_owned(),
            Err(_) => "(not visible here)".into(),
        },
    }
}

/// The name of the user that it runs as, or the number of one without a name.
pub fn owner(pid: u32) -> Reading<String> {
    // Names may come over the network, and are asked for twice a second.
    static NAMES: Mutex<BTreeMap<u32, String>> = Mutex::new(BTreeMap::new());
    let Ok(process) = std::fs::metadata(format!("/proc/{pid}")) else {
        return Reading::missing("no process of this id is visible here: it may run in another container");
    };
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let name = |uid| match User::from_uid(Uid::from_raw(uid)) {
        Ok(Some(user)) => user.name,
        _ => uid.to_string(),
    };
    Reading::Value(names.entry(process.uid()).or_insert_with_key(|uid| name(*uid)).clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_an_owner_or_the_reason_why_none_is_known() {
        let me = User::from_uid(Uid::effective()).unwrap().map_or(Uid::effective().to_string(), |user| user.name);
        assert_eq!(owner(std::process::id()), Reading::Value(me));
        // Above the highest that Linux gives.
        assert!(owner(4_294_967_295).reason().is_some_and(|why| why.contains("container")));
    }
}
