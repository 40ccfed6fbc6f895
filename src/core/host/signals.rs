//! Signals that end a program, held back while it has something to clean up and nobody listens for them yet.
//!
//! None is lost: those that came in the meantime arrive when they are released. And whether one is ignored.

use nix::sys::signal::{SigSet, SigmaskHow, Signal};

/// Until this is dropped, the thread that made it is not ended by the keyboard, a closed terminal or `kill`.
#[derive(Debug)]
pub struct HeldSignals {
    before: Option<SigSet>,
}

impl HeldSignals {
    pub fn hold() -> HeldSignals {
        let held: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT].into_iter().collect();
        HeldSignals { before: held.thread_swap_mask(SigmaskHow::SIG_BLOCK).ok() }
    }
}

/// Whether this program was started deaf to a signal, as `nohup` does; false where the system does not say.
pub fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 << (signal as u32 - 1) != 0)
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // It was the mask before, so it is a valid one.
            let _ = before.thread_set_mask();
        }
    }
}
