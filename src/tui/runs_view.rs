//! What the runs pane remembers, and what it asks of the run folders.
//!
//! Never reads a folder, and never draws.

use crate::runs::{Filter, RunId, RunSummary, SortKey, select};

#[derive(Clone, Debug, Default)]
pub struct RunsView {
    pub filter: Filter,
    pub sort: SortKey,
    pub reverse: bool,
    /// Rows of what others published stand below the runs.
    pub published: bool,
    /// A run has been asked for, and is not there yet.
    pub is_starting: bool,
    /// What takes the last changes back, the newest last.
    history: Vec<Undo>,
}

/// Changes that can be taken back: as many as one remembers.
const MOST_UNDOS: usize = 20;

impl RunsView {
    /// The runs that the table shows, in its order.
    pub fn shown<'a>(&self, runs: &'a [RunSummary]) -> Vec<&'a RunSummary> {
        select(runs, &self.filter, self.sort, self.reverse)
    }

    pub fn remember(&mut self, undo: Undo) {
        self.history.push(undo);
        let forgotten = self.history.len().saturating_sub(MOST_UNDOS);
        self.history.drain(..forgotten);
    }

    /// What takes the last change back, and is done with then.
    pub fn undo(&mut self) -> Undo {
        self.history.pop().unwrap_or(Undo::LastDelete)
    }

    /// The run to show when `gone` is no longer in `runs`: the one that took its place in the table `before`.
    pub fn neighbour(&self, before: &[RunSummary], gone: RunId, runs: &[RunSummary]) -> Option<RunId> {
        let order: Vec<RunId> = self.shown(before).into_iter().map(|run| run.id).collect();
        let place = order.iter().position(|id| *id == gone).unwrap_or(0);
        let (above, below) = order.split_at(place);
        let is_left = |id: &&RunId| runs.iter().any(|run| run.id == **id);
        let neighbour = below.iter().find(is_left).or_else(|| above.iter().rfind(is_left)).copied();
        neighbour.or(runs.last().map(|run| run.id))
    }
}

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
