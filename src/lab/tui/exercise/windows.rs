//! The windows of the learner's own trainer.

use crate::exercise::Track;
use crate::tui::window::windows;

windows! {
    /// How it stands.
    Own {
        scroll: usize,
        /// Hints that were asked for.
        hints: usize,
    }
    /// All exercises, to choose one.
    Tracks {
        /// The row under the cursor.
        chosen: usize,
    }
    /// What a place changes in the program; or the learner's against the solution after it.
    Diff {
        of: Track,
        /// Of the place, from 1.
        number: usize,
        mine: bool,
        scroll: usize,
    }
    /// Put this place of the program back to its TODO, or the whole?
    ConfirmReset {
        number: usize,
        /// Asked in front of the diff, which comes back.
        diff: bool,
    }
}
