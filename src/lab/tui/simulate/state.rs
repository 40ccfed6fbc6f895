//! What the screen remembers of simulations: the last machine.

use super::fields::Machine;
use super::windows::Window;
use crate::tui::window::opens;

#[derive(Clone, Debug, Default)]
pub struct Simulate {
    pub machine: Option<Machine>,
    pub window: Option<Window>,
}

opens!(Simulate, Window);
