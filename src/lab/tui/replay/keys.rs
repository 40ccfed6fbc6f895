//! The keys of the player, before those of the panes.

use crate::runs::recording::PlayerOrder;
use crate::tui::actions::command::Command;
use crate::tui::actions::keys::On::Char;
use crate::tui::actions::keys::{Binding, row};

use PlayerOrder as P;

pub static KEYS: &[Binding] = &[
    row(&[Char(' ')], Command::Player(P::Pause), "Space", "pause", "pause, or continue"),
    row(&[Char('<')], Command::Player(P::Seek(-5)), "< >", "seek", "five seconds back or forwards"),
    row(&[Char('>')], Command::Player(P::Seek(5)), "", "", ""),
    row(&[Char('{')], Command::Player(P::ToStart), "{ }", "", "to the start or the end of the recording"),
    row(&[Char('}')], Command::Player(P::ToEnd), "", "", ""),
    row(&[Char('+'), Char('=')], Command::Player(P::Faster), "+ -", "speed", "faster or slower"),
    row(&[Char('-'), Char('_')], Command::Player(P::Slower), "", "", ""),
];
