//! The keys of the window of the collectives.

use crossterm::event::KeyCode as K;

use crate::tui::actions::keys::On::{Char, Code, Ctrl};
use crate::tui::actions::keys::{self, Binding, DOWN, ENTER, LEFT, Move, RIGHT, SPACE, UP, row};

use Command as C;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Left and right turn to another view, up and down show other ranks or methods.
    Move(Move),
    Play,
    /// A message of the log, or a size of the chart.
    Forwards,
    Backwards,
    RoundForwards,
    RoundBackwards,
    Start,
    End,
    Faster,
    Slower,
    NextMethod,
    PreviousMethod,
    /// Opens the form of the next run.
    Measure,
    /// Starts it.
    StartRun,
    /// Stops the run that is going (asks first).
    Stop,
    Back,
}

impl keys::Command for Command {
    fn movement(self) -> Option<Move> {
        if let Command::Move(by) = self { Some(by) } else { None }
    }
}

/// While messages are played.
pub static PLAYER: &[Binding<Command>] = &[
    row(SPACE, C::Play, "Space", "play", "").ranked(0),
    row(&[Char(',')], C::Backwards, ", .", "step", "").ranked(1),
    row(&[Char('.')], C::Forwards, "", "", ""),
    row(&[Char('<')], C::RoundBackwards, "< >", "round", "").ranked(2),
    row(&[Char('>')], C::RoundForwards, "", "", ""),
    row(&[Char('{'), Code(K::Home)], C::Start, "{ }", "ends", "").ranked(6),
    row(&[Char('}'), Code(K::End)], C::End, "", "", ""),
    row(&[Char('+'), Char('=')], C::Faster, "+ -", "speed", "").ranked(4),
    row(&[Char('-'), Char('_')], C::Slower, "", "", ""),
    row(&[Code(K::Tab)], C::NextMethod, "Tab", "method", "").ranked(3),
    row(&[Code(K::BackTab)], C::PreviousMethod, "", "", ""),
    row(LEFT, C::Move(Move::Left), "←→", "view", "").ranked(1),
    row(RIGHT, C::Move(Move::Right), "", "", ""),
    row(UP, C::Move(Move::Up), "", "", ""),
    row(DOWN, C::Move(Move::Down), "", "", ""),
    row(ENTER, C::Measure, "Enter", "measure", "").ranked(2),
    row(&[Char('x')], C::Stop, "x", "stop", "").ranked(0),
    row(&[Code(K::Esc), Char('C'), Char('q'), Ctrl('c')], C::Back, "Esc", "close", "").ranked(0),
];

/// While a chart is shown.
pub static CHART: &[Binding<Command>] = &[
    row(&[Char(',')], C::Backwards, ", .", "size", "").ranked(1),
    row(&[Char('.')], C::Forwards, "", "", ""),
    row(&[Code(K::Home)], C::Start, "", "", ""),
    row(&[Code(K::End)], C::End, "", "", ""),
    row(LEFT, C::Move(Move::Left), "←→", "view", "").ranked(1),
    row(RIGHT, C::Move(Move::Right), "", "", ""),
    row(UP, C::Move(Move::Up), "", "", ""),
    row(DOWN, C::Move(Move::Down), "", "", ""),
    row(ENTER, C::Measure, "Enter", "measure", "").ranked(2),
    row(&[Char('x')], C::Stop, "x", "stop", "").ranked(0),
    row(&[Code(K::Esc), Char('C'), Char('q'), Ctrl('c')], C::Back, "Esc", "close", "").ranked(0),
];

/// In the form of the next run.
pub static FORM: &[Binding<Command>] = &[
    row(ENTER, C::StartRun, "Enter", "start", "").ranked(0),
    row(&[Char('x')], C::Stop, "x", "stop", "").ranked(0),
    row(LEFT, C::Move(Move::Left), "←→", "change", "").ranked(1),
    row(RIGHT, C::Move(Move::Right), "", "", ""),
    row(SPACE, C::Play, "Space", "on/off", "").ranked(2),
    row(UP, C::Move(Move::Up), "↑↓", "setting", "").ranked(1),
    row(DOWN, C::Move(Move::Down), "", "", ""),
    row(&[Code(K::Home)], C::Move(Move::First), "", "", ""),
    row(&[Code(K::End)], C::Move(Move::Last), "", "", ""),
    row(&[Code(K::Esc), Char('q'), Ctrl('c')], C::Back, "Esc", "back", "").ranked(0),
];
