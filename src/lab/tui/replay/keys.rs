//! The keys of the player, before those of the panes.

use crate::runs::recording::PlayerOrder;
use crate::tui::actions::keys::On::Char;
use crate::tui::actions::keys::{self, Binding, row};

/// An order to the player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command(pub PlayerOrder);

impl keys::Command for Command {}

use PlayerOrder as P;

pub static KEYS: &[Binding<Command>] = &[
    row(&[Char(' ')], Command(P::Pause), "Space", "pause", "pause, or continue"),
    row(&[Char('<')], Command(P::Seek(-5)), "< >", "seek", "five seconds back or forwards"),
    row(&[Char('>')], Command(P::Seek(5)), "", "", ""),
    row(&[Char('{')], Command(P::ToStart), "{ }", "", "to the start or the end of the recording"),
    row(&[Char('}')], Command(P::ToEnd), "", "", ""),
    row(&[Char('+'), Char('=')], Command(P::Faster), "+ -", "speed", "faster or slower"),
    row(&[Char('-'), Char('_')], Command(P::Slower), "", "", ""),
];
