//! Requests of features as data, and the names of keys, commands and panes.
//!
//! A key becomes a [`Command`]. The feature that it belongs to answers with [`Action`]s. `app::dispatch` does those that change the screen;
//! what is to be done outside of it is an [`Effect`], which the application hands to the runner, and the runner answers by a message.

pub mod action;
pub mod change;
pub mod command;
pub mod effect;
pub mod keys;
pub mod news;
pub mod pane;

pub use action::Action;
pub use change::{Change, Changed, Undo};
pub use command::{Command, Move, Prompt, Typing, cycle};
pub use effect::{Effect, TerminalOrder};
pub use keys::{BACKSPACE, Binding, ENDS, ENTER, ESCAPE, LEFT_RIGHT, LIST, On, PAGES, UP_DOWN, row};
pub use news::ExerciseNews;
pub use pane::Pane;
