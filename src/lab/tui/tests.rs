//! The screen as a whole: what keys do, what every pane looks like, and that no size or key makes it fall.

mod benchmarks;
mod clicks;
mod footer;
mod gain;
mod glance;
mod keys;
mod lecture;
pub mod looks;
pub mod mouse;
mod named_keys;
mod notices;
mod panic;
mod pictures;
mod preferences;
mod room;
mod scale;
mod states;
mod sweep;
mod tables;
mod themes;
mod wide;

use crate::tui::actions::{Effect, Pane};
use crate::tui::app::{places, windows};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::Backend;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::update::update;
use crate::tui::app::view;
use crate::tui::message::Message;
use crate::tui::state::State;

pub fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

pub fn press(state: &mut State, code: KeyCode) -> Vec<Effect> {
    update(state, Message::Key(key(code)))
}

/// Types characters, one key each; returns what the last one asked for.
pub fn type_text(state: &mut State, text: &str) -> Vec<Effect> {
    text.chars().map(|c| press(state, KeyCode::Char(c))).last().unwrap_or_default()
}

pub fn picture(state: &State, width: u16, height: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view::draw(frame, state)).unwrap();
    terminal
}

pub fn text(state: &State, width: u16, height: u16) -> String {
    picture(state, width, height).backend().to_string()
}

/// One pane as it lies on a screen of this size, without what is around it.
pub fn pane(state: &State, pane: Pane, width: u16, height: u16) -> String {
    let places = places::in_area(state, Rect::new(0, 0, width, height)).unwrap();
    let (_, place) = *places.panes.iter().find(|(shown, _)| *shown == pane).unwrap();
    let mut terminal = Terminal::new(TestBackend::new(place.width, place.height)).unwrap();
    terminal.draw(|frame| view::draw_pane(frame, frame.area(), pane, state, places.turns)).unwrap();
    terminal.backend().to_string()
}

/// The window in front, without what is behind it.
pub fn window(state: &State, width: u16, height: u16) -> String {
    let place = windows::place(state, Rect::new(0, 0, width, height)).unwrap();
    cut_out(state, place, width, height)
}

/// A part of the whole screen.
pub fn cut_out(state: &State, place: Rect, width: u16, height: u16) -> String {
    let terminal = picture(state, width, height);
    let mut part = Buffer::empty(Rect::new(0, 0, place.width, place.height));
    for (to, from) in part.area.positions().zip(place.positions()) {
        part[to] = terminal.backend().buffer()[from].clone();
    }
    let mut backend = TestBackend::new(place.width, place.height);
    backend.draw(part.area.positions().map(|at| (at.x, at.y, &part[at]))).unwrap();
    backend.to_string()
}
