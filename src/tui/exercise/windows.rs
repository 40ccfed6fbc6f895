//! The windows of the learner's own trainer.

use crate::domain::step::Step;
use crate::tui::window::windows;

windows! {
    /// How it stands.
    Own {
        scroll: usize,
    }
    /// What a step changes in the program; or the learner's against the solution after it.
    Diff {
        step: Step,
        mine: bool,
        scroll: usize,
    }
    /// Put this step of the program back to its TODO, or the whole?
    ConfirmReset {
        step: Step,
        /// Asked in front of the diff, which comes back.
        diff: bool,
    }
}
