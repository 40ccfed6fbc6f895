//! What the keys of the devices do: which device and field, in what order, and which of them.

use super::details::Details;
use super::filter::DeviceFilter;
use super::state::Beside;
use crate::tui::actions::{Action, Command, Move};
use crate::tui::state::State;
use crate::tui::state::typed_line::TypedLine;

pub fn update(state: &mut State, command: Command) -> Vec<Action> {
    let State { devices, shared, windows, .. } = state;
    match command {
        Command::Move(by @ (Move::Left | Move::Right)) => {
            let fields = devices.chosen().map_or(0, |row| row.device.facts().len());
            devices.field = by.within(devices.field, fields);
        }
        Command::Move(by) => {
            let place = by.within(devices.cursor(), devices.rows().len());
            devices.choose(place);
        }
        Command::Sort => devices.reorder(),
        Command::Beside => {
            let load = devices.chosen().map_or("GPU-Util", |row| row.device.load_name());
            let (next, said) = match devices.beside {
                None => (Some(Beside::Memory), format!("graphs show memory, beside {load} where both have room")),
                Some(Beside::Memory) => (Some(Beside::Power), format!("graphs show power, beside {load} where both have room")),
                Some(Beside::Power) => (None, format!("graphs show {load}")),
            };
            devices.beside = next;
            shared.inform(said);
        }
        Command::Filter => windows.show(TypedLine::new(DeviceFilter, devices.filter.clone())),
        Command::Accept => match devices.chosen() {
            Some(_) => windows.show(Details),
            None => shared.inform("no device to show"),
        },
        _ => {}
    }
    Vec::new()
}
