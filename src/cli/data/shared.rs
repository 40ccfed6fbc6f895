//! What drawing and packing share: the bar, and what to say of a folder that cannot be written.

use std::io::{self, IsTerminal};
use std::path::Path;

use indicatif::ProgressBar;

use crate::cli::output::Usage;
use crate::host::files;

/// What is wrong with a folder that the user named is the user's to put right; a full disk is not.
pub(super) fn unwritten(out: &Path, error: &io::Error) -> anyhow::Error {
    let name = out.display();
    match error.kind() {
        io::ErrorKind::AlreadyExists => Usage(format!("{name} is there already: give another --out, or remove it first")).into(),
        _ if files::is_full(error) => {
            anyhow::anyhow!(
                "cannot write {name}: {error}. Free some space, or give --out on another disk. Nothing of it was kept"
            )
        }
        _ => Usage(format!("cannot write {name}: {error}. Give another --out")).into(),
    }
}

/// A bar on a terminal, nothing in a pipe.
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new(total: usize) -> Bar {
        Bar(if io::stderr().is_terminal() { ProgressBar::new(total as u64) } else { ProgressBar::hidden() })
    }

    pub(super) fn of(&self, total: usize) {
        self.0.set_length(total as u64);
    }

    pub(super) fn set(&self, done: usize) {
        self.0.set_position(done as u64);
    }

    pub(super) fn clear(&self) {
        self.0.finish_and_clear();
    }
}
