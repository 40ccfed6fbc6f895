//! The devices pane's keys: which device and field, in what order, and which of them.
//!
//! Never reads a device.

use super::super::effect::Effect;
use super::super::keymap::Command;
use super::super::mode::Mode;
use super::super::state::State;
use super::command::moved;
use super::typed;

/// Longer filters match nothing that is on the screen.
const LONGEST_FILTER: usize = 40;

pub fn obey(state: &mut State, command: Command) -> Vec<Effect> {
    let view = &mut state.devices;
    match command {
        Command::Left | Command::Right => {
            let fields = view.chosen().map_or(0, |row| row.device.facts().len());
            view.field = moved(view.field, fields, command);
        }
        Command::Sort => view.reorder(),
        Command::Filter => state.mode = Mode::FilterDevices,
        Command::Accept => match view.chosen() {
            Some(_) => state.mode = Mode::Device { scroll: 0 },
            None => state.inform("no device to tell about"),
        },
        _ => {
            let place = moved(view.cursor(), view.rows().len(), command);
            view.choose(place);
        }
    }
    Vec::new()
}

/// While the filter is typed: it works at once.
pub fn filter(state: &mut State, command: Command) -> Vec<Effect> {
    let filter = &mut state.devices.filter;
    match command {
        Command::Accept => return Vec::new(),
        Command::Back => {
            filter.clear();
            return Vec::new();
        }
        command => typed::edit(filter, command, LONGEST_FILTER),
    }
    state.mode = Mode::FilterDevices;
    Vec::new()
}
