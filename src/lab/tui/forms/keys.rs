//! The keys of the forms. No letter means anything but itself: folders are typed.

use crossterm::event::KeyCode as K;

use crate::tui::actions::keys::On::{Code, Ctrl, Text};
use crate::tui::actions::keys::{self, BACKSPACE, Binding, ENTER, Move, Typing, row};

use Command as C;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Up and down to another setting, left and right to another value.
    Move(Move),
    /// Into the folder that is chosen.
    Type(Typing),
    /// Starts the run.
    StartRun,
    Back,
}

impl keys::Command for Command {
    fn movement(self) -> Option<Move> {
        if let Command::Move(by) = self { Some(by) } else { None }
    }

    fn typed(self, c: char) -> Command {
        if let Command::Type(typing) = self { Command::Type(typing.typed(c)) } else { self }
    }
}

pub static FORM: &[Binding<Command>] = &[
    row(ENTER, C::StartRun, "Enter", "start", "").ranked(0),
    row(&[Code(K::Left)], C::Move(Move::Left), "←→", "change", "").ranked(1),
    row(&[Code(K::Right)], C::Move(Move::Right), "", "", ""),
    row(&[Code(K::Up)], C::Move(Move::Up), "↑↓", "setting", "").ranked(1),
    row(&[Code(K::Down)], C::Move(Move::Down), "", "", ""),
    row(&[Code(K::Home)], C::Move(Move::First), "", "", ""),
    row(&[Code(K::End)], C::Move(Move::Last), "", "", ""),
    row(BACKSPACE, C::Type(Typing::Erase), "", "", ""),
    row(&[Ctrl('u')], C::Type(Typing::Clear), "", "", ""),
    row(&[Code(K::Esc), Ctrl('c')], C::Back, "Esc", "close", "").ranked(0),
    row(&[Text], C::Type(Typing::Insert(' ')), "", "", ""),
];
