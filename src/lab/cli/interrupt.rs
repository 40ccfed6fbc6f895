//! Ctrl-C while a verb follows runs: the first asks it to stop them, the second leaves at once.
//!
//! Never ends anything by itself.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::SIGINT;
use signal_hook::flag;

/// What a shell calls a program that Ctrl-C ended.
pub(super) const EXIT_CODE: u8 = 130;

static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on Ctrl-C asks; of one verb that follows several runs it does so once.
///
/// # Errors
/// The system takes no handler.
pub(super) fn heed() -> io::Result<()> {
    if ASKED.get().is_some() {
        return Ok(());
    }
    let asked = Arc::new(AtomicBool::new(false));
    // In this order: the first Ctrl-C only sets the flag, the second finds it set and leaves.
    flag::register_conditional_shutdown(SIGINT, EXIT_CODE.into(), Arc::clone(&asked))?;
    flag::register(SIGINT, Arc::clone(&asked))?;
    // Nobody else does: a verb follows its runs one after the other.
    let _ = ASKED.set(asked);
    Ok(())
}

/// Whether Ctrl-C was pressed.
pub(super) fn is_asked() -> bool {
    ASKED.get().is_some_and(|asked| asked.load(Ordering::Relaxed))
}
