//! What the keys of the learner's own trainer and of its diffs ask for.

use crate::tui::actions::keys::{self, Move};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The program in the editor.
    Edit,
    /// Build it and run it.
    Run,
    /// Build it and run it on one rank and on two.
    Compare,
    /// How it differs from the solution.
    Diff,
    /// A step back to its TODO, or all of it.
    Reset,
    /// All exercises.
    Tracks,
    /// The next hint.
    Hint,
    /// Tracks: up and down.
    Move(Move),
    /// Tracks: this one.
    Choose,
    /// Diff: of another step.
    Previous,
    Next,
    /// Diff: the learner's own against the solution, or what the step changes.
    Mine,
    /// Diff: one column or two.
    Columns,
    Lesson,
    /// Reset: this step, or the whole program.
    Step,
    Whole,
    Back,
}

impl keys::Command for Command {
    fn movement(self) -> Option<Move> {
        if let Command::Move(by) = self { Some(by) } else { None }
    }
}
