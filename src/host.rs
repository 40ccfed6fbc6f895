//! This host: its clock and its name.
//!
//! Never fails, never waits: what cannot be told has a value that says so.

use std::time::{SystemTime, UNIX_EPOCH};

/// Unix time in seconds; 0 on a clock that stands before 1970.
pub fn now_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// The name by which ranks and runs of this host know each other, `localhost` where it has none.
pub fn name() -> String {
    nix::unistd::gethostname().map_or_else(|_| "localhost".into(), |name| name.to_string_lossy().into_owned())
}
