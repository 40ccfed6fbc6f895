//! Requests of a feature to the world, to the application or to another feature.

use super::command::Command;
use super::effect::Effect;
use super::pane::Pane;
use crate::domain::job::RunSpec;
use crate::domain::step::Step;
use crate::runs::RunId;

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Ask for something outside of the screen.
    Effect(Effect),
    /// Put a run on the screen: log, chart and header follow it.
    Watch(RunId),
    /// Draw the chart again: other runs are shown beside each other.
    RefreshChart,
    /// Show the form of a benchmark, or of a training on photos, with these settings.
    SetUp(Box<RunSpec>),
    /// Show the keys that the help lists under a title.
    Keys(&'static str),
    /// Ask whether the run that is going should stop.
    Stop,
    /// Ask whether this is to start although something speaks against it, in a sentence without its full stop.
    AskAnyway(String, Box<Effect>),
    /// Open the lesson of the step under the cursor.
    Lesson,
    /// Open the lesson with a number.
    LessonOf(usize),
    /// Show what a step changes in the program.
    Diff(Step),
    /// Run what the lesson of the step under the cursor compares.
    Guided,
    /// Run all steps but one, in turn.
    Ablation,
    /// Show the messages and times of a run of collectives.
    Collectives,
    /// Begin the next of the runs that take turns, if it is its time.
    AdvanceSeries,
    /// Show the runs that take turns.
    ShowSeries,
    /// Do what an entry of the palette does, as if its key had been pressed in its pane.
    Press(Option<Pane>, Command),
    /// Show a rank: its log, and its device.
    ShowRank(usize),
    /// Leave the screen; runs go on.
    Leave,
}

impl From<Effect> for Action {
    fn from(effect: Effect) -> Action {
        Action::Effect(effect)
    }
}
