//! What the screen knows of the learner's own trainer.

use super::windows::{Diff, Window};
use crate::runs::RunId;
use crate::tui::window::opens;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exercise {
    /// Diffs in one column, even where there is room for two.
    pub one_column: bool,
    /// Where the program is, once it is there.
    pub path: String,
    /// The program as it was read last.
    pub program: String,
    /// Number of the step of the next TODO, and its line.
    pub next: Option<(usize, usize)>,
    pub stage: Stage,
    /// What was built last, or was there before.
    pub tried: String,
    /// Saved while something else was going on.
    pub again: bool,
    pub window: Option<Window>,
}

impl Exercise {
    /// It is being built or is running.
    pub fn is_busy(&self) -> bool {
        matches!(self.stage, Stage::Building | Stage::Running(_))
    }

    /// The diff in front shows what a step changes, not the learner's own program.
    pub fn shows_step(&self) -> bool {
        matches!(self.window, Some(Window::Diff(Diff { mine: false, .. })))
    }
}

/// How far the last attempt is.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Stage {
    #[default]
    Idle,
    Building,
    /// Errors of the compiler in words.
    Broken(String),
    Running(RunId),
    /// What its run shows.
    Judged(RunId, String),
    /// Why it could not be built or run at all.
    Failed(String),
}

opens!(Exercise, Window);
