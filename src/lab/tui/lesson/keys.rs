//! What the keys of a lesson ask for.

use crate::tui::actions::keys;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Another lesson.
    Previous,
    Next,
    Hint,
    /// Both of its runs, one after the other, side by side.
    Guided,
    Results,
    /// The run that shows what goes wrong without the step, or the one with it.
    RunBefore,
    RunAfter,
    /// What the step changes in the program.
    Diff,
    /// Show or hide the same lines in PyTorch and in Rust.
    Fold,
    /// A number predicted, or the number of an answer.
    Insert(char),
    Erase,
    Accept,
    Back,
}

impl keys::Command for Command {
    fn typed(self, c: char) -> Command {
        if let Command::Insert(_) = self { Command::Insert(c) } else { self }
    }
}
