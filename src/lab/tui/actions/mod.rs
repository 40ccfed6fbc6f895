//! Requests of features as data, and the names of keys, commands and panes.
//!
//! A key becomes a [`Command`]. The feature that it belongs to answers with [`Action`]s. `app::dispatch` does those that change the screen;
//! what is to be done outside of it is an [`Effect`], which the application hands to the runner, and the runner answers by a message.

pub mod action;
pub mod command;
pub mod effect;
pub mod keys;
pub mod pane;

pub use crossterm::event::KeyCode as K;

pub use action::Action;
pub use command::{Command, Move, Prompt, Typing, cycle};
pub use effect::{Change, Changed, Effect, ExerciseNews, LogOrder, TerminalOrder};
pub use keys::On::{self, Char, Code, Ctrl, Text};
pub use keys::{BACKSPACE, Binding, ENDS, ENTER, ESCAPE, LEFT_RIGHT, LIST, PAGES, SPACE, UP_DOWN, row};
pub use pane::Pane;
