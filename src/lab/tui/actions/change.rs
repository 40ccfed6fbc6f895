//! What is to be done in the run folders, and what came of it.

use crate::runs::RunId;

/// What is to be done in the run folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Name(RunId, String),
    Note(RunId, String),
    /// To the trash.
    Delete(RunId),
    /// Take back an earlier one.
    Undo(Undo),
    /// Write a comparison of these runs to a new file.
    Export {
        file: String,
        runs: Vec<RunId>,
        baseline: RunId,
        published: bool,
    },
}

/// What takes a change back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undo {
    /// The name or the note that the run had before.
    Name(RunId, Option<String>),
    Note(RunId, Option<String>),
    /// The run is in the trash.
    Delete(RunId),
    /// Whatever was deleted last, perhaps by another lab: here nothing has been changed that could be taken back.
    LastDelete,
}

/// What came of a [`Change`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// For the user to know.
    pub text: String,
    /// A run to put on the screen.
    pub show: Option<RunId>,
    /// What takes it back, if anything does.
    pub undo: Option<Undo>,
}
