//! Runs that take turns: how they stand, and what they show.

use crate::tui::actions::On::{Char, Code, Ctrl};
use crate::tui::actions::{Action, Binding, Command, row};
use crossterm::event::KeyCode as K;

use super::draw::lines;
use super::update::cancel;
use crate::columns::capital;
use crate::course::Next;
use crate::tui::state::{Outcome, Page, State, View, Window};

#[derive(Clone, Debug)]
pub struct Turns;

/// The last series there was, or how the one that is going stands.
pub fn show(state: &mut State) -> Vec<Action> {
    match state.series.series {
        Some(_) => state.windows.show(Turns),
        None => {
            let text = "nothing to show yet: in the pane Steps, g runs without and with the chosen step, and A leaves out each step in turn";
            state.shared.inform(text);
        }
    }
    Vec::new()
}

pub static KEYS: &[Binding] = &[
    row(&[Char('x')], Command::Stop, "x", "cancel the waiting runs, stop the current one", "").ranked(0),
    row(&[Code(K::Esc), Char('G'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
];

impl Window for Turns {
    fn keys(&self, _: &State) -> &'static [Binding] {
        KEYS
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let (series, shared) = (&state.series, &state.shared);
        let title = series.series.as_ref().map_or(String::new(), |series| capital(&series.name()));
        Some(Page::view(title, columns, 110, |width| lines(series, shared, width)))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        match command {
            Command::Stop => Outcome::Stay(cancel(&state.series, &state.shared)),
            _ => Outcome::CLOSE,
        }
    }

    fn is_idle(&self, state: &State, command: Command) -> Option<bool> {
        (command == Command::Stop).then(|| state.series.next(&state.shared) == Next::Over)
    }

    fn scrolls(&self) -> bool {
        true
    }
}
