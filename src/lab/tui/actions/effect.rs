//! Requests of the screen to the world, as data, and the news that some of them bring.
//!
//! `update` performs no effect itself: the runner does, off the thread that draws.

use crate::course::{Prediction, QuestionId, Series};
use crate::domain::device::RankPlace;
use crate::domain::fault::FaultRequest;
use crate::domain::job::{RunSpec, TrainingJob};
use crate::exercise::{Language, Track};
use crate::runs::recording::PlayerOrder;
use crate::runs::{LogQuery, LogRequest, RunId};

#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Start a training with the ten steps.
    Start { spec: Box<TrainingJob>, preset: String },
    /// Start a run of collectives, a benchmark, a training on photos or a program of the user's own.
    StartOther(Box<RunSpec>),
    /// Start it though the machine has too little room: the user was asked.
    Forced(Box<Effect>),
    /// Train until `epochs` in total.
    Continue { run: RunId, epochs: usize },
    /// Ask the supervisor of the run to stop it.
    Stop(RunId),
    /// Make a fault in a run that is going.
    MakeFault(RunId, FaultRequest),
    /// Follow this run, and no other.
    Watch(RunId),
    /// Read the curves of a run that the chart shows and that is not followed.
    ReadCurves(RunId),
    /// Read the messages and times of a run of collectives.
    ReadCollectives(RunId),
    /// Do something with the log of the followed run.
    Log(RunId, LogOrder),
    /// Pause, seek or change the speed of the recording that is played.
    Player(PlayerOrder),
    /// Read the rows of all runs.
    ListRuns,
    /// Read the state of the shared machine.
    ReadQueue,
    /// Change something in the run folders.
    Change(Change),
    /// Check the ten steps of this run.
    Judge(RunId),
    /// Keep this series in the place of the one before, and begin it.
    BeginSeries(Box<Series>),
    /// Read the series that is kept.
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
    Predict { asked: QuestionId, prediction: Prediction, is_right: bool },
    /// Find out which images such a run would train on.
    LocateData(Box<TrainingJob>),
    /// Ranks of the followed run with their pids on this host, for the devices pane.
    WatchRanks(Vec<RankPlace>),
    /// Read the learner's program, which is made if it is not there.
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
    /// Performed by the owner of the terminal.
    Terminal(TerminalOrder),
}

/// What the thread that reads a log does.
#[derive(Clone, Debug, PartialEq)]
pub enum LogOrder {
    Read(LogRequest),
    /// Write what a query shows into a new file of this name.
    Save(LogQuery, String),
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

/// A change in the run folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Name the run; an empty name takes the name away.
    Name(RunId, String),
    /// Write a note on the run; an empty one takes the note away.
    Note(RunId, String),
    /// Move the run to the trash.
    Delete(RunId),
    /// Bring the run back; without a number whatever was deleted last, perhaps by another lab.
    Restore(Option<RunId>),
    /// Take back an earlier change by this one.
    Undo(Box<Change>),
    /// Write a comparison of these runs to a new file.
    Export { file: String, runs: Vec<RunId>, baseline: RunId, published: bool },
}

/// The result of a [`Change`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The words for the user.
    pub text: String,
    /// A run to put on the screen.
    pub show: Option<RunId>,
    /// What undoes it, if it can be undone.
    pub undo: Option<Change>,
}

/// News about the learner's own trainer: a change of the program, or a result of it.
#[derive(Clone, Debug)]
pub enum ExerciseNews {
    /// Where it is, and its text.
    Read { path: String, program: String },
    /// The language that the learner writes in, or would by default; whether they said so.
    Language { language: Language, is_chosen: bool },
    /// The editor has saved it.
    Saved,
    /// One TODO, or the whole program, was reset; `backup` is the file that keeps the earlier text.
    Reset { number: Option<usize>, program: String, backup: String },
    /// It does not build: the errors in words.
    Broken(String),
    /// A run of it has begun; a further one of a program that passed says what is different.
    Started(RunId, Option<&'static str>),
    /// The verdict on all its runs, of which `run` was the first, and notes for the user.
    Judged { run: Option<RunId>, words: String, notes: Vec<String> },
    /// Why it could not be built or run at all.
    Failed(String),
}
