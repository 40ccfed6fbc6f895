//! The keys of the window of the collectives.

use crate::tui::actions::On::{Char, Code, Ctrl};
use crate::tui::actions::{Binding, Command as C, ENTER, LEFT_RIGHT, LIST, Move, Typing, UP_DOWN, row};
use crossterm::event::KeyCode as K;

use crate::tui::actions::keys::SPACE;

/// Under this title the help lists them.
pub const HELP: &str = "In the window of collectives";

/// While messages are played.
pub static PLAYER: &[Binding] = &[
    row(SPACE, C::Play, "Space", "play", "play the messages, or pause").ranked(0),
    row(&[Char(',')], C::Backwards, ", . < >", "step", "a message back or forwards, < > a round; in a chart , . another size")
        .ranked(1),
    row(&[Char('.')], C::Forwards, "", "", ""),
    row(&[Char('<')], C::RoundBackwards, "", "", ""),
    row(&[Char('>')], C::RoundForwards, "", "", ""),
    row(&[Char('{'), Code(K::Home)], C::Start, "{ }", "ends", "to the first message, or the last").ranked(6),
    row(&[Char('}'), Code(K::End)], C::End, "", "", ""),
    row(&[Char('+'), Char('=')], C::Faster, "+ -", "speed", "play faster or slower").ranked(4),
    row(&[Char('-'), Char('_')], C::Slower, "", "", ""),
    row(&[Code(K::Tab)], C::NextMethod, "Tab", "method", "the next algorithm; Shift-Tab the one before").ranked(2),
    row(&[Code(K::BackTab)], C::PreviousMethod, "", "", ""),
    row(LEFT_RIGHT, C::Move(Move::Left), "←→", "view", "messages, time by size, bus bandwidth by size").ranked(1),
    row(UP_DOWN, C::Move(Move::Up), "↑↓", "", "other ranks or algorithms, where not all have room"),
    row(ENTER, C::Measure, "Enter", "measure", "set up a new run, and measure").ranked(2),
    row(&[Char('x')], C::Stop, "x", "stop", "stop the current run (asks first)").ranked(0),
    row(&[Char('?')], C::Help, "?", "keys", "these keys").ranked(1),
    row(&[Code(K::Esc), Char('C'), Char('q'), Ctrl('c')], C::Back, "Esc", "close", "close the window").ranked(0),
];

/// While a chart is shown.
pub static CHART: &[Binding] = &[
    row(&[Char(',')], C::Backwards, ", .", "size", "").ranked(1),
    row(&[Char('.')], C::Forwards, "", "", ""),
    row(&[Code(K::Home)], C::Start, "", "", ""),
    row(&[Code(K::End)], C::End, "", "", ""),
    row(LEFT_RIGHT, C::Move(Move::Left), "←→", "view", "").ranked(1),
    row(UP_DOWN, C::Move(Move::Up), "", "", ""),
    row(ENTER, C::Measure, "Enter", "measure", "").ranked(2),
    row(&[Char('x')], C::Stop, "x", "stop", "").ranked(0),
    row(&[Char('?')], C::Help, "?", "keys", "").ranked(1),
    row(&[Code(K::Esc), Char('C'), Char('q'), Ctrl('c')], C::Back, "Esc", "close", "").ranked(0),
];

/// In the form of the next run.
pub static FORM: &[Binding] = &[
    row(ENTER, C::StartRun, "Enter", "start", "").ranked(0),
    row(&[Char('x')], C::Stop, "x", "stop", "").ranked(0),
    row(LEFT_RIGHT, C::Move(Move::Left), "←→", "change", "").ranked(1),
    row(SPACE, C::Type(Typing::Insert(' ')), "Space", "on/off", "").ranked(2),
    row(LIST, C::Move(Move::Up), "↑↓", "setting", "").ranked(1),
    row(&[Code(K::Esc), Char('q'), Ctrl('c')], C::Back, "Esc", "back", "").ranked(0),
];
