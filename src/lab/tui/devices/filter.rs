//! The filter of the devices, which works while it is typed.

use crate::tui::actions::Action;
use crate::tui::state::State;
use crate::tui::state::typed_line::{Purpose, ends};
use crate::tui::widgets::Prompt;

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
