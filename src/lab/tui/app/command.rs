//! What a key asks of the application, whichever pane has the focus.

use crate::domain::step::Step;
use crate::tui::actions::keys;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppCommand {
    ToggleStep(Step),
    Run,
    Stop,
    Continue,
    Baseline,
    Details,
    /// The chosen run beside the baseline.
    Compare,
    /// The lesson of the chosen step.
    Lesson,
    /// What the step changes in the program.
    Diff,
    /// The learner's program in the editor.
    Edit,
    /// The result of its last build.
    Exercise,
    MoreRanks,
    FewerRanks,
    NextPane,
    PreviousPane,
    Zoom,
    Help,
    /// All commands by their words.
    Palette,
    /// Release the mouse, or take it again.
    Mouse,
    /// Allreduces: their messages, and what they took.
    Collectives,
    /// The form of the next benchmark.
    Benchmark,
    /// The form of the next training on photos.
    Photos,
    /// What more GPUs would give.
    Simulate,
    /// A menu of faults to make in the run that is going.
    Faults,
    /// Who has which device of a shared machine, and who waits.
    Queue,
    /// A rank, by its number or its host.
    Rank,
    /// Large step and speed-up.
    Projector,
    Tour,
    ResetBorders,
    /// The next theme.
    Theme,
    /// Closes what is in front: a search, a filter, the zoom.
    Back,
    Quit,
    /// Back to the shell, until it continues the job.
    Suspend,
}

impl keys::Command for AppCommand {}
