//! Which cores a thread may use, as far as the system has a say in that: Linux does, macOS moves threads as it likes.
//!
//! `trainer::device` and the launcher decide which.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use super::cgroup;

/// The cores that a thread may use, in their order; 0 is the one that asks, and a process is its first thread. None where the
/// system does not say, as of one that has ended.
#[cfg(target_os = "linux")]
pub fn allowed(thread: u32) -> Vec<usize> {
    use nix::sched::{CpuSet, sched_getaffinity};
    let set = i32::try_from(thread).ok().and_then(|thread| sched_getaffinity(nix::unistd::Pid::from_raw(thread)).ok());
    let Some(set) = set else { return Vec::new() };
    (0..CpuSet::count()).filter(|core| set.is_set(*core).unwrap_or(false)).collect()
}

/// From now on the thread may use these cores only, and so may those that it starts; 0 is the one that asks.
///
/// # Errors
/// The system's, or that it cannot do it.
#[cfg(target_os = "linux")]
pub fn bind(thread: u32, cores: &[usize]) -> io::Result<()> {
    use nix::sched::{CpuSet, sched_setaffinity};
    let thread = i32::try_from(thread).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut set = CpuSet::new();
    cores.iter().try_for_each(|core| set.set(*core))?;
    Ok(sched_setaffinity(nix::unistd::Pid::from_raw(thread), &set)?)
}

/// All of them.
#[cfg(not(target_os = "linux"))]
pub fn allowed(_thread: u32) -> Vec<usize> {
    (0..std::thread::available_parallelism().map_or(0, usize::from)).collect()
}

/// # Errors
/// Always: this system has no such thing.
#[cfg(not(target_os = "linux"))]
pub fn bind(_thread: u32, _cores: &[usize]) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system keeps no thread on a core of its own"))
}

/// Cores' worth of processor time that this process can use: a quota of its control groups may leave less than the cores it may
/// run on. At least 1; of a fraction the whole part.
pub fn usable() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cgroup::limits().cores as usize).clamp(1, cores)
}

/// Distinct cores behind the logical ones that this thread may use: a launcher counts no others. `None` where nothing says.
pub fn physical() -> Option<usize> {
    let siblings = |core| fs::read_to_string(format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")).ok();
    let of_linux: BTreeSet<String> = allowed(0).into_iter().filter_map(siblings).collect();
    if of_linux.is_empty() { sysinfo::System::physical_core_count() } else { Some(of_linux.len()) }
}

/// Linux's way of writing sets of cores: `0-3,8`.
pub fn listed(text: &str) -> Option<Vec<usize>> {
    let mut cores = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cores.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(cores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_cores_are_read_as_linux_writes_them() {
        assert_eq!(listed("\t0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!(listed("7"), Some(vec![7]));
        assert_eq!(listed(""), None);
    }

    /// On a thread of its own, whose cores go with it.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_that_is_bound_may_use_those_cores_only() {
        let (before, after, refused) = std::thread::spawn(|| {
            let before = allowed(0);
            bind(0, &before[..1]).unwrap();
            (before, allowed(0), bind(0, &[1_000_000]))
        })
        .join()
        .unwrap();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
        // Without those that are switched off.
        assert!(!before.is_empty() && before.iter().all(|core| listed(list).unwrap().contains(core)), "{before:?} of {list}");
        assert_eq!(after, before[..1]);
        assert!(refused.is_err() && allowed(u32::MAX).is_empty());
    }
}
