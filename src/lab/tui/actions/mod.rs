//! What features ask for, as data: of the world, of the application, of each other. And how they name keys and panes.

pub mod action;
pub mod change;
pub mod command;
pub mod effect;
pub mod keys;
pub mod news;
pub mod pane;
