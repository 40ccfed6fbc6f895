//! The form of a run that does not train, as a window: its settings, and what it starts.
//!
//! What a feature hands in is its title, its keys, what to say below the settings, and what it keeps of them.

use ratatui::style::Style;

use super::{About, Outcome, Page, State, View, Window};
use crate::domain::job::RunSpec;
use crate::tui::actions::{Action, Binding, Command, Effect};
use crate::tui::shared::run_form::RunForm;

#[derive(Clone, Debug)]
pub struct Form {
    pub run: RunForm,
    pub title: &'static str,
    pub keys: &'static [Binding],
    /// What is wrong with it, else what to know of it.
    pub said: fn(&RunForm, &State) -> Vec<(String, Style)>,
    /// It closes, and its run starts or not.
    pub left: fn(&mut State, &RunSpec, bool),
}

impl Window for Form {
    fn about(&self, _: &State) -> About {
        About { keys: self.keys, ..About::default() }
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let said = (self.said)(&self.run, state);
        Some(Page::view(self.title, columns, 84, |width| self.run.lines(&state.shared, &said, width)))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        match command {
            Command::Back => {
                (self.left)(state, &self.run.spec, false);
                return Outcome::CLOSE;
            }
            Command::StartRun => return self.start(state),
            Command::Stop => return Outcome::Stay(vec![Action::Stop]),
            Command::Move(by) => self.run.go(by, &state.shared),
            Command::Type(typing) => self.run.take_key(typing, &state.shared),
            _ => {}
        }
        Outcome::STAY
    }
}

impl Form {
    /// As the verb starts it, and refuses it.
    fn start(&self, state: &mut State) -> Outcome {
        if let Some(refusal) = self.run.refusal(&state.shared) {
            state.shared.error(refusal);
            return Outcome::STAY;
        }
        (self.left)(state, &self.run.spec, true);
        state.shared.starting.run = true;
        Outcome::Close(vec![Effect::StartOther(Box::new(self.run.spec.clone())).into()])
    }
}
