//! The wish to end: the first SIGTERM, SIGUSR1 or Ctrl-C is noted, so that a program can write a checkpoint between two steps.
//!
//! mpirun hands SIGUSR1 on to its ranks, and batch systems can be told to send it before the time is over. Of SIGTERM and Ctrl-C
//! Open MPI makes an end at once; the lab asks the ranks themselves.
//!
//! A process that does not react, or waits for another rank, is ended after `PATIENCE`.

use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// From the signal to the end. The lab kills what is left after 5 seconds.
const PATIENCE: Duration = Duration::from_secs(4);

/// The signal that came first.
static ASKED: OnceLock<i32> = OnceLock::new();

/// From now on SIGTERM, SIGUSR1 and Ctrl-C are noted, and end this process only after a while, or at once when they come again.
pub fn listen() {
    // Without a handler or a thread they end the process at once, as before.
    let Ok(mut signals) = Signals::new([SIGTERM, SIGINT, SIGUSR1]) else { return };
    let handle = signals.handle();
    let wait = move || {
        let mut came = signals.forever();
        let Some(signal) = came.next() else { return };
        let _ = ASKED.set(signal);
        thread::spawn(move || {
            thread::sleep(PATIENCE);
            let _ = emulate_default_handler(signal);
        });
        if let Some(again) = came.next() {
            let _ = emulate_default_handler(again);
        }
    };
    if thread::Builder::new().name("signals".into()).spawn(wait).is_err() {
        handle.close();
    }
}

/// The exit code of a program that was asked to end, as a shell computes it; `None` before that.
pub fn is_asked() -> Option<u8> {
    ASKED.get().map(|signal| 128 + *signal as u8)
}
