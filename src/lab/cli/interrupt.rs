//! Signals while a verb follows runs, or shows something at every change. Ctrl-C: the first asks the verb to stop, the second leaves at
//! once. SIGTERM and SIGHUP leave at once too, and say that the run goes on.
//!
//! Never ends a run by itself.

use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use indicatif::ProgressBar;
use nix::sys::signal::Signal;
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

use super::output::{print, say};
use crate::host::signals::is_ignored;
use crate::runs::RunId;

/// The signal of Ctrl-C, which every verb that waits heeds.
pub(super) const CTRL_C: &[i32] = &[signal_hook::consts::SIGINT];

/// What a shell calls a program that Ctrl-C ended.
pub(super) const EXIT_CODE: u8 = 130;

static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on these signals ask; of one verb that follows several runs they do so once.
///
/// # Errors
/// The system takes no handler.
pub(super) fn heed(signals: &[i32]) -> io::Result<()> {
    if ASKED.get().is_some() {
        return Ok(());
    }
    let asked = Arc::new(AtomicBool::new(false));
    for signal in signals {
        // In this order: the first one only sets the flag, the second finds it set and leaves.
        flag::register_conditional_shutdown(*signal, EXIT_CODE.into(), Arc::clone(&asked))?;
        flag::register(*signal, Arc::clone(&asked))?;
    }
    // Nobody else does: a verb follows its runs one after the other.
    let _ = ASKED.set(asked);
    Ok(())
}

/// Whether one of them came: Ctrl-C was pressed, as a rule.
pub(super) fn is_asked() -> bool {
    ASKED.get().is_some_and(|asked| asked.load(Ordering::Relaxed))
}

/// Prints what `look` finds, and with `watches` once more at every change, until Ctrl-C.
pub(super) fn print_changes(
    watches: bool,
    every: Duration,
    look: impl Fn() -> anyhow::Result<String>,
) -> anyhow::Result<ExitCode> {
    const LOOKS_FOR_CTRL_C: u32 = 10;
    let mut shown = String::new();
    loop {
        let text = look()?;
        let gap = if shown.is_empty() { "" } else { "\n" };
        if text != shown && !print(&format!("{gap}{text}"))? {
            return Ok(ExitCode::SUCCESS);
        }
        shown = text;
        for _ in 0..LOOKS_FOR_CTRL_C {
            if !watches || is_asked() {
                return Ok(ExitCode::SUCCESS);
            }
            std::thread::sleep(every / LOOKS_FOR_CTRL_C);
        }
    }
}

/// The run that is followed now, with its progress bar.
type Followed = Option<(RunId, Option<ProgressBar>)>;

static FOLLOWED: Mutex<Followed> = Mutex::new(None);
static LEAVES: OnceLock<()> = OnceLock::new();

fn followed() -> MutexGuard<'static, Followed> {
    FOLLOWED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Until this is dropped, a signal that ends this program says that the run goes on.
pub(super) struct Following;

impl Following {
    /// # Errors
    /// The system takes no handler.
    pub fn run(id: RunId, bar: Option<ProgressBar>) -> io::Result<Following> {
        *followed() = Some((id, bar));
        if LEAVES.set(()).is_ok() {
            leave_with_a_word()?;
        }
        Ok(Following)
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        *followed() = None;
    }
}

/// A thread waits for the signals: the one that follows may be held up by a reader that has stopped reading.
fn leave_with_a_word() -> io::Result<()> {
    // A program that was started by nohup has to stay deaf to SIGHUP.
    let heard: Vec<i32> =
        [Signal::SIGTERM, Signal::SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)).map(|signal| signal as i32).collect();
    let again = Arc::new(AtomicBool::new(false));
    for signal in &heard {
        // In this order: a second signal ends the program even where the thread cannot write.
        flag::register_conditional_default(*signal, Arc::clone(&again))?;
        flag::register(*signal, Arc::clone(&again))?;
    }
    let mut signals = Signals::new(heard)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let Some(signal) = signals.forever().next() else { return };
        if let Some((id, bar)) = followed().take() {
            bar.iter().for_each(ProgressBar::finish_and_clear);
            say(&format!("run {id} goes on: `hvd-lab stop {id}` stops it"));
        }
        // The end is the one that the signal has in any program, so that a shell shows 143 for SIGTERM.
        let _ = low_level::emulate_default_handler(signal);
    })?;
    Ok(())
}
