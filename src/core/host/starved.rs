//! How long processes wanted a core and got none: that time does not count against a process that others wait for.
//!
//! Where the kernel does not record it (`/proc/PID/task/TID/schedstat`), no process counts as starved.

use std::collections::HashMap;
use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::process;

/// Other programs may stretch a wait to at most this many times its length, so that a hang ends at last.
const MOST: u32 = 20;
/// A core is never there at once: less than this part of the time says nothing.
const NOTICEABLE: f64 = 0.1;

/// The time for which processes were starved, added up from look to look.
#[derive(Debug)]
pub struct Starved {
    looked: Instant,
    /// Nanoseconds that each thread had waited for a core, by process and thread.
    waited: HashMap<(u32, u32), u64>,
    total: Duration,
}

impl Starved {
    /// Nothing so far.
    pub fn since_now(pids: &[u32]) -> Starved {
        Starved { looked: Instant::now(), waited: waits(pids), total: Duration::ZERO }
    }

    /// For how long in all these processes were starved: in each moment the one that it was worst for. Less than all the
    /// time that has passed.
    pub fn look(&mut self, pids: &[u32]) -> Duration {
        let (now, waited) = (Instant::now(), waits(pids));
        let longest = waited.iter().filter_map(|(thread, now)| now.checked_sub(*self.waited.get(thread)?)).max();
        self.total += counted(now - self.looked, Duration::from_nanos(longest.unwrap_or(0)));
        (self.looked, self.waited) = (now, waited);
        self.total
    }
}

/// How much of the time that passed does not count, for a process that waited this long for a core.
fn counted(passed: Duration, waited: Duration) -> Duration {
    if waited < passed.mul_f64(NOTICEABLE) { Duration::ZERO } else { waited.min(passed - passed / MOST) }
}

/// For how long the processes of this session on this host were starved since this was first asked.
pub fn of_this_session() -> Duration {
    if !cfg!(target_os = "linux") {
        return Duration::ZERO;
    }
    static SINCE: Mutex<Option<Starved>> = Mutex::new(None);
    let pids = nix::unistd::getsid(None).map_or(Vec::new(), |session| of_session(session.as_raw()));
    SINCE.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| Starved::since_now(&pids)).look(&pids)
}

fn of_session(session: i32) -> Vec<u32> {
    process::all().filter(|process| i32::try_from(process.session) == Ok(session)).map(|process| process.pid).collect()
}

fn waits(pids: &[u32]) -> HashMap<(u32, u32), u64> {
    let threads = |pid: u32| process::threads(pid).map(move |thread| (pid, thread));
    let wait = |(pid, thread): (u32, u32)| {
        let text = fs::read_to_string(format!("/proc/{pid}/task/{thread}/schedstat")).ok()?;
        // Nanoseconds on a core, nanoseconds of waiting for one, and how often it got one.
        Some(((pid, thread), text.split_whitespace().nth(1)?.parse().ok()?))
    };
    pids.iter().flat_map(|pid| threads(*pid)).filter_map(wait).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_wait_for_a_core_does_not_count_and_a_long_one_never_counts_whole() {
        let of = |waited| counted(Duration::from_secs(1), Duration::from_millis(waited));
        assert_eq!([of(0), of(99), of(500)], [0, 0, 500].map(Duration::from_millis));
        assert_eq!(of(5000), Duration::from_millis(950), "many threads of one process may wait at once");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn processes_that_share_one_core_are_starved() {
        use crate::host::cores;
        // Children run where their parent may.
        let all = cores::allowed(0);
        cores::bind(0, &all[..1]).unwrap();
        let looping = || std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let mut children = [looping(), looping(), looping()];
        cores::bind(0, &all).unwrap();
        let pids: Vec<u32> = children.iter().map(std::process::Child::id).collect();
        let mut starved = Starved::since_now(&pids);
        std::thread::sleep(Duration::from_millis(900));
        let total = starved.look(&pids);
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(total > Duration::from_millis(300), "each gets a third: {total:?}");
    }

    #[test]
    fn a_process_that_sleeps_is_not_starved() {
        let mut child = std::process::Command::new("sleep").arg("300").spawn().unwrap();
        let mut starved = Starved::since_now(&[child.id(), u32::MAX]);
        std::thread::sleep(Duration::from_millis(300));
        let total = starved.look(&[child.id()]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(total, Duration::ZERO);
        assert!(of_this_session() <= Duration::from_secs(1));
    }
}
