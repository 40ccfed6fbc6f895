//! The line that a filter, a name, a note or a file is typed into.
//!
//! Never loses what was typed because it will not do: the line stays, and says why.

use std::path::Path;

use super::state::{Runs, chosen};
use crate::runs::export::{self, Format};
use crate::runs::{Filter, RunId};
use crate::tui::actions::{Action, Change, Command, Effect};
use crate::tui::shared::Shared;
use crate::tui::state::State;
use crate::tui::state::typed_line::{Purpose, TypedLine, ends};
use crate::tui::widgets::Prompt;

/// What the line is typed for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Words that runs have to fit; what stood there before comes back with Escape.
    Filter {
        before: String,
    },
    Name(RunId),
    Note(RunId),
    /// The file that the shown runs are written to.
    Export,
}

/// Asks for words that runs have to fit.
pub fn filter(state: &mut State) {
    let text = state.runs.filter.text().to_owned();
    state.windows.show(TypedLine::new(Asked::Filter { before: text.clone() }, text));
}

/// Asks for a name or a note of the chosen run.
pub fn annotate(state: &mut State, command: Command) {
    let shared = &mut state.shared;
    let Some(run) = chosen(shared) else { return };
    let Some(record) = run.record else {
        return shared.error(format!("the record of run {} cannot be read, so you cannot name it or add a note", run.id));
    };
    let (what, text) = match command {
        Command::Name => (Asked::Name(run.id), record.request.name),
        _ => (Asked::Note(run.id), record.request.note),
    };
    state.windows.show(TypedLine::new(what, text.unwrap_or_default()));
}

/// Asks for the file that the shown runs are written to.
pub fn export(state: &mut State) {
    match state.shared.baseline() {
        Some(_) => state.windows.show(TypedLine::new(Asked::Export, "runs.md")),
        None => state.shared.inform("nothing to export yet: no run has measured images/s"),
    }
}

impl Purpose for Asked {
    const LONGEST: usize = usize::MAX;

    fn prompt(&self, State { runs, shared, .. }: &State, _: &str) -> Prompt {
        let (label, hint) = match self {
            Asked::Filter { .. } => {
                let shown = runs.shown(&shared.runs).len();
                ("Filter".to_owned(), format!("{shown} of {} match  (np:2  failed  !name:old)", shared.runs.len()))
            }
            Asked::Name(run) => (format!("Name of run {run}"), "empty removes it".to_owned()),
            Asked::Note(run) => (format!("Note on run {run}"), "empty removes it".to_owned()),
            Asked::Export => ("Export to".to_owned(), export::names(" .")),
        };
        Prompt { label, keys: ends("save", "cancel"), hint, ..Prompt::default() }
    }

    /// A filter works at once.
    fn typed(&mut self, state: &mut State, text: &str) -> Result<Vec<Action>, String> {
        if let Asked::Filter { .. } = self {
            state.runs.filter = Filter::new(text);
        }
        Ok(Vec::new())
    }

    fn accept(&mut self, State { runs, shared, .. }: &mut State, text: &str) -> Result<Vec<Action>, String> {
        let change = match self {
            Asked::Filter { .. } => return Ok(first_that_fits(runs, shared)),
            Asked::Name(run) => Change::Name(*run, text.to_owned()),
            Asked::Note(run) => Change::Note(*run, text.to_owned()),
            Asked::Export => {
                let file = text.trim();
                Format::of(Path::new(file))?;
                let Some(baseline) = shared.baseline().map(|run| run.id) else { return Ok(Vec::new()) };
                let shown = runs.shown(&shared.runs).into_iter().map(|run| run.id).collect();
                Change::Export { file: file.to_owned(), runs: shown, baseline, published: runs.published }
            }
        };
        Ok(vec![Effect::Change(change).into()])
    }

    fn cancel(&mut self, state: &mut State) -> Vec<Action> {
        if let Asked::Filter { before } = self {
            state.runs.filter = Filter::new(before);
        }
        Vec::new()
    }

    fn run(&self) -> Option<RunId> {
        match self {
            Asked::Name(run) | Asked::Note(run) => Some(*run),
            Asked::Filter { .. } | Asked::Export => None,
        }
    }
}

/// A filter that hides the chosen run chooses another.
fn first_that_fits(runs: &Runs, shared: &Shared) -> Vec<Action> {
    let chosen = shared.watched.as_ref().map(|watched| watched.id);
    let shown = runs.shown(&shared.runs);
    match shown.first().map(|run| run.id) {
        Some(first) if !shown.iter().any(|run| Some(run.id) == chosen) => vec![Action::Watch(first)],
        _ => Vec::new(),
    }
}
