//! One process, held by a descriptor: a signal reaches this process, and never a later one with the same number.
//!
//! Linux before 5.3 and other systems have no such descriptor. There the start time is compared before each signal.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::host::process::look_up;

/// A process of this host. It may have ended since.
#[derive(Clone, Debug)]
pub struct ProcessHandle {
    pub pid: u32,
    hold: Hold,
}

#[derive(Clone, Debug)]
enum Hold {
    #[cfg(target_os = "linux")]
    Descriptor(std::sync::Arc<std::os::fd::OwnedFd>),
    StartTicks(u64),
}

impl ProcessHandle {
    /// `None` if there is no such process. Number 1 is never a process of a run, and numbers below it mean groups.
    pub fn open(pid: u32) -> Option<ProcessHandle> {
        let number = i32::try_from(pid).ok().filter(|number| *number > 1)?;
        #[cfg(target_os = "linux")]
        match rustix::process::pidfd_open(rustix::process::Pid::from_raw(number)?, rustix::process::PidfdFlags::empty()) {
            Ok(descriptor) => return Some(ProcessHandle { pid, hold: Hold::Descriptor(descriptor.into()) }),
            Err(rustix::io::Errno::SRCH) => return None,
            Err(_) => {}
        }
        Some(ProcessHandle { pid, hold: Hold::StartTicks(look_up(number.cast_unsigned())?.start_ticks) })
    }

    /// Whether the signal was sent; not if the process has ended and its parent knows.
    pub fn signal(&self, signal: Signal) -> bool {
        match &self.hold {
            #[cfg(target_os = "linux")]
            Hold::Descriptor(descriptor) => rustix::process::Signal::from_named_raw(signal as i32)
                .is_some_and(|signal| rustix::process::pidfd_send_signal(descriptor, signal).is_ok()),
            Hold::StartTicks(_) => self.is_alive() && kill(Pid::from_raw(self.pid.cast_signed()), signal).is_ok(),
        }
    }

    /// Whether it still runs.
    pub fn is_alive(&self) -> bool {
        match &self.hold {
            #[cfg(target_os = "linux")]
            Hold::Descriptor(descriptor) => {
                use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
                use std::os::fd::AsFd;
                // It can be read from once the process has ended.
                let mut ended = [PollFd::new(descriptor.as_fd(), PollFlags::POLLIN)];
                poll(&mut ended, PollTimeout::ZERO) == Ok(0)
            }
            Hold::StartTicks(ticks) => look_up(self.pid).is_some_and(|found| !found.zombie && found.start_ticks == *ticks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_follows_its_process_to_the_end() {
        let mut child = std::process::Command::new("sleep").arg("300").spawn().unwrap();
        let handle = ProcessHandle::open(child.id()).unwrap();
        let by_start = ProcessHandle { hold: Hold::StartTicks(look_up(child.id()).unwrap().start_ticks), ..handle.clone() };
        let impostor = ProcessHandle { hold: Hold::StartTicks(1), ..handle.clone() };
        assert!(handle.is_alive() && by_start.is_alive() && !impostor.is_alive() && !impostor.signal(Signal::SIGKILL));
        assert!(by_start.signal(Signal::SIGSTOP) && handle.signal(Signal::SIGKILL));
        child.wait().unwrap();
        assert!(
            !handle.is_alive() && !by_start.is_alive() && !handle.signal(Signal::SIGCONT) && !by_start.signal(Signal::SIGCONT)
        );
        assert!([0, 1, u32::MAX].into_iter().all(|pid| ProcessHandle::open(pid).is_none()));
    }
}
