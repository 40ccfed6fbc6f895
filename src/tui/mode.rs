//! What the keyboard is talking to: the panes, a field being edited, or a window in front of them.
//!
//! Never more than one window at a time.

use super::ask::Ask;
use super::settings::Field;
use crate::domain::step::Step;
use crate::runs::RunId;

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Mode {
    #[default]
    Normal,
    Edit {
        field: Field,
        text: String,
        /// Why the text is no value, if it is none.
        error: Option<String>,
    },
    Help {
        scroll: usize,
        /// Only keys with these words are shown.
        words: String,
        /// The words are being typed.
        typing: bool,
    },
    /// A command is looked for by its words.
    Palette {
        typed: String,
        chosen: usize,
    },
    Details {
        run: RunId,
        scroll: usize,
    },
    /// All about the device under the cursor.
    Device {
        scroll: usize,
    },
    /// A lesson is read, and its question answered.
    Lesson {
        number: usize,
        scroll: usize,
        /// Hints that were asked for.
        hints: usize,
        /// A number that is being typed.
        typed: String,
    },
    /// The learner's own trainer.
    Exercise {
        scroll: usize,
    },
    /// What a step changes in the program; or the learner's against the solution after it.
    Diff {
        step: Step,
        mine: bool,
        scroll: usize,
    },
    /// Put this step of the learner's program back to its TODO, or the whole?
    ConfirmReset {
        step: Step,
        /// Asked in front of the diff, which comes back.
        diff: bool,
    },
    /// Runs that take turns: how they stand, and what they show.
    Series {
        scroll: usize,
    },
    /// Run all steps but one, in turn?
    ConfirmAblation,
    /// Train a run that is over, and has `done` epochs, for `more`?
    Continue {
        run: RunId,
        done: usize,
        more: usize,
    },
    ConfirmStop {
        run: RunId,
    },
    /// Move a run to the trash?
    ConfirmDelete {
        run: RunId,
    },
    /// A run beside the baseline.
    Compare {
        run: RunId,
        scroll: usize,
    },
    /// A line is typed at the foot of the screen.
    Ask {
        ask: Ask,
        text: String,
        /// Why the text will not do, if it will not.
        error: Option<String>,
    },
    /// Another run is going: start one beside it?
    ConfirmStart {
        going: RunId,
    },
    /// A run is going: leave it, stop it or stay?
    Quit {
        going: RunId,
    },
}

/// The kinds of [`Mode`], as the key table names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeKind {
    Normal,
    /// As normal, with the keys of the player before all others.
    Replay,
    Edit,
    Help,
    HelpSearch,
    Palette,
    Details,
    Device,
    Lesson,
    Diff,
    Exercise,
    ConfirmReset,
    Series,
    ConfirmAblation,
    Continue,
    ConfirmStop,
    ConfirmDelete,
    Compare,
    Ask,
    ConfirmStart,
    Quit,
}

impl ModeKind {
    /// A window of more lines than may fit.
    pub fn scrolls(self) -> bool {
        use ModeKind::{Compare, Details, Device, Diff, Exercise, Help, Lesson, Series};
        matches!(self, Help | Details | Device | Lesson | Exercise | Diff | Series | Compare)
    }
}

impl Mode {
    pub fn kind(&self) -> ModeKind {
        match self {
            Mode::Normal => ModeKind::Normal,
            Mode::Edit { .. } => ModeKind::Edit,
            Mode::Help { typing: true, .. } => ModeKind::HelpSearch,
            Mode::Help { .. } => ModeKind::Help,
            Mode::Palette { .. } => ModeKind::Palette,
            Mode::Details { .. } => ModeKind::Details,
            Mode::Device { .. } => ModeKind::Device,
            Mode::Lesson { .. } => ModeKind::Lesson,
            Mode::Diff { .. } => ModeKind::Diff,
            Mode::Exercise { .. } => ModeKind::Exercise,
            Mode::ConfirmReset { .. } => ModeKind::ConfirmReset,
            Mode::Series { .. } => ModeKind::Series,
            Mode::ConfirmAblation => ModeKind::ConfirmAblation,
            Mode::Continue { .. } => ModeKind::Continue,
            Mode::ConfirmStop { .. } => ModeKind::ConfirmStop,
            Mode::ConfirmDelete { .. } => ModeKind::ConfirmDelete,
            Mode::Compare { .. } => ModeKind::Compare,
            Mode::Ask { .. } => ModeKind::Ask,
            Mode::ConfirmStart { .. } => ModeKind::ConfirmStart,
            Mode::Quit { .. } => ModeKind::Quit,
        }
    }

    /// The run that the window in front is about.
    pub fn run(&self) -> Option<RunId> {
        match self {
            Mode::Details { run, .. }
            | Mode::Continue { run, .. }
            | Mode::ConfirmStop { run }
            | Mode::ConfirmDelete { run }
            | Mode::Compare { run, .. }
            | Mode::Ask { ask: Ask::Name(run) | Ask::Note(run), .. } => Some(*run),
            _ => None,
        }
    }
}
