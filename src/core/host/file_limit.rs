//! The limit of the size of a file (`ulimit -f`): to write beyond it is an error that names it, and does not end the program.

use std::io;
use std::sync::Arc;

use rustix::process::{Resource, getrlimit};
use signal_hook::consts::SIGXFSZ;

use crate::domain::units;

/// From now on a write beyond the limit fails. By default the system ends the process. Programs that are started from here have the
/// default again.
pub fn survive() {
    // Where the system refuses, it ends the process as before.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// The outcome of a write, where an error of this kind says what the limit is and what to do.
///
/// # Errors
/// Those of the write.
pub fn explained<T>(written: io::Result<T>) -> io::Result<T> {
    written.map_err(|error| match getrlimit(Resource::Fsize).current {
        // An error that carries a text was explained where it came up.
        Some(most) if error.kind() == io::ErrorKind::FileTooLarge && error.get_ref().is_none() => {
            let text = format!(
                "no file may be larger than {} here ({error}). Start this in a shell without that limit (`ulimit -f` shows it)",
                units::bytes(most)
            );
            io::Error::new(io::ErrorKind::FileTooLarge, text)
        }
        _ => error,
    })
}
