//! The application: it owns the state, dispatches what happens to the features, and puts their panes and windows on the screen.

pub mod clicks;
pub mod dispatch;
pub mod features;
pub mod footer;
pub mod gain;
pub mod hint;
pub mod keymap;
pub mod layout;
mod lecture;
mod meaning;
pub mod places;
pub mod projector;
pub mod screen;
pub mod session;
pub mod start;
pub mod update;
pub mod view;
pub mod windows;
