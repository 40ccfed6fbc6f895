//! The windows of runs that take turns: what they show, and whether to run all steps but one.

use super::windows::{ConfirmSeries, Turns};
use crossterm::event::KeyCode as K;

use super::draw::{lines, steps_of};
use super::keys::Command;
use super::state::SeriesView;
use super::update::{begin, cancel};
use crate::course::Purpose;
use crate::domain::units;
use crate::tui::actions::action::Action;
use crate::tui::actions::keys::On::{Char, Code, Ctrl};
use crate::tui::actions::keys::{Binding, row};
use crate::tui::shared::state::Shared;
use crate::tui::window::{Page, Question, View, Window};

static TURNS: &[Binding<Command>] = &[
    row(&[Char('x')], Command::Stop, "x", "cancel the waiting runs, stop the current one", "").ranked(0),
    row(&[Code(K::Esc), Char('G'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
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

static CONFIRM: &[Binding<Command>] = &[
    row(&[Char('y')], Command::Accept, "y", "run them", ""),
    row(&[Code(K::Esc), Char('n'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "not now", "").ranked(0),
];

impl Window for ConfirmSeries {
    type Feature = SeriesView;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![CONFIRM]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        CONFIRM
    }

    fn view(&self, _: &SeriesView, _: &Shared, _: u16) -> Option<View> {
        let (series, first) = (&self.series, &self.series.turns.first()?.spec);
        let (title, which) = match series.purpose {
            Purpose::Guided(step) => {
                let turns: Vec<String> = series.turns.iter().map(steps_of).collect();
                ("Before and after", format!("2 runs, one after the other, for step {step}: {}.", turns.join(", then ")))
            }
            Purpose::Ablation => ("Ablation", "12 runs, one after the other: all steps, all but one, none.".to_owned()),
        };
        let images = first.workload.train_images.map_or("all".to_owned(), units::count);
        let epochs = units::counted(first.workload.epochs, "epoch");
        let time = match self.takes_s {
            Some(seconds) => format!("Together about {}, at the speed of your last such run.", units::clock(seconds)),
            None => "The lab cannot say how long they take before a first run.".to_owned(),
        };
        let text = [
            which,
            format!("{}, {epochs} of {images} images each.", units::counted(first.resources.np, "rank")),
            time,
            "They run in turn while the lab is open, and wait while it is closed.".to_owned(),
        ];
        Some(Question::view(title, text))
    }

    fn update(self, series: &mut SeriesView, shared: &mut Shared, command: Command) -> Vec<Action> {
        if command == Command::Accept { begin(series, shared, *self.series) } else { Vec::new() }
    }
}
