//! The keys of the menu of faults.

use crate::tui::actions::keys::{self, Move};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// To another fault.
    Move(Move),
    /// The rank that it is made in.
    LowerRank,
    HigherRank,
    Make,
    Back,
}

impl keys::Command for Command {
    fn movement(self) -> Option<Move> {
        if let Command::Move(by) = self { Some(by) } else { None }
    }
}
