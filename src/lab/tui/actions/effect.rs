//! Requests of the screen to the world, as data.
//!
//! `update` performs no effect itself: the runner does, off the thread that draws.

use crate::course::{Prediction, QuestionId, Series};
use crate::domain::device::RankPlace;
use crate::domain::fault::FaultRequest;
use crate::domain::job::{RunSpec, TrainingJob};
use crate::exercise::Track;
use crate::runs::recording::PlayerOrder;
use crate::runs::{LogQuery, LogRequest, RunId};
use crate::tui::actions::change::Change;

#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    Start {
        spec: Box<TrainingJob>,
        preset: String,
    },
    /// Start a run of collectives, a benchmark, a training on photos or a program of the user's own.
    StartOther(Box<RunSpec>),
    /// Start it though the machine has too little room: the user was asked.
    Forced(Box<Effect>),
    /// Train until `epochs` in total.
    Continue {
        run: RunId,
        epochs: usize,
    },
    Stop(RunId),
    MakeFault(RunId, FaultRequest),
    /// Follow this run, and no other.
    Watch(RunId),
    /// Read the curves of a run that the chart shows and that is not followed.
    ReadCurves(RunId),
    /// Read the messages and times of a run of collectives.
    ReadCollectives(RunId),
    /// Read lines of the followed run.
    ReadLog(RunId, LogRequest),
    /// Write what a query shows of the followed run into a new file.
    SaveLog {
        run: RunId,
        query: LogQuery,
        name: String,
    },
    /// Pause, seek or change the speed of the recording that is played.
    Player(PlayerOrder),
    ListRuns,
    /// Read the state of the shared machine.
    ReadQueue,
    /// Change something in the run folders.
    Change(Change),
    /// Check the ten steps of this run.
    Judge(RunId),
    /// Keep this series in the place of the one before, and begin it.
    BeginSeries(Box<Series>),
    ReadSeries,
    /// Begin the next run of the series.
    StartNext,
    /// Cancel the runs of the series that have not begun.
    CancelSeries,
    /// Read the results of the series.
    ReadResults(Box<Series>),
    /// Read the progress of the learner.
    ReadProgress,
    /// Keep an answer to a lesson's question.
    Predict {
        asked: QuestionId,
        prediction: Prediction,
        is_right: bool,
    },
    /// Find out which images such a run would train on.
    LocateData(Box<TrainingJob>),
    /// Ranks of the followed run with their pids on this host, for the devices pane.
    WatchRanks(Vec<RankPlace>),
    ReadExercise,
    /// Read the language that the learner writes in.
    ReadLanguage,
    /// From now on effects are about the learner's program of this track.
    ChooseExercise(Track),
    /// Put a place of it back to its TODO, or the whole; what there was is kept.
    ResetExercise(Option<usize>),
    /// Build the learner's program and run it.
    TryExercise,
    /// Build it and run it on one rank and on two, side by side.
    CompareExercise,
    /// Report every save.
    WatchExercise,
    Terminal(TerminalOrder),
}

/// What the owner of the terminal does itself, between two frames.
#[derive(Clone, Debug, PartialEq)]
pub enum TerminalOrder {
    /// Open the learner's program in the editor, which gets the terminal until it ends.
    Edit,
    /// Open the user's own program at a line in the editor.
    OpenProgram { file: String, line: usize },
    /// Copy to the clipboard of the terminal's owner.
    Copy(String),
    /// Give the terminal back to the shell, until it continues the job.
    Suspend,
    /// Announce that a run has ended, in the way that the user chose.
    Announce(String),
    /// Let the terminal tell the mouse, or have it select text as ever.
    CaptureMouse(bool),
}
