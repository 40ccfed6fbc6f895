//! The keys of the player, before those of the panes. h and l still turn the tabs of the log.

use crossterm::event::KeyCode as K;

use crate::runs::recording::PlayerOrder;
use crate::tui::actions::keys::On::{Char, Code};
use crate::tui::actions::keys::{self, Binding, row};

/// An order to the player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command(pub PlayerOrder);

impl keys::Command for Command {}

use PlayerOrder as P;

pub static KEYS: &[Binding<Command>] = &[
    row(&[Char(' ')], Command(P::Pause), "Space", "pause", "pause, or go on"),
    row(&[Code(K::Left)], Command(P::Seek(-5)), "←→", "seek", "five seconds back or forwards"),
    row(&[Code(K::Right)], Command(P::Seek(5)), "", "", ""),
    row(&[Code(K::Home)], Command(P::ToStart), "Home", "", "from the start; End to the end"),
    row(&[Code(K::End)], Command(P::ToEnd), "", "", ""),
    row(&[Char('+'), Char('=')], Command(P::Faster), "+ -", "speed", "faster or slower"),
    row(&[Char('-'), Char('_')], Command(P::Slower), "", "", ""),
];
