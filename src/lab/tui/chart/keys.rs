//! The keys of the chart.

use crossterm::event::KeyCode as K;

use crate::tui::actions::On::{Char, Code};
use crate::tui::actions::{Binding, Command as C, ENDS, LEFT_RIGHT, Move, PAGES, row};

pub static KEYS: &[Binding] = &[
    row(LEFT_RIGHT, C::Move(Move::Left), "←→", "graph", "loss, accuracy, learning rate, images/s, step timeline").ranked(2),
    row(&[Char('L')], C::LogScale, "L", "log", "logarithmic or linear scale"),
    row(&[Char('t')], C::Along, "t", "x axis", "by epoch, by step or by time").ranked(2),
    row(&[Char(']'), Code(K::Up), Char('k')], C::ZoomIn, "[ ]", "zoom", "zoom out and in, also with ↓ and ↑").ranked(2),
    row(&[Char('['), Code(K::Down), Char('j')], C::ZoomOut, "", "", ""),
    row(&[Char(',')], C::CursorLeft, ", .", "cursor", "cursor that reads values; in the timeline another epoch").ranked(2),
    row(&[Char('.')], C::CursorRight, "", "", ""),
    row(PAGES, C::Move(Move::PageUp), "PgUp", "", "cursor ten places to the left; PgDn to the right"),
    row(ENDS, C::Move(Move::First), "Home", "", "cursor to the start; End to the newest value"),
    row(&[Char('f')], C::Fit, "f", "whole", "show everything again, without the cursor"),
    row(&[Char('p')], C::Pin, "p", "pin", "pin the chosen run in the chart, or unpin it"),
];
