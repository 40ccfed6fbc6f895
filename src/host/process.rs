//! The processes of this host as /proc shows them. No other module reads /proc/PID/stat or lists the pids.
//!
//! Never signals a process.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError};

use nix::unistd::{Uid, User};

use crate::domain::device::Reading;

/// Longer command lines are cut: they are recorded twice a second.
const LONGEST: usize = 120;

/// What `/proc/PID/stat` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    pub session: u32,
    /// Clock ticks since boot.
    pub start_ticks: u64,
    /// Ended, but its parent has not asked for its exit code yet.
    pub zombie: bool,
    /// Suspended by a signal, as Ctrl-Z does: it gets no other one until it is woken.
    pub suspended: bool,
    /// Processor time of itself and of the children that it has waited for.
    pub cpu_ticks: u64,
    /// Bytes of it that are in memory.
    pub resident: u64,
}

impl Process {
    /// Fields count from behind the last `)`: a command name may contain anything.
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

/// The process with this number, if there is one (ended ones that nobody waited for included).
pub fn look_up(pid: u32) -> Option<Process> {
    // A command name need not be UTF-8 text.
    Process::parse(&String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?))
}

/// Every process of this host, as far as it may be seen (ended ones that nobody waited for included).
pub fn all() -> impl Iterator<Item = Process> {
    ids().filter_map(look_up)
}

/// Their numbers alone.
pub fn ids() -> impl Iterator<Item = u32> {
    numbers("/proc")
}

/// The threads of a process.
pub fn threads(pid: u32) -> impl Iterator<Item = u32> {
    numbers(&format!("/proc/{pid}/task"))
}

/// The entries of a folder that are numbers.
fn numbers(folder: &str) -> impl Iterator<Item = u32> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Name of the program with its arguments, or why it cannot be told: a GPU's processes may belong to another container.
pub fn command(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
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
        None => match fs::read_to_string(format!("/proc/{pid}/comm")) {
            Ok(name) => name.trim_end().to_owned(),
            Err(_) => "(not visible here)".into(),
        },
    }
}

/// The name of the user that it runs as, or the number of one without a name.
pub fn owner(pid: u32) -> Reading<String> {
    let Ok(process) = fs::metadata(format!("/proc/{pid}")) else {
        return Reading::missing("no process of this id is visible here: it may run in another container");
    };
    Reading::Value(user_name(process.uid()))
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
