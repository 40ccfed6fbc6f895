//! What drawing and packing share: the bar, and what to say of a folder that cannot be written.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use indicatif::ProgressBar;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::cli::interrupt;
use crate::cli::output::{Usage, say};
use crate::host::files;

/// The end of a verb whose folder was not written: Ctrl-C came, or else the error. What is wrong with a folder that the user named is
/// the user's to put right; a full disk is not.
pub(super) fn unwritten(out: &Path, error: &io::Error) -> anyhow::Result<ExitCode> {
    let name = out.display();
    Err(match error.kind() {
        io::ErrorKind::Interrupted => {
            say(&format!("stopped. Nothing was written to {name}"));
            return Ok(ExitCode::from(interrupt::EXIT_CODE));
        }
        io::ErrorKind::AlreadyExists => Usage(format!("{name} is there already: give another --out, or remove it first")).into(),
        io::ErrorKind::FileTooLarge => anyhow::anyhow!("cannot write {name}: {error}. Nothing of it was kept"),
        _ if files::is_full(error) => {
            anyhow::anyhow!(
                "cannot write {name}: {error}. Free some space, or give --out on another disk. Nothing of it was kept"
            )
        }
        _ => Usage(format!("cannot write {name}: {error}. Give another --out")).into(),
    })
}

/// A bar on a terminal, nothing in a pipe. From now on Ctrl-C and other ends are only asked for, so that no half folder stays.
///
/// # Errors
/// The system does not let a program listen for its signals.
pub(super) fn bar(total: usize) -> io::Result<ProgressBar> {
    interrupt::heed(&[SIGINT, SIGTERM, SIGHUP])?;
    Ok(if io::stderr().is_terminal() { ProgressBar::new(total as u64) } else { ProgressBar::hidden() })
}

/// # Errors
/// [`io::ErrorKind::Interrupted`] where Ctrl-C came: go no further.
pub(super) fn advance(bar: &ProgressBar, done: usize) -> io::Result<()> {
    bar.set_position(done as u64);
    if interrupt::is_asked() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
}
