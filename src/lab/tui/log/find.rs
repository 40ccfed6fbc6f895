//! The line in which you go to a rank by its number or its host, without paging through hundreds.
//!
//! While you type, it says which rank that would be; Enter goes there.

use crossterm::event::KeyCode as K;

use super::read::turn_to;
use super::state::LogTab;
use crate::tui::actions::On::{Code, Ctrl, Text};
use crate::tui::actions::{Action, BACKSPACE, Binding, Command, ENTER, Typing, row};
use crate::tui::shared::ranks;
use crate::tui::state::{Outcome, State, Window};
use crate::tui::widgets::prompt::Prompt;
use crate::tui::window::View;

/// Characters of a host's name.
const MOST: usize = 255;

pub static KEYS: &[Binding] = &[
    row(ENTER, Command::Accept, "Enter", "go", ""),
    row(&[Code(K::Esc), Ctrl('c')], Command::Back, "Esc", "cancel", "").ranked(0),
    row(BACKSPACE, Command::Type(Typing::Erase), "", "", ""),
    row(&[Ctrl('u')], Command::Type(Typing::Clear), "Ctrl-U", "clear", ""),
    row(&[Text], Command::Type(Typing::Insert(' ')), "", "", ""),
];

/// Opens it, where there are ranks to choose from.
pub fn open(state: &mut State) -> Vec<Action> {
    match &state.shared.watched {
        Some(_) => state.windows.show(Find { text: String::new(), error: None }),
        None => state.shared.inform("no ranks yet: r starts a run"),
    }
    Vec::new()
}

/// The line that a rank is asked for in.
#[derive(Clone, Debug)]
pub struct Find {
    pub text: String,
    /// Why there is no such rank, if there is none.
    pub error: Option<String>,
}

impl Window for Find {
    fn keys(&self, _: &State) -> &'static [Binding] {
        KEYS
    }

    fn view(&self, state: &State, _: u16) -> Option<View> {
        let shared = &state.shared;
        let last = ranks::count(shared) - 1;
        let hint = match ranks::find(shared, &self.text) {
            Ok(rank) => ranks::in_words(shared, rank),
            Err(_) if self.text.is_empty() => format!("0 to {last}, or a host"),
            Err(why) => why,
        };
        Some(View::Line(Prompt {
            label: "Go to rank".into(),
            text: self.text.clone(),
            error: self.error.clone(),
            keys: vec![(Code(K::Enter), "Enter go".into()), (Code(K::Esc), "Esc cancel".into())],
            hint,
        }))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let State { log, shared, .. } = state;
        match command {
            Command::Back => return Outcome::CLOSE,
            Command::Accept => match ranks::find(shared, &self.text) {
                Ok(rank) => {
                    let mut actions = vec![Action::ShowRank(rank)];
                    actions.extend(turn_to(log, shared, LogTab::of(rank)));
                    return Outcome::Close(actions);
                }
                Err(why) => self.error = Some(why),
            },
            Command::Type(typing) => {
                typing.into(&mut self.text, MOST);
                self.error = None;
            }
            _ => {}
        }
        Outcome::STAY
    }
}
