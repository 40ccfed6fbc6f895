//! The processes that a rank has started and that still run: they may keep its run from its end.
//!
//! Never ends one.

use crate::host::process;

/// The number of each, and its command.
pub fn running() -> Vec<(u32, String)> {
    let own = std::process::id();
    let is_child = |process: &process::Process| process.parent == own && !process.zombie;
    process::all().filter(is_child).map(|child| (child.pid, process::command(child.pid))).collect()
}
