//! The line that a filter, a name, a note or a file is typed into.
//!
//! Never loses what was typed because it will not do: the line stays, and says why.

use super::windows::{Ask, Asked};
use std::path::Path;

use crossterm::event::KeyCode as K;

use super::keys::Command;
use super::state::Runs;
use super::update::{first_that_fits, write};
use crate::runs::export::Format;
use crate::runs::{Filter, RunId};
use crate::tui::actions::action::Action;
use crate::tui::actions::change::Change;
use crate::tui::actions::effect::Effect;
use crate::tui::actions::keys::On::{Code, Ctrl, Text};
use crate::tui::actions::keys::{BACKSPACE, Binding, ENTER, Typing, row};
use crate::tui::shared::state::Shared;
use crate::tui::widgets::prompt::Prompt;
use crate::tui::window::{View, Window};

static KEYS: &[Binding<Command>] = &[
    row(ENTER, Command::Accept, "Enter", "save", ""),
    row(&[Code(K::Esc), Ctrl('c')], Command::Back, "Esc", "cancel", "").ranked(0),
    row(BACKSPACE, Command::Type(Typing::Erase), "", "", ""),
    row(&[Ctrl('u')], Command::Type(Typing::Clear), "Ctrl-U", "clear", ""),
    row(&[Text], Command::Type(Typing::Insert(' ')), "", "", ""),
];

impl Window for Ask {
    type Feature = Runs;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![KEYS]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        KEYS
    }

    fn view(&self, runs: &Runs, shared: &Shared, _: u16) -> Option<View> {
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

    fn update(mut self, runs: &mut Runs, shared: &mut Shared, command: Command) -> Vec<Action> {
        match command {
            Command::Back => {
                if let Asked::Filter { before } = &self.what {
                    runs.filter = Filter::new(before);
                }
                return Vec::new();
            }
            Command::Accept => match self.accept(runs, shared) {
                Ok(actions) => return actions,
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
        runs.window = Some(self.into());
        Vec::new()
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
