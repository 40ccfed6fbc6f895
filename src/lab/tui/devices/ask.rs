//! The line that the filter of the devices is typed into: it works at once.

use crossterm::event::KeyCode as K;

use crate::tui::actions::On::{Code, Ctrl, Text};
use crate::tui::actions::{BACKSPACE, Binding, Command, ENTER, Typing, row};
use crate::tui::state::{Outcome, State, Window};
use crate::tui::widgets::prompt::Prompt;
use crate::tui::window::View;

/// More finds nothing that is on the screen.
const MOST: usize = 40;

/// The line that the filter is typed into.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    pub text: String,
}

pub static KEYS: &[Binding] = &[
    row(ENTER, Command::Accept, "Enter", "apply", ""),
    row(&[Code(K::Esc), Ctrl('c')], Command::Back, "Esc", "cancel", "").ranked(0),
    row(BACKSPACE, Command::Type(Typing::Erase), "", "", ""),
    row(&[Ctrl('u')], Command::Type(Typing::Clear), "Ctrl-U", "clear", ""),
    row(&[Text], Command::Type(Typing::Insert(' ')), "", "", ""),
];

impl Window for Ask {
    fn keys(&self, _: &State) -> &'static [Binding] {
        KEYS
    }

    fn view(&self, _: &State, _: u16) -> Option<View> {
        Some(View::Line(Prompt {
            label: "Filter devices".into(),
            text: self.text.clone(),
            error: None,
            keys: vec![(Code(K::Enter), "Enter keep".into()), (Code(K::Esc), "Esc show all".into())],
            hint: "GPU 3, rank 2, a pid, a name".into(),
        }))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        match command {
            Command::Back => state.devices.filter.clear(),
            Command::Accept => {}
            command => {
                if let Command::Type(typing) = command {
                    typing.into(&mut self.text, MOST);
                }
                state.devices.filter.clone_from(&self.text);
                return Outcome::STAY;
            }
        }
        Outcome::CLOSE
    }
}
