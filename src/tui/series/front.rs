//! The windows of runs that take turns: what they show, and whether to run all steps but one.

use super::windows::{ConfirmAblation, Turns};
use crossterm::event::KeyCode as K;

use super::draw::lines;
use super::keys::Command;
use super::state::SeriesView;
use super::update::{begin_ablation, cancel};
use crate::tui::actions::action::Action;
use crate::tui::actions::keys::On::{Char, Code, Ctrl};
use crate::tui::actions::keys::{Binding, row};
use crate::tui::shared::state::Shared;
use crate::tui::window::{Page, Question, View, Window};

static TURNS: &[Binding<Command>] = &[
    row(&[Char('x')], Command::Stop, "x", "cancel what waits, stop what runs", "").ranked(0),
    row(&[Code(K::Esc), Char('v'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
];

impl Window for Turns {
    type Feature = SeriesView;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![TURNS]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        TURNS
    }

    fn view(&self, series: &SeriesView, shared: &Shared, columns: u16) -> Option<View> {
        let title = series.series.as_ref().map_or(String::new(), |series| sentence(&series.name()));
        Some(Page::view(title, columns, 110, |width| lines(series, shared, width)))
    }

    fn update(self, series: &mut SeriesView, shared: &mut Shared, command: Command) -> Vec<Action> {
        if command == Command::Back {
            return Vec::new();
        }
        series.window = Some(self.into());
        if command == Command::Stop { cancel(series, shared) } else { Vec::new() }
    }

    fn scroll(&self) -> Option<usize> {
        Some(self.scroll)
    }

    fn scroll_to(&mut self, line: usize) {
        self.scroll = line;
    }
}

/// With a capital.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

static ABLATION: &[Binding<Command>] = &[
    row(&[Char('y')], Command::Accept, "y", "run them", ""),
    row(&[Code(K::Esc), Char('n'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "not now", "").ranked(0),
];

impl Window for ConfirmAblation {
    type Feature = SeriesView;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![ABLATION]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        ABLATION
    }

    fn view(&self, _: &SeriesView, shared: &Shared, _: u16) -> Option<View> {
        let (np, training) = (shared.spec.resources.np, &shared.spec.workload);
        let images = training.train_images.map_or("all images".to_owned(), |images| format!("{images} images"));
        let text = [
            "12 runs, one after the other: all steps, all but one, none.".to_owned(),
            format!("{np} ranks, {} epochs of {images} each.", training.epochs),
            "They go on in turn while the screen is open, and wait while it is not.".to_owned(),
        ];
        Some(Question::view("Ablation", text))
    }

    fn update(self, series: &mut SeriesView, shared: &mut Shared, command: Command) -> Vec<Action> {
        if command == Command::Accept { begin_ablation(series, shared) } else { Vec::new() }
    }
}
