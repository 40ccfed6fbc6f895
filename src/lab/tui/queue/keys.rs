//! The keys of the queue.

use crate::tui::actions::keys;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Back,
}

impl keys::Command for Command {}
