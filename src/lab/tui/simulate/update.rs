//! What the keys of the simulation do. It is computed anew at each change: that takes milliseconds.

use super::fields::{FIELDS, Machine};
use super::keys::Command;
use super::state::Simulate;
use super::windows::Simulator;
use crate::tui::actions::action::Action;
use crate::tui::shared::state::Shared;

/// With the machine as it was left.
pub fn open(feature: &mut Simulate, shared: &mut Shared) {
    let machine = feature.machine.clone().unwrap_or_else(Machine::usual);
    // A run that it was measured in may be gone by now.
    let machine = if machine.sources(shared).contains(&machine.source) { machine } else { Machine::usual() };
    let simulated = machine.simulated().map(Box::new);
    feature.window = Some(Simulator { machine, chosen: 0, shows_chart: false, simulated }.into());
}

pub fn simulator(mut window: Simulator, feature: &mut Simulate, shared: &mut Shared, command: Command) -> Vec<Action> {
    match command {
        Command::Back => return Vec::new(),
        Command::Move(by) => window.chosen = by.within(window.chosen, FIELDS.len()),
        Command::Turn => window.shows_chart ^= true,
        Command::Lower | Command::Higher => {
            window.machine.step(FIELDS[window.chosen], command == Command::Higher, shared);
            window.simulated = window.machine.simulated().map(Box::new);
            feature.machine = Some(window.machine.clone());
        }
    }
    feature.window = Some(window.into());
    Vec::new()
}
