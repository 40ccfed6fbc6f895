//! What drawing and packing share: the bar, and what to say of a folder that cannot be written.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::ProgressBar;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::cli::output::{Usage, say};
use crate::host::files;

/// What is wrong with a folder that the user named is the user's to put right; a full disk is not.
pub(super) fn unwritten(out: &Path, error: &io::Error) -> anyhow::Error {
    let name = out.display();
    match error.kind() {
        io::ErrorKind::AlreadyExists => Usage(format!("{name} is there already: give another --out, or remove it first")).into(),
        io::ErrorKind::FileTooLarge => anyhow::anyhow!("cannot write {name}: {error}. Nothing of it was kept"),
        _ if files::is_full(error) => {
            anyhow::anyhow!(
                "cannot write {name}: {error}. Free some space, or give --out on another disk. Nothing of it was kept"
            )
        }
        _ => Usage(format!("cannot write {name}: {error}. Give another --out")).into(),
    }
}

/// The exit code of a program that Ctrl-C has ended.
const INTERRUPTED: u8 = 130;

/// What is said when Ctrl-C came, and the exit code.
pub(super) fn interrupted(out: &Path) -> ExitCode {
    say(&format!("stopped. Nothing was written to {}", out.display()));
    ExitCode::from(INTERRUPTED)
}

/// Whether this is how [`Bar::set`] says that Ctrl-C came.
pub(super) fn is_interruption(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted
}

/// A bar on a terminal, nothing in a pipe; and an ear for Ctrl-C, so that no half folder stays.
pub(super) struct Bar {
    bar: ProgressBar,
    interrupted: Arc<AtomicBool>,
}

impl Bar {
    /// # Errors
    /// The system does not let a program listen for its signals.
    pub(super) fn new(total: usize) -> io::Result<Bar> {
        let bar = if io::stderr().is_terminal() { ProgressBar::new(total as u64) } else { ProgressBar::hidden() };
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: the first one only sets the flag, the second finds it set and ends the program.
            signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&interrupted))?;
            signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
        }
        Ok(Bar { bar, interrupted })
    }

    pub(super) fn of(&self, total: usize) {
        self.bar.set_length(total as u64);
    }

    /// # Errors
    /// [`is_interruption`]: go no further.
    pub(super) fn set(&self, done: usize) -> io::Result<()> {
        self.bar.set_position(done as u64);
        if self.interrupted.load(Ordering::Relaxed) { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
