//! The menu of faults in front of the panes.

use crossterm::event::KeyCode as K;

use super::draw::lines;
use super::keys::Command;
use super::state::Faults;
use super::update;
use super::windows::Menu;
use crate::runs::RunId;
use crate::tui::actions::action::Action;
use crate::tui::actions::keys::On::{Char, Code, Ctrl};
use crate::tui::actions::keys::{Binding, DOWN, ENTER, LEFT, Move, RIGHT, UP, row};
use crate::tui::shared::state::Shared;
use crate::tui::window::{Page, View, Window};

static MENU: &[Binding<Command>] = &[
    row(ENTER, Command::Make, "Enter", "make it", "").ranked(0),
    row(UP, Command::Move(Move::Up), "↑↓", "choose", "").ranked(1),
    row(DOWN, Command::Move(Move::Down), "", "", ""),
    row(LEFT, Command::LowerRank, "←→", "rank", "").ranked(1),
    row(RIGHT, Command::HigherRank, "", "", ""),
    row(&[Code(K::Home)], Command::Move(Move::First), "", "", ""),
    row(&[Code(K::End)], Command::Move(Move::Last), "", "", ""),
    row(&[Code(K::Esc), Char('F'), Char('q'), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
];

impl Window for Menu {
    type Feature = Faults;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![MENU]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        MENU
    }

    fn view(&self, _: &Faults, shared: &Shared, columns: u16) -> Option<View> {
        let title = format!("Make a fault in run {}", self.run);
        Some(Page::view(title, columns, 92, |width| lines(self, shared, width)))
    }

    fn update(self, faults: &mut Faults, shared: &mut Shared, command: Command) -> Vec<Action> {
        update::menu(self, faults, shared, command)
    }

    fn run(&self) -> Option<RunId> {
        Some(self.run)
    }
}
