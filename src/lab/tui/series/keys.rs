//! The keys of the windows of runs that take turns.

use crate::tui::actions::keys;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// What waits will not begin, and what runs is stopped.
    Stop,
    Accept,
    Back,
}

impl keys::Command for Command {}
