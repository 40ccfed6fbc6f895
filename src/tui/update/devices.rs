//! The devices pane's keys: which device and field, in what order, and which of them.
//!
//! Never reads a device.

use super::super::ask::Ask;
use super::super::effect::Effect;
use super::super::keymap::Command;
use super::super::mode::Mode;
use super::super::state::State;
use super::ask;
use super::command::moved;

pub fn obey(state: &mut State, command: Command) -> Vec<Effect> {
    let view = &mut state.devices;
    match command {
        Command::Left | Command::Right => {
            let fields = view.chosen().map_or(0, |row| row.device.facts().len());
            view.field = moved(view.field, fields, command);
        }
        Command::Sort => view.reorder(),
        Command::Filter => {
            let text = view.filter.clone();
            ask::open(state, Ask::FilterDevices, text);
        }
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
