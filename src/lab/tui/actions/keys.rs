//! Rows of key tables: what a key asks for, and the words that footer and help show.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use self::On::{Char, Code};
use super::command::{Command, Move};
use crate::domain::step::Step;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Code(KeyCode),
    Char(char),
    Ctrl(char),
    /// 1 to 9 and 0, for the ten steps.
    Digit,
    /// Any character, for typing.
    Text,
}

/// Keys, and what they ask for.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    pub on: &'static [On],
    pub command: Command,
    /// The key as footer and help name it.
    pub key: &'static str,
    /// A word or two for the footer; empty keeps it out of the footer.
    pub label: &'static str,
    /// What it does, for the help; empty keeps it out of the help.
    pub help: &'static str,
    /// Where not all have room, the lowest stay longest in the footer; else by the place of the row.
    pub rank: Option<u8>,
}

pub const fn row(on: &'static [On], command: Command, key: &'static str, label: &'static str, help: &'static str) -> Binding {
    Binding { on, command, key, label, help, rank: None }
}

pub const ENTER: &[On] = &[Code(KeyCode::Enter)];
pub const SPACE: &[On] = &[Char(' ')];
pub const ESCAPE: &[On] = &[Code(KeyCode::Esc)];
pub const BACKSPACE: &[On] = &[Code(KeyCode::Backspace)];

/// Keys of one row whose command is a movement: each moves the way that it points.
pub const LEFT_RIGHT: &[On] = &[Code(KeyCode::Left), Char('h'), Code(KeyCode::Right), Char('l')];
pub const UP_DOWN: &[On] = &[Code(KeyCode::Up), Char('k'), Code(KeyCode::Down), Char('j')];
pub const PAGES: &[On] = &[Code(KeyCode::PageUp), Code(KeyCode::PageDown)];
pub const ENDS: &[On] = &[Code(KeyCode::Home), Code(KeyCode::End)];
/// As above, through a list and to its ends.
pub const LIST: &[On] = &[Code(KeyCode::Up), Char('k'), Code(KeyCode::Down), Char('j'), Code(KeyCode::Home), Code(KeyCode::End)];

impl Binding {
    pub const fn ranked(self, rank: u8) -> Binding {
        Binding { rank: Some(rank), ..self }
    }

    /// What one of its keys asks for.
    pub fn command_on(&self, on: On) -> Option<Command> {
        self.on.contains(&on).then(|| self.command.towards(on.way()))
    }

    /// What `key` asks for, if it is one of these.
    pub fn command_of(&self, key: KeyEvent) -> Option<Command> {
        self.on.iter().find_map(|on| on.matches(key, self.command))
    }
}

impl On {
    /// The way that a key points.
    fn way(self) -> Option<Move> {
        Some(match self {
            Code(KeyCode::Up) | Char('k') => Move::Up,
            Code(KeyCode::Down) | Char('j') => Move::Down,
            Code(KeyCode::Left) | Char('h') => Move::Left,
            Code(KeyCode::Right) | Char('l') => Move::Right,
            Code(KeyCode::PageUp) => Move::PageUp,
            Code(KeyCode::PageDown) => Move::PageDown,
            Code(KeyCode::Home) => Move::First,
            Code(KeyCode::End) => Move::Last,
            _ => return None,
        })
    }

    fn matches(self, key: KeyEvent, command: Command) -> Option<Command> {
        let command = command.towards(self.way());
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let plain = !ctrl && !key.modifiers.contains(KeyModifiers::ALT);
        match (self, key.code) {
            (Code(code), pressed) => (code == pressed).then_some(command),
            (Char(c), KeyCode::Char(pressed)) => (plain && c == pressed).then_some(command),
            (On::Ctrl(c), KeyCode::Char(pressed)) => (ctrl && c == pressed).then_some(command),
            (On::Text, KeyCode::Char(c)) if plain => Some(command.typed(c)),
            (On::Digit, KeyCode::Char(c)) if plain => {
                let digit = c.to_digit(10)? as usize;
                Step::from_number(if digit == 0 { 10 } else { digit }).map(Command::ToggleStep)
            }
            _ => None,
        }
    }
}
