//! A value that is typed in its place among the settings.
//!
//! Never leaves a setting with a value that means nothing.

use crate::tui::actions::{Action, BACKSPACE, Binding, Code, Command, Ctrl, ENTER, Effect, K, Move, Text, Typing, UP_DOWN, row};
use crate::tui::shared::Shared;

use super::fields::Field;
use crate::domain::job::TrainingJob;
use crate::tui::state::{About, Outcome, State, View, Window};

/// Longer than any value.
const MOST: usize = 24;

/// A value that is typed in its place among the settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    pub field: Field,
    pub text: String,
    /// Why the text is no value, if it is none.
    pub error: Option<String>,
    /// Nothing has been typed yet: the first character takes the place of the whole value.
    pub untouched: bool,
}

pub static KEYS: &[Binding] = &[
    row(ENTER, Command::Accept, "Enter", "save", "save the typed value"),
    row(&[Code(K::Esc), Ctrl('c')], Command::Back, "Esc", "cancel", "leave the value as it was").ranked(0),
    row(BACKSPACE, Command::Type(Typing::Erase), "", "", ""),
    row(&[Ctrl('u')], Command::Type(Typing::Clear), "Ctrl-U", "clear", "clear the text"),
    row(UP_DOWN, Command::Move(Move::Up), "", "", ""),
    row(&[Text], Command::Type(Typing::Insert(' ')), "", "", ""),
];

impl Window for Edit {
    fn about(&self, _: &State) -> About {
        About { keys: KEYS, ..About::default() }
    }

    fn view(&self, _: &State, _: u16) -> Option<View> {
        Some(View::InPlace)
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let State { next_run, shared, .. } = state;
        let before = shared.spec.clone();
        match command {
            Command::Accept | Command::Move(_) => {
                match self.field.parse(&self.text, &mut shared.spec, &mut shared.preset, &shared.presets) {
                    Ok(()) => shared.touched |= shared.spec != before,
                    Err(error) if command == Command::Accept => {
                        self.error = Some(error);
                        return Outcome::STAY;
                    }
                    // Up and down leave the field as well, with the value it had.
                    Err(_) => {}
                }
                if let Command::Move(by) = command {
                    next_run.choose(by);
                }
                return Outcome::Close(data_changed(shared, &before));
            }
            Command::Type(typing) => {
                if std::mem::take(&mut self.untouched) && matches!(typing, Typing::Insert(_)) {
                    self.text.clear();
                }
                typing.into(&mut self.text, MOST);
            }
            _ => return Outcome::CLOSE,
        }
        // Tried on a copy: the error shows while typing, the value changes with Enter.
        self.error = self.field.parse(&self.text, &mut before.clone(), &mut shared.preset.clone(), &shared.presets).err();
        Outcome::STAY
    }
}

/// Asks again which images would be used, after a change of the data source.
pub fn data_changed(shared: &Shared, before: &TrainingJob) -> Vec<Action> {
    if before.workload.data == shared.spec.workload.data {
        return Vec::new();
    }
    vec![Effect::LocateData(Box::new(shared.spec.clone())).into()]
}
