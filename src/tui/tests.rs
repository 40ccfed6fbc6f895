//! The screen as a whole: what keys do, what every pane looks like, and that no size or key makes it fall.
//!
//! Never a terminal: `tests/screen.rs` has the real one.

mod charts;
mod clicks;
mod devices;
mod endings;
mod exercise;
mod footer;
mod habits;
mod keys;
mod lessons;
mod log;
mod log_lines;
mod looks;
mod mouse;
mod notices;
mod palette;
mod panic;
mod replay;
mod reset;
mod runs;
mod series;
mod states;
mod sweep;
mod themes;
mod undo;
mod wide;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::effect::Effect;
use super::message::Message;
use super::state::State;
use super::update::update;
use super::view;

fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

fn press(state: &mut State, code: KeyCode) -> Vec<Effect> {
    update(state, Message::Key(key(code)))
}

/// Types characters, one key each; returns what the last one asked for.
fn type_text(state: &mut State, text: &str) -> Vec<Effect> {
    text.chars().map(|c| press(state, KeyCode::Char(c))).last().unwrap_or_default()
}

fn picture(state: &State, width: u16, height: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view::draw(frame, state)).unwrap();
    terminal
}

fn text(state: &State, width: u16, height: u16) -> String {
    picture(state, width, height).backend().to_string()
}
