//! The windows about runs.

use crate::runs::RunId;
use crate::tui::window::windows;

windows! {
    Details {
        run: RunId,
        /// Only a training can go on.
        is_training: bool,
        scroll: usize,
    }
    /// A run beside the baseline.
    Compare {
        run: RunId,
        scroll: usize,
    }
    /// Train a run that is over, and has `done` epochs, for `more`?
    Continue {
        run: RunId,
        done: usize,
        more: usize,
    }
    ConfirmStop {
        run: RunId,
    }
    /// Move a run to the trash?
    ConfirmDelete {
        run: RunId,
    }
    /// A run is going: leave it, stop it or stay?
    Quit {
        going: RunId,
    }
    /// A line at the foot of the screen.
    Ask {
        what: Asked,
        text: String,
        /// Why the text will not do, if it will not.
        error: Option<String>,
    }
}

/// What the line is typed for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Words that runs have to fit; what stood there before comes back with Escape.
    Filter {
        before: String,
    },
    Name(RunId),
    Note(RunId),
    /// The file that the shown runs are written to.
    Export,
}
