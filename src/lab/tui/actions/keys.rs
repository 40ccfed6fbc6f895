//! Rows of key tables: what a key asks for, and the words that footer and help show.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::command::Command;
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

pub const UP: &[On] = &[On::Code(KeyCode::Up), On::Char('k')];
pub const DOWN: &[On] = &[On::Code(KeyCode::Down), On::Char('j')];
pub const LEFT: &[On] = &[On::Code(KeyCode::Left), On::Char('h')];
pub const RIGHT: &[On] = &[On::Code(KeyCode::Right), On::Char('l')];
pub const ENTER: &[On] = &[On::Code(KeyCode::Enter)];
pub const SPACE: &[On] = &[On::Char(' ')];
pub const ESCAPE: &[On] = &[On::Code(KeyCode::Esc)];
pub const BACKSPACE: &[On] = &[On::Code(KeyCode::Backspace)];

impl Binding {
    pub const fn ranked(self, rank: u8) -> Binding {
        Binding { rank: Some(rank), ..self }
    }

    /// What `key` asks for, if it is one of these.
    pub fn command_of(&self, key: KeyEvent) -> Option<Command> {
        self.on.iter().find_map(|on| on.matches(key, self.command))
    }
}

impl On {
    fn matches(self, key: KeyEvent, command: Command) -> Option<Command> {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let plain = !ctrl && !key.modifiers.contains(KeyModifiers::ALT);
        match (self, key.code) {
            (On::Code(code), pressed) => (code == pressed).then_some(command),
            (On::Char(c), KeyCode::Char(pressed)) => (plain && c == pressed).then_some(command),
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
