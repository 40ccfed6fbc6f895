//! The line that a filter, a name, a note or a file is typed into.
//!
//! Never loses what was typed because it will not do: the line stays, and says why.

use std::path::Path;

use crossterm::event::KeyCode as K;

use super::chosen::chosen;
use super::state::Runs;
use crate::runs::export::Format;
use crate::runs::{Filter, RunId};
use crate::tui::actions::On::{Code, Ctrl, Text};
use crate::tui::actions::{Action, BACKSPACE, Binding, Change, Command, ENTER, Effect, Typing, row};
use crate::tui::shared::state::Shared;
use crate::tui::state::{Outcome, State, Window};
use crate::tui::widgets::prompt::Prompt;
use crate::tui::window::View;

/// A line at the foot of the screen.
#[derive(Clone, Debug)]
pub struct Ask {
    pub what: Asked,
    pub text: String,
    /// Why the text will not do, if it will not.
    pub error: Option<String>,
}

pub static KEYS: &[Binding] = &[
    row(ENTER, Command::Accept, "Enter", "save", ""),
    row(&[Code(K::Esc), Ctrl('c')], Command::Back, "Esc", "cancel", "").ranked(0),
    row(BACKSPACE, Command::Type(Typing::Erase), "", "", ""),
    row(&[Ctrl('u')], Command::Type(Typing::Clear), "Ctrl-U", "clear", ""),
    row(&[Text], Command::Type(Typing::Insert(' ')), "", "", ""),
];

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

fn ask(state: &mut State, what: Asked, text: String) {
    state.windows.show(Ask { what, text, error: None });
}

/// Asks for words that runs have to fit.
pub fn filter(state: &mut State) {
    let text = state.runs.filter.text().to_owned();
    ask(state, Asked::Filter { before: text.clone() }, text);
}

/// Asks for a name or a note of the chosen run.
pub fn annotate(state: &mut State, command: Command) {
    let shared = &mut state.shared;
    let Some(run) = chosen(shared) else { return };
    let Some(record) = run.record else {
        return shared.error(format!("the record of run {} cannot be read, so you cannot name it or add a note", run.id));
    };
    let (what, text) = match command {
        Command::Name => (Asked::Name(run.id), record.name),
        _ => (Asked::Note(run.id), record.note),
    };
    ask(state, what, text.unwrap_or_default());
}

/// Asks for the file that the shown runs are written to.
pub fn export(state: &mut State) {
    match state.shared.baseline() {
        Some(_) => ask(state, Asked::Export, "runs.md".into()),
        None => state.shared.inform("nothing to export yet: no run has measured images/s"),
    }
}

impl Window for Ask {
    fn keys(&self, _: &State) -> &'static [Binding] {
        KEYS
    }

    fn view(&self, state: &State, _: u16) -> Option<View> {
        let (runs, shared) = (&state.runs, &state.shared);
        let (label, hint) = match &self.what {
            Asked::Filter { .. } => {
                let shown = runs.shown(&shared.runs).len();
                ("Filter".to_owned(), format!("{shown} of {} match  (np:2  failed  !name:old)", shared.runs.len()))
            }
            Asked::Name(run) => (format!("Name of run {run}"), "empty removes it".to_owned()),
            Asked::Note(run) => (format!("Note on run {run}"), "empty removes it".to_owned()),
            Asked::Export => ("Export to".to_owned(), ".md .csv .json .svg".to_owned()),
        };
        Some(View::Line(Prompt {
            label,
            text: self.text.clone(),
            error: self.error.clone(),
            keys: vec![(Code(K::Enter), "Enter save".into()), (Code(K::Esc), "Esc cancel".into())],
            hint,
        }))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let State { runs, shared, .. } = state;
        match command {
            Command::Back => {
                if let Asked::Filter { before } = &self.what {
                    runs.filter = Filter::new(before);
                }
                return Outcome::CLOSE;
            }
            Command::Accept => match self.accept(runs, shared) {
                Ok(actions) => return Outcome::Close(actions),
                Err(error) => self.error = Some(error),
            },
            command => {
                if let Command::Type(typing) = command {
                    typing.into(&mut self.text, usize::MAX);
                }
                self.error = None;
                // A filter works at once.
                if let Asked::Filter { .. } = self.what {
                    runs.filter = Filter::new(&self.text);
                }
            }
        }
        Outcome::STAY
    }

    fn run(&self) -> Option<RunId> {
        match self.what {
            Asked::Name(run) | Asked::Note(run) => Some(run),
            Asked::Filter { .. } | Asked::Export => None,
        }
    }
}

impl Ask {
    /// The line was typed to its end.
    fn accept(&self, runs: &mut Runs, shared: &mut Shared) -> Result<Vec<Action>, String> {
        let change = |change| Ok(vec![Effect::Change(change).into()]);
        match &self.what {
            Asked::Filter { .. } => Ok(first_that_fits(runs, shared)),
            Asked::Name(run) => change(Change::Name(*run, self.text.clone())),
            Asked::Note(run) => change(Change::Note(*run, self.text.clone())),
            Asked::Export => {
                let file = self.text.trim().to_owned();
                Format::of(Path::new(&file)).map(|_| write(runs, shared, file))
            }
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

/// Writes the shown runs to a file.
fn write(runs: &Runs, shared: &Shared, file: String) -> Vec<Action> {
    let Some(baseline) = shared.baseline().map(|run| run.id) else { return Vec::new() };
    let shown = runs.shown(&shared.runs).into_iter().map(|run| run.id).collect();
    vec![Effect::Change(Change::Export { file, runs: shown, baseline, published: runs.published }).into()]
}
