//! Starts a run, or asks whether to, where another is going.
//!
//! Never starts a run that cannot train: the reason is said instead.

use crate::tui::actions::On::{Char, Code, Ctrl};
use crate::tui::actions::{Action, Binding, Command, Effect, row};
use crate::tui::shared::Shared;
use crossterm::event::KeyCode as K;

use crate::runs::RunId;
use crate::tui::state::{Outcome, Question, State, View, Window};

/// Another run is going: start one beside it?
#[derive(Clone, Debug, PartialEq)]
pub struct ConfirmStart {
    pub going: RunId,
}

pub static KEYS: &[Binding] = &[
    row(&[Char('y')], Command::Accept, "y", "start anyway", ""),
    row(&[Code(K::Esc), Char('n'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "wait", "").ranked(0),
];

impl Window for ConfirmStart {
    fn keys(&self, _: &State) -> &'static [Binding] {
        KEYS
    }

    fn view(&self, _: &State, _: u16) -> Option<View> {
        let text = [
            format!("Run {} is still running.", self.going),
            "Two runs share the devices, so you cannot measure the speed of either.".into(),
        ];
        Some(Question::view("Start another run?", text))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        if command == Command::Accept { Outcome::Close(start(&mut state.shared)) } else { Outcome::CLOSE }
    }
}

pub fn run(state: &mut State) -> Vec<Action> {
    let State { shared, windows, .. } = state;
    if let Some(problem) = shared.spec.problem() {
        shared.error(format!("cannot start: {problem}"));
    } else if shared.is_starting() {
        shared.inform("a run is starting already: wait until it appears");
    } else if let Some(going) = shared.going() {
        windows.show(ConfirmStart { going });
    } else {
        return start(shared);
    }
    Vec::new()
}

fn start(shared: &mut Shared) -> Vec<Action> {
    shared.starting.run = true;
    vec![Effect::Start { spec: Box::new(shared.spec.clone()), preset: shared.preset.clone() }.into()]
}
