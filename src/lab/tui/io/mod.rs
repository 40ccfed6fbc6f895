//! Everything outside of the screen's state: the terminal, the threads that read runs, and what effects do.

pub mod change;
pub mod editor;
pub mod exercise;
pub mod followed;
mod out;
pub mod replay_runner;
pub mod reply;
pub mod runner;
pub mod size;
pub mod terminal;
