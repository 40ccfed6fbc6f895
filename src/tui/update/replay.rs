//! What a recording changes on the screen as it is played, and what its keys ask for.
//!
//! Never lets anything begin, end or be written: a replay is to be looked at.

use super::super::effect::Effect;
use super::super::keymap::Command;
use super::super::message::Message;
use super::super::replay::{ReplayStep, refuses};
use super::super::state::State;
use super::super::watched::Watched;
use super::{follow, log, update};
use crate::domain::run::RunState;
use crate::runs::RunUpdate;

/// `None` where a replay is as any other screen.
pub fn obey(state: &mut State, command: Command) -> Option<Vec<Effect>> {
    state.replay.as_ref()?;
    match command {
        Command::Player(order) => return Some(vec![Effect::Player(order)]),
        Command::Quit => state.done = true,
        command if refuses(command) => {
            state.inform("this is a recording: nothing starts or stops here. q leaves it, and `hvd-lab` runs your own");
        }
        _ => return None,
    }
    Some(Vec::new())
}

/// Takes what happened since the last step.
pub fn take(state: &mut State, step: ReplayStep) -> Vec<Effect> {
    let Some(replay) = &mut state.replay else { return Vec::new() };
    replay.position = step.position;
    let run = replay.run;
    state.now_s = step.position.time_s;
    let is_watched = state.watched.as_ref().is_some_and(|watched| watched.id == run);
    if step.played.rewound {
        state.devices.rewind();
    }
    if step.played.rewound && is_watched {
        state.watched = Some(Watched::new(run));
    }
    let mut effects = Vec::new();
    let (samples, updates): (Vec<RunUpdate>, Vec<RunUpdate>) =
        step.played.updates.into_iter().partition(|update| matches!(update, RunUpdate::Telemetry(_)));
    for sample in samples {
        if let RunUpdate::Telemetry(sample) = sample {
            effects.extend(update(state, Message::Telemetry(sample)));
        }
    }
    let ends = updates.iter().any(|update| matches!(update, RunUpdate::Status(status) if status.state.is_over()));
    let begins = updates.iter().any(|update| matches!(update, RunUpdate::Status(status) if status.state == RunState::Running));
    effects.extend(follow(state, run, updates));
    if !is_watched && (ends || begins) {
        effects.push(Effect::ListRuns);
    }
    if is_watched {
        effects.extend(log::read(state, None));
    }
    effects
}
