//! This program once more: the process that supervises a run, which gets the run's lock, runs `launch::supervisor::supervise`.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::RunLock;
use super::of_run::RUN_DIR_VARIABLE;
use crate::host::{access, files};

/// The verb of the process that supervises a run.
pub const SUPERVISE: &str = "supervise";

/// Not by its path where Linux knows it without: a new build may have taken its place while the screen was open.
pub fn path() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

/// Whether this is the lab, and not another program that reads runs.
pub fn is_lab() -> bool {
    let program = std::env::current_exe();
    program.is_ok_and(|program| program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("hvd-lab")))
}

/// Start this program again as the supervisor of a run folder. What it prints goes to `log`.
///
/// # Errors
/// The system's: it does not start, or the log cannot be written.
pub fn supervise(folder: &Path, log: &Path, lock: RunLock) -> io::Result<()> {
    let log = files::open_to_append(log)?;
    let mut supervisor = Command::new(path()?);
    supervisor
        .arg0("hvd-lab")
        .arg(SUPERVISE)
        .arg(folder)
        .env(RUN_DIR_VARIABLE, folder)
        .stdin(lock.hand_over())
        .stdout(Stdio::null())
        .stderr(log);
    // It starts the programs of the user, which get the umask that it began with.
    let mut child = access::as_user(|| supervisor.spawn())?;
    // Someone has to ask for its exit code, or it stays as a zombie for as long as the screen is open.
    std::thread::spawn(move || child.wait());
    Ok(())
}
