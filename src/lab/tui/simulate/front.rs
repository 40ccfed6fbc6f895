//! The simulation in front of the panes.

use crossterm::event::KeyCode as K;

use super::draw::lines;
use super::keys::Command;
use super::state::Simulate;
use super::update;
use super::windows::Simulator;
use crate::tui::actions::action::Action;
use crate::tui::actions::keys::On::{Char, Code, Ctrl};
use crate::tui::actions::keys::{Binding, DOWN, LEFT, Move, RIGHT, UP, row};
use crate::tui::shared::state::Shared;
use crate::tui::window::{Page, View, Window};

static KEYS: &[Binding<Command>] = &[
    row(UP, Command::Move(Move::Up), "↑↓", "choose", "").ranked(1),
    row(DOWN, Command::Move(Move::Down), "", "", ""),
    row(LEFT, Command::Lower, "←→", "change", "").ranked(0),
    row(RIGHT, Command::Higher, "", "", ""),
    row(&[Code(K::Tab), Code(K::Enter)], Command::Turn, "Tab", "table or chart", "").ranked(1),
    row(&[Code(K::Home)], Command::Move(Move::First), "", "", ""),
    row(&[Code(K::End)], Command::Move(Move::Last), "", "", ""),
    row(&[Code(K::Esc), Char('U'), Char('q'), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
];

impl Window for Simulator {
    type Feature = Simulate;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![KEYS]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        KEYS
    }

    fn view(&self, _: &Simulate, shared: &Shared, columns: u16) -> Option<View> {
        Some(Page::view("Simulated: what more GPUs would give", columns, 110, |width| lines(self, shared.theme, width)))
    }

    fn update(self, feature: &mut Simulate, shared: &mut Shared, command: Command) -> Vec<Action> {
        update::simulator(self, feature, shared, command)
    }
}
