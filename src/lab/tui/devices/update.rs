//! What the keys of the devices do: which device and field, in what order, and which of them.

use super::details::Details;
use super::state::BESIDE;
use crate::tui::actions::{Action, Command, Move};
use crate::tui::state::State;
use crate::tui::state::typed_line::{Purpose, TypedLine, ends};
use crate::tui::widgets::Prompt;

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
            let next = devices.beside.map_or(0, |beside| beside + 1);
            devices.beside = (next < BESIDE.len()).then_some(next);
            shared.inform(match devices.beside {
                Some(beside) => format!("graphs show {}, beside {load} where both have room", BESIDE[beside].0),
                None => format!("graphs show {load}"),
            });
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

/// The filter of the devices, which works while it is typed.
#[derive(Clone, Debug)]
pub struct DeviceFilter;

impl Purpose for DeviceFilter {
    const LONGEST: usize = 40;

    fn prompt(&self, _: &State, _: &str) -> Prompt {
        let (label, hint) = ("Filter devices".into(), "GPU 3, rank 2, a pid, a name".into());
        Prompt { label, keys: ends("keep", "show all"), hint, ..Prompt::default() }
    }

    fn typed(&mut self, state: &mut State, text: &str) -> Result<Vec<Action>, String> {
        text.clone_into(&mut state.devices.filter);
        Ok(Vec::new())
    }

    fn cancel(&mut self, state: &mut State) -> Vec<Action> {
        state.devices.filter.clear();
        Vec::new()
    }
}
