//! The keys of the devices.

use crossterm::event::KeyCode as K;

use crate::tui::actions::On::{Char, Code};
use crate::tui::actions::{Binding, Command, DOWN, ENTER, LEFT, Move, RIGHT, UP, row};

use Command as C;

pub static KEYS: &[Binding] = &[
    row(UP, C::Move(Move::Up), "↑↓", "choose", "choose a device"),
    row(DOWN, C::Move(Move::Down), "", "", ""),
    row(LEFT, C::Move(Move::Left), "←→", "field", "choose a figure: its value, or why there is none").ranked(2),
    row(RIGHT, C::Move(Move::Right), "", "", ""),
    row(ENTER, C::Accept, "Enter", "details", "all figures of the device, or why they are missing").ranked(2),
    row(&[Char('s')], C::Sort, "s", "sort", "order by index, load, memory, power, temperature").ranked(2),
    row(&[Char('M')], C::Beside, "M", "graph", "graphs show GPU-Util alone, with memory, with power"),
    row(&[Char('/')], C::Filter, "/", "filter", "show only devices, ranks or processes with this text").ranked(2),
    row(&[Code(K::PageUp)], C::Move(Move::PageUp), "", "", ""),
    row(&[Code(K::PageDown)], C::Move(Move::PageDown), "", "", ""),
    row(&[Code(K::Home)], C::Move(Move::First), "", "", ""),
    row(&[Code(K::End)], C::Move(Move::Last), "", "", ""),
];
