//! The keys of the simulation.

use crate::tui::actions::keys::{self, Move};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// To another setting.
    Move(Move),
    /// The setting's value before, or the next.
    Lower,
    Higher,
    /// The table or the chart.
    Turn,
    Back,
}

impl keys::Command for Command {
    fn movement(self) -> Option<Move> {
        if let Command::Move(by) = self { Some(by) } else { None }
    }
}
