//! How a rank ends: well, together with the others, or with an error, from wherever in the program that comes.
//!
//! Never decides that a program has failed: `python/hvd_lab/_ending.py` does.

use std::ffi::OsString;
use std::sync::atomic::Ordering;

use hvd_lab::comm;
use hvd_lab::host::process;
use hvd_lab::trainer::report::Reporter;
use pyo3::prelude::*;

use crate::calls::{COPY, LISTENS, program_name};
use crate::photos::Photos;
use crate::photos::{PHOTOS, with_photos};
use crate::session::{SESSION, Session, with};

/// The collectives that follow belong to this call of the program; the name of the call before.
#[pyfunction]
pub fn name_call(name: &str) -> String {
    comm::name_call(name)
}

/// To be called in a copy of the rank that os.fork has made. It shares MPI's connections, and would break them.
#[pyfunction]
pub fn forked(why: String) {
    // The first copy of a copy knows it already.
    let _ = COPY.set(why);
}

/// Nothing of the trainer is to be taken down in this process: what a copy closes is the rank's.
#[pyfunction]
pub fn abandon() {
    std::mem::forget(SESSION.take());
    std::mem::forget(PHOTOS.take());
}

/// The processes that this one has started and that still run, which may keep its run from its end: the number of each, and its
/// command.
#[pyfunction]
pub fn children() -> Vec<(u32, String)> {
    let own = std::process::id();
    let is_child = |process: &process::Process| process.parent == own && !process.zombie;
    process::all().filter(is_child).map(|child| (child.pid, process::command(child.pid))).collect()
}

/// The program has ended well: tell so, and let go of the other ranks. Nothing happens where it never started.
#[pyfunction]
pub fn finish(py: Python<'_>) -> PyResult<()> {
    if PHOTOS.with_borrow(Option::is_some) {
        with_photos(py, Photos::last_words)?;
        PHOTOS.take().into_iter().for_each(Photos::close);
    }
    if SESSION.with_borrow(Option::is_none) {
        return Ok(());
    }
    with(py, Session::last_words)?;
    if let Some(session) = SESSION.take() {
        session.close();
    }
    Ok(())
}

/// The program has failed: tell so, and end all ranks. Returns only where nothing was started.
#[pyfunction]
pub fn fail(cause: &str) {
    if let Some(photos) = PHOTOS.take() {
        photos.fail(cause);
    }
    if let Some(session) = SESSION.take() {
        session.fail(cause);
    }
}

/// The same from another thread than the main one, or from a copy of the rank: these may not call MPI, so the rank just ends, which the
/// launcher notices.
#[pyfunction]
pub fn fail_apart(py: Python<'_>, cause: &str) -> PyResult<()> {
    let mut report = Reporter::new(comm::launched_index(), LISTENS.load(Ordering::Relaxed));
    report.set_program(program_name(&py.import("sys")?.getattr("argv")?.extract::<Vec<OsString>>()?));
    report.fatal("training", cause);
    let os = py.import("os")?;
    if COPY.get().is_some() {
        os.call_method1("kill", (os.call_method0("getppid")?, py.import("signal")?.getattr("SIGKILL")?))?;
    }
    // Not `os._exit`, in whose place the package has put its own.
    py.import("posix")?.call_method1("_exit", (1,))?;
    Ok(())
}
