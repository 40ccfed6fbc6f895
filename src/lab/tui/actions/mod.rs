//! Requests of features as data, and the names of keys, commands and panes.

pub mod action;
pub mod change;
pub mod command;
pub mod effect;
pub mod keys;
pub mod news;
pub mod pane;

pub use action::Action;
pub use change::{Change, Changed, Undo};
pub use command::{Command, Direction, Move, Prompt, Typing, cycle};
pub use effect::Effect;
pub use keys::{BACKSPACE, Binding, DOWN, ENTER, ESCAPE, LEFT, On, RIGHT, UP, row};
pub use news::News;
pub use pane::Pane;
