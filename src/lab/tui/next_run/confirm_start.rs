//! Starts a run, or asks whether to: where another is going, or where the machine has too little room.
//!
//! Never starts a run that cannot train: the reason is said instead.

use crate::tui::actions::On::{Char, Code, Ctrl};
use crate::tui::actions::{Action, Binding, Command, Effect, row};
use crate::tui::shared::Shared;
use crossterm::event::KeyCode as K;

use crate::domain::job::RunSpec;
use crate::domain::settings::without_flags;
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

    fn view(&self, state: &State, _: u16) -> Option<View> {
        let (what, note) = match state.shared.all_going().is_empty() {
            true => ("has ended meanwhile", "Nothing disturbs another run now."),
            false => ("is still running", "Two runs share the devices, so you cannot measure the speed of either."),
        };
        Some(Question::view("Start another run?", [format!("Run {} {what}.", self.going), note.into()]))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        if command == Command::Accept { Outcome::Close(start(&mut state.shared)) } else { Outcome::CLOSE }
    }
}

/// The machine has too little room for a run: start it all the same?
#[derive(Clone, Debug)]
pub struct StartAnyway {
    why: String,
    start: Box<Effect>,
}

pub static ANYWAY: &[Binding] = &[
    row(&[Code(K::Enter), Char('y')], Command::Accept, "Enter", "start it all the same", ""),
    row(&[Code(K::Esc), Char('n'), Char('q'), Ctrl('c')], Command::Back, "Esc", "leave it", "").ranked(0),
];

impl Window for StartAnyway {
    fn keys(&self, _: &State) -> &'static [Binding] {
        ANYWAY
    }

    fn view(&self, _: &State, _: u16) -> Option<View> {
        let why = format!("{}.", without_flags(&self.why));
        let text = [why, "Ranks that share a core or a GPU gain no speed: a lower np is faster.".to_owned()];
        Some(Question::view("Start it all the same?", text))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        if command != Command::Accept {
            return Outcome::CLOSE;
        }
        match &*self.start {
            Effect::BeginSeries(_) => state.shared.starting.turn = true,
            start => {
                state.shared.starting.run = true;
                state.collectives.is_starting = matches!(start, Effect::StartOther(spec) if is_of_collectives(spec));
            }
        }
        Outcome::Close(vec![Effect::Forced(self.start.clone()).into()])
    }
}

fn is_of_collectives(spec: &RunSpec) -> bool {
    spec.collectives().is_some()
}

/// A run was refused for want of room.
pub fn ask_anyway(state: &mut State, why: String, start: Box<Effect>) {
    state.windows.show_over(StartAnyway { why, start });
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
