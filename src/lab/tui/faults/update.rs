//! What the keys of the menu of faults do.
//!
//! Never makes a fault: the supervisor of the run does, and its record says what came of it.

use super::keys::Command;
use super::state::Faults;
use super::windows::Menu;
use crate::domain::fault::{DEFAULT_SECONDS, FaultKind, FaultRequest};
use crate::domain::run::RunState;
use crate::tui::actions::action::Action;
use crate::tui::actions::effect::Effect;
use crate::tui::shared::state::Shared;

/// For the run that is going: the one on the screen, if that is.
pub fn open(faults: &mut Faults, shared: &mut Shared) {
    let watched = shared.watched.as_ref().filter(|watched| watched.is_going()).map(|watched| watched.id);
    let run = watched.or(shared.going()).and_then(|run| shared.summary(run));
    match run.and_then(|run| Some((run.id, run.record.as_ref()?.np()))) {
        Some((run, np)) => faults.window = Some(Menu { run, np, chosen: 0, rank: FaultKind::ALL[0].victim(None, np) }.into()),
        None => shared.inform("a fault is made in a run that is going: r starts one"),
    }
}

pub fn menu(mut menu: Menu, faults: &mut Faults, shared: &mut Shared, command: Command) -> Vec<Action> {
    let mut actions = Vec::new();
    match command {
        Command::Back => return Vec::new(),
        Command::Move(by) => menu.chosen = by.within(menu.chosen, FaultKind::ALL.len()),
        Command::LowerRank => menu.rank = menu.rank.saturating_sub(1),
        Command::HigherRank => menu.rank = (menu.rank + 1).min(menu.np - 1),
        Command::Make => actions = make(&menu, shared),
    }
    faults.window = Some(menu.into());
    actions
}

fn make(menu: &Menu, shared: &mut Shared) -> Vec<Action> {
    let kind = FaultKind::ALL[menu.chosen];
    let state = shared.summary(menu.run).map(|run| run.status.state);
    if state.is_none_or(RunState::is_over) {
        shared.inform(format!("run {} is over: r starts another one", menu.run));
        return Vec::new();
    }
    if kind.needs_two() && menu.np < 2 {
        shared.inform(format!("{kind} needs a run on two ranks or more, and this one has one"));
        return Vec::new();
    }
    let request = FaultRequest { kind, process: kind.victim(Some(menu.rank), menu.np), seconds: DEFAULT_SECONDS };
    vec![Effect::MakeFault(menu.run, request).into()]
}
