//! Everything that can happen to the screen, as one type.

use crossterm::event::{KeyEvent, MouseEvent};

use crate::course::{Judged, Reading, Results, Series};
use crate::domain::device::TelemetrySample;
use crate::domain::measured::Measured;
use crate::launch::SharedMachine;
use crate::runs::recording::{Played, Position};
use crate::runs::{LogPage, RunId, RunSummary, RunUpdate};
use crate::tui::actions::{Changed, Effect, ExerciseNews};
use crate::tui::shared::Curves;
use crate::tui::widgets::Background;

#[derive(Clone, Debug)]
pub enum Message {
    /// A key was pressed, or let go.
    Key(KeyEvent),
    /// The first line of what was pasted, made safe.
    Paste(String),
    /// A button, the wheel, or a pressed button that moves.
    Mouse(MouseEvent),
    /// The background that the terminal reports.
    Background(Background),
    /// The new columns and rows of the terminal.
    Resize(u16, u16),
    /// Unix time in seconds, once a second while a run is going or the window in front asks for it.
    Tick(f64),
    /// What was said some seconds ago needs to be read no longer.
    NoticeIsOld,
    /// All runs, newest last.
    Runs(Vec<RunSummary>),
    /// What the followed run has written since the last time.
    Updates(RunId, Vec<RunUpdate>),
    /// The curves of a run that is not followed.
    Curves(RunId, Box<Curves>),
    /// What a run of collectives has measured so far.
    Collectives(RunId, Box<Measured>),
    /// Unix time in seconds, often while messages are played.
    Beat(f64),
    /// A recording was played a little further.
    Replay(Position, Box<Played>),
    /// Lines of the log of a run.
    Log(RunId, Box<LogPage>),
    /// What a run shows of each step, and which steps are done for the first time.
    Judged(Box<Judged>),
    /// The runs that take turns, as they are kept, and the one that was begun just now.
    Series(Option<Series>, Option<RunId>),
    /// What the runs that take turns have shown so far.
    Results(Option<Results>),
    /// How the shared machine stands; `None` where it is not shared.
    Queue(Option<Box<SharedMachine>>),
    /// What the progress file holds.
    Progress(Reading),
    /// What the devices of this host do now.
    Telemetry(TelemetrySample),
    /// Which images the next run would train on.
    Data(String),
    /// Something happened to the learner's own trainer.
    Exercise(ExerciseNews),
    /// The editor has given the terminal back; what was wrong with it.
    Edited(Option<String>),
    /// The lines of the user's own program, to be shown around one of them: there is no editor.
    Program { file: String, line: usize, lines: Vec<String> },
    /// A run that was asked for has started.
    Started(RunId),
    /// A run goes on from its last checkpoint.
    Continued(RunId),
    /// The run folders were changed as asked.
    Changed(Changed),
    /// An effect did what it should, and the user should know.
    Done(String),
    /// An effect failed: what, the value, what to do.
    Failed(String),
    /// The machine has too little room for a run: why, and what starts it all the same.
    Crowded(String, Box<Effect>),
    /// The terminal or the system asks the screen to go; runs go on.
    Leave,
    /// The job is asked to stop, as by Ctrl-Z.
    Suspend,
}
