//! What the keys of the devices do: which device and field, in what order, and which of them.

use super::keys::Command;
use super::state::{Beside, Devices};
use super::windows::{Ask, Details};
use crate::tui::actions::keys::Move;
use crate::tui::shared::state::Shared;

pub fn update(devices: &mut Devices, shared: &mut Shared, command: Command) {
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
        Command::Filter => devices.window = Some(Ask { text: devices.filter.clone() }.into()),
        Command::Accept => match devices.chosen() {
            Some(_) => devices.window = Some(Details { scroll: 0 }.into()),
            None => shared.inform("no device to show"),
        },
        Command::Type(_) | Command::Back => {}
    }
}
