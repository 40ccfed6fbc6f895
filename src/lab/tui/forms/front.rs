//! What a form shows: its fields, and whether such a run can start.

use super::fields::Field;
use super::keys::{Command, FORM};
use super::state::Forms;
use super::update;
use super::windows::Form;
use crate::columns::left;
use crate::domain::job::RunSpec;
use crate::tui::actions::action::Action;
use crate::tui::actions::keys::Binding;
use crate::tui::shared::state::Shared;
use crate::tui::widgets::form;
use crate::tui::window::{Page, View, Window};
use ratatui::style::Style;
use ratatui::text::Line;

/// Columns of the flags.
const FLAG: usize = 26;

impl Window for Form {
    type Feature = Forms;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![FORM]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        FORM
    }

    fn view(&self, _: &Forms, shared: &Shared, columns: u16) -> Option<View> {
        let title = if self.spec.nvcnn().is_some() { "Train on photos (hvd-lab nvcnn)" } else { "Benchmark (hvd-lab bench)" };
        Some(Page::view(title, columns, 84, |width| lines(self, shared, width)))
    }

    fn update(self, forms: &mut Forms, shared: &mut Shared, command: Command) -> Vec<Action> {
        update::form(self, forms, shared, command)
    }
}

fn lines(window: &Form, shared: &Shared, width: usize) -> Vec<Line<'static>> {
    let mut spec = (*window.spec).clone();
    let fields = Field::all(&spec);
    let row = |(place, field): (usize, &Field)| {
        let value = field.value(&spec);
        let cursor = if place == window.chosen && field.folder(&mut spec.clone()).is_some() { "_" } else { "" };
        format!(" {}{value}{cursor} ", left(field.flag(), FLAG))
    };
    let rows: Vec<String> = fields.iter().enumerate().map(row).collect();
    let is_folder = fields.get(window.chosen).is_some_and(|field| field.folder(&mut spec).is_some());
    form::lines(shared.theme, &rows, window.chosen, &said(&spec, shared, is_folder), (width, form::room(shared.size.1)))
}

/// What is wrong with it, else what to know of it.
fn said(spec: &RunSpec, shared: &Shared, is_folder: bool) -> Vec<(String, Style)> {
    let theme = shared.theme;
    let mut said = Vec::new();
    if is_folder {
        said.push(("Type a folder; Backspace takes letters away, Ctrl-U all of them.".to_owned(), theme.dim()));
    }
    match (spec.problem(), shared.going()) {
        (Some(problem), _) => said.push((format!("Cannot start: {problem}"), theme.warn())),
        (None, Some(run)) => {
            said.push((
                format!("Run {run} is still running, and what you measure at the same time means nothing."),
                theme.warn(),
            ));
        }
        (None, None) => {
            let verb = if spec.nvcnn().is_some() { "nvcnn" } else { "bench" };
            said.push((
                format!("`hvd-lab {verb} --help` says what each flag does. The run shows up in the table of runs."),
                theme.dim(),
            ));
        }
    }
    said
}
