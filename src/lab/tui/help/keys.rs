//! What the keys of the help and of the palette ask for.

use crate::tui::actions::keys::{self, Move, Typing};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Help: show only what has some words.
    Search,
    /// Palette: another entry.
    Move(Move),
    Type(Typing),
    Accept,
    Back,
}

impl keys::Command for Command {
    fn typed(self, c: char) -> Command {
        if let Command::Type(typing) = self { Command::Type(typing.typed(c)) } else { self }
    }
}
