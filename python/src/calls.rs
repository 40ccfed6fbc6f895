//! Calls from Python into the trainer: on the main thread, while other threads of Python go on; an error becomes an exception.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::LocalKey;

use hvd_lab::trainer::startup;
use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

create_exception!(hvd_lab, LabError, PyRuntimeError, "What the trainer or the communication between ranks could not do.");

/// Whether the lab listens to this rank.
pub static LISTENS: AtomicBool = AtomicBool::new(false);

/// What this process exits with if its program fails: that of the last error.
pub static EXIT_CODE: AtomicI32 = AtomicI32::new(1);

/// Why this process may not train: it is a copy of the rank, which os.fork has made.
pub static COPY: OnceLock<String> = OnceLock::new();

/// What a program works with, on the main thread: MPI lets no other call it.
pub type Kept<S> = LocalKey<RefCell<Option<S>>>;

/// Lets a call work on what the program has, or says what is `missing`.
pub fn within<S, T: Send>(
    py: Python<'_>,
    kept: &'static Kept<S>,
    missing: &str,
    work: impl FnOnce(&mut S) -> anyhow::Result<T> + Send,
) -> PyResult<T> {
    if let Some(why) = COPY.get() {
        return Err(LabError::new_err(why.as_str()));
    }
    let done = py.detach(|| {
        kept.with_borrow_mut(|state| {
            let Some(state) = state else { return Err(missing.to_owned()) };
            work(state).map_err(|error| {
                EXIT_CODE.store(startup::exit_code(&error), Ordering::Relaxed);
                format!("{error:#}")
            })
        })
    });
    done.map_err(LabError::new_err)
}

/// The file of the learner's program, for its last words.
pub fn program_name(arguments: &[OsString]) -> Option<String> {
    Some(Path::new(arguments.first()?).file_name()?.to_string_lossy().into_owned())
}
