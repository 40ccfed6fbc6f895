//! Changes in the run folders, and their results.

use crate::runs::RunId;

/// A change in the run folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Name(RunId, String),
    Note(RunId, String),
    /// Move the run to the trash.
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

/// Undoes a change.
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

/// The result of a [`Change`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The words for the user.
    pub text: String,
    /// A run to put on the screen.
    pub show: Option<RunId>,
    /// How to undo it, if it can be undone.
    pub undo: Option<Undo>,
}
