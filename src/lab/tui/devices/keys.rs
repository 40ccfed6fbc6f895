//! The keys of the devices.

use crate::tui::actions::On::Char;
use crate::tui::actions::{Binding, Command as C, ENTER, LEFT_RIGHT, LIST, Move, PAGES, row};

pub static KEYS: &[Binding] = &[
    row(LIST, C::Move(Move::Up), "↑↓", "choose", "choose a device"),
    row(LEFT_RIGHT, C::Move(Move::Left), "←→", "field", "choose a figure: its value, or why there is none").ranked(2),
    row(ENTER, C::Accept, "Enter", "details", "all figures of the device, or why they are missing").ranked(2),
    row(&[Char('s')], C::Sort, "s", "sort", "order by index, load, memory, power, temperature").ranked(2),
    row(&[Char('M')], C::Beside, "M", "graph", "graphs show GPU-Util alone, with memory, with power"),
    row(&[Char('/')], C::Filter, "/", "filter", "show only devices, ranks or processes with this text").ranked(2),
    row(PAGES, C::Move(Move::PageUp), "", "", ""),
];
