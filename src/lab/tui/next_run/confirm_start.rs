//! Starts a run, or asks whether to: where another is going, or where the machine has too little room.
//!
//! Never starts a run that cannot train: the reason is said instead.

use crate::tui::actions::{Action, Binding, Char, Code, Command, Ctrl, Effect, K, row};
use crate::tui::shared::Shared;

use crate::domain::settings::without_flags;
use crate::runs::RunId;
use crate::tui::state::{About, Outcome, State, View, Window};

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
    fn about(&self, _: &State) -> About {
        About { keys: KEYS, ..About::default() }
    }

    fn view(&self, state: &State, _: u16) -> Option<View> {
        let (what, note) = match state.shared.all_going().is_empty() {
            true => ("has ended meanwhile", "Nothing disturbs another run now."),
            false => ("is still running", "Two runs share the devices, so you cannot measure the speed of either."),
        };
        Some(View::Question { title: "Start another run?", text: vec![format!("Run {} {what}.", self.going), note.into()] })
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
    fn about(&self, _: &State) -> About {
        About { keys: ANYWAY, ..About::default() }
    }

    fn view(&self, _: &State, _: u16) -> Option<View> {
        let why = format!("{}.", without_flags(&self.why));
        let text = vec![why, "Ranks that share a core or a GPU gain no speed: a lower np is faster.".to_owned()];
        Some(View::Question { title: "Start it all the same?", text })
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        if command != Command::Accept {
            return Outcome::CLOSE;
        }
        match &*self.start {
            Effect::BeginSeries(_) => state.shared.starting.turn = true,
            start => {
                state.shared.starting.run = true;
                state.collectives.is_starting = matches!(start, Effect::StartOther(spec) if spec.collectives().is_some());
            }
        }
        Outcome::Close(vec![Effect::Forced(self.start.clone()).into()])
    }
}

/// A run was refused for want of room.
pub fn ask_anyway(state: &mut State, why: String, start: Box<Effect>) -> Vec<Action> {
    state.windows.show_over(StartAnyway { why, start });
    Vec::new()
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
