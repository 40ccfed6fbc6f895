//! Rows of key tables: what a key asks for, and the words that footer and help show.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

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

/// What a feature's keys ask for.
pub trait Command: Copy + PartialEq + std::fmt::Debug + 'static {
    /// The command of a row on [`On::Text`], with the character that was typed.
    fn typed(self, _c: char) -> Self {
        self
    }

    /// The command of a row on [`On::Digit`], with the step of that digit.
    fn of_step(self, _step: Step) -> Self {
        self
    }

    /// Where it moves something, whatever that is.
    fn movement(self) -> Option<Move> {
        None
    }
}

/// [`Command`] for an enum of a pane's commands with the variants `Move(Move)` and `Type(Typing)`.
macro_rules! moves_and_types {
    ($command:ident) => {
        impl $crate::tui::actions::keys::Command for $command {
            fn typed(self, c: char) -> $command {
                if let $command::Type(typing) = self { $command::Type(typing.typed(c)) } else { self }
            }

            fn movement(self) -> Option<Move> {
                if let $command::Move(by) = self { Some(by) } else { None }
            }
        }
    };
}

pub(crate) use moves_and_types;

/// Keys, and what they ask for.
#[derive(Clone, Copy, Debug)]
pub struct Binding<C> {
    pub on: &'static [On],
    pub command: C,
    /// The key as footer and help name it.
    pub key: &'static str,
    /// A word or two for the footer; empty keeps it out of the footer.
    pub label: &'static str,
    /// What it does, for the help; empty keeps it out of the help.
    pub help: &'static str,
    /// Where not all have room, the lowest stay longest in the footer; else by the place of the row.
    pub rank: Option<u8>,
}

pub const fn row<C: Copy>(
    on: &'static [On],
    command: C,
    key: &'static str,
    label: &'static str,
    help: &'static str,
) -> Binding<C> {
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

impl<C: Copy> Binding<C> {
    pub const fn ranked(self, rank: u8) -> Binding<C> {
        Binding { rank: Some(rank), ..self }
    }

    /// The same row with its command as one of a wider kind.
    pub fn wrapped<D: From<C>>(&self) -> Binding<D> {
        let Binding { on, command, key, label, help, rank } = *self;
        Binding { on, command: command.into(), key, label, help, rank }
    }
}

impl<C: Command> Binding<C> {
    /// What `key` asks for, if it is one of these.
    pub fn command_of(&self, key: KeyEvent) -> Option<C> {
        self.on.iter().find_map(|on| on.matches(key, self.command))
    }
}

impl On {
    fn matches<C: Command>(self, key: KeyEvent, command: C) -> Option<C> {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let plain = !ctrl && !key.modifiers.contains(KeyModifiers::ALT);
        match (self, key.code) {
            (On::Code(code), pressed) => (code == pressed).then_some(command),
            (On::Char(c), KeyCode::Char(pressed)) => (plain && c == pressed).then_some(command),
            (On::Ctrl(c), KeyCode::Char(pressed)) => (ctrl && c == pressed).then_some(command),
            (On::Text, KeyCode::Char(c)) if plain => Some(command.typed(c)),
            (On::Digit, KeyCode::Char(c)) if plain => {
                let digit = c.to_digit(10)? as usize;
                Step::from_number(if digit == 0 { 10 } else { digit }).map(|step| command.of_step(step))
            }
            _ => None,
        }
    }
}

/// Movements that most places know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    First,
    Last,
}

/// Places of one page in a table.
const PAGE: usize = 10;

impl Move {
    /// The place after a movement in a list of `len`, which ends at both ends.
    pub fn within(self, place: usize, len: usize) -> usize {
        let last = len.saturating_sub(1);
        match self {
            Move::Up | Move::Left => place.saturating_sub(1),
            Move::Down | Move::Right => (place + 1).min(last),
            Move::PageUp => place.saturating_sub(PAGE),
            Move::PageDown => (place + PAGE).min(last),
            Move::First => 0,
            Move::Last => last,
        }
    }
}

/// One key into a line that is being typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typing {
    Insert(char),
    Erase,
    Clear,
}

impl Typing {
    /// The line takes at most `longest` characters.
    pub fn into(self, text: &mut String, longest: usize) {
        match self {
            Typing::Insert(c) if text.chars().count() < longest && !c.is_control() => text.push(c),
            Typing::Insert(_) => {}
            Typing::Erase => {
                text.pop();
            }
            Typing::Clear => text.clear(),
        }
    }

    /// The same key with the character that was typed.
    pub fn typed(self, c: char) -> Typing {
        match self {
            Typing::Insert(_) => Typing::Insert(c),
            other => other,
        }
    }
}
