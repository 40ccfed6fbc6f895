//! Starts a run, or asks whether to: where another is going, or where the machine has too little room.
//!
//! Never starts a run that cannot train: the reason is said instead.

use crate::tui::actions::{Action, Binding, Char, Code, Command, Ctrl, Effect, K, row};
use crate::tui::shared::Shared;

use crate::domain::settings::without_flags;
use crate::runs::RunId;
use crate::tui::state::{About, Outcome, State, View, Window};

/// Something speaks against a start: start it all the same?
#[derive(Clone, Debug, PartialEq)]
pub enum ConfirmStart {
    /// This run is going, and the next one would be beside it.
    Beside(RunId),
    /// The machine has too little room for it.
    Crowded { why: String, start: Box<Effect> },
}

pub static KEYS: &[Binding] = &[
    row(&[Char('y')], Command::Accept, "y", "start anyway", ""),
    row(&[Code(K::Esc), Char('n'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "wait", "").ranked(0),
];
pub static ANYWAY: &[Binding] = &[
    row(&[Code(K::Enter), Char('y')], Command::Accept, "Enter", "start it all the same", ""),
    row(&[Code(K::Esc), Char('n'), Char('q'), Ctrl('c')], Command::Back, "Esc", "leave it", "").ranked(0),
];

impl Window for ConfirmStart {
    fn about(&self, _: &State) -> About {
        About { keys: if let ConfirmStart::Beside(_) = self { KEYS } else { ANYWAY }, ..About::default() }
    }

    fn view(&self, state: &State, _: u16) -> Option<View> {
        let (title, what, note) = match self {
            ConfirmStart::Beside(run) if state.shared.all_going().is_empty() => {
                ("Start another run?", format!("Run {run} has ended meanwhile."), "Nothing disturbs another run now.")
            }
            ConfirmStart::Beside(run) => {
                let note = "Two runs share the devices, so you cannot measure the speed of either.";
                ("Start another run?", format!("Run {run} is still running."), note)
            }
            ConfirmStart::Crowded { why, .. } => {
                let note = "Ranks that share a core or a GPU gain no speed: a lower np is faster.";
                ("Start it all the same?", format!("{}.", without_flags(why)), note)
            }
        };
        Some(View::Question { title, text: vec![what, note.to_owned()] })
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        Outcome::Close(match self {
            _ if command != Command::Accept => Vec::new(),
            ConfirmStart::Beside(_) => start(&mut state.shared),
            ConfirmStart::Crowded { start, .. } => {
                match &**start {
                    Effect::BeginSeries(_) => state.shared.starting.turn = true,
                    start => {
                        state.shared.starting.run = true;
                        state.collectives.is_starting = matches!(start, Effect::StartOther(spec) if spec.collectives().is_some());
                    }
                }
                vec![Effect::Forced(start.clone()).into()]
            }
        })
    }
}

/// A run was refused for want of room.
pub fn ask_anyway(state: &mut State, why: String, start: Box<Effect>) -> Vec<Action> {
    state.windows.show_over(ConfirmStart::Crowded { why, start });
    Vec::new()
}

pub fn run(state: &mut State) -> Vec<Action> {
    let State { shared, windows, .. } = state;
    if let Some(problem) = shared.spec.problem() {
        shared.error(format!("cannot start: {problem}"));
    } else if shared.is_starting() {
        shared.inform("a run is starting already: wait until it appears");
    } else if let Some(going) = shared.going() {
        windows.show(ConfirmStart::Beside(going));
    } else {
        return start(shared);
    }
    Vec::new()
}

fn start(shared: &mut Shared) -> Vec<Action> {
    shared.starting.run = true;
    vec![Effect::Start { spec: Box::new(shared.spec.clone()), preset: shared.preset.clone() }.into()]
}
