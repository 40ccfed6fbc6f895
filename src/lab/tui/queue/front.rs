//! The queue in front of the panes.

use crossterm::event::KeyCode as K;

use super::draw::lines;
use super::keys::Command;
use super::state::Queue;
use super::update;
use super::windows::Shown;
use crate::tui::actions::action::Action;
use crate::tui::actions::keys::On::{Char, Code, Ctrl};
use crate::tui::actions::keys::{Binding, row};
use crate::tui::shared::state::Shared;
use crate::tui::window::{Page, View, Window};

static SHOWN: &[Binding<Command>] =
    &[row(&[Code(K::Esc), Char('Q'), Char('q'), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0)];

impl Window for Shown {
    type Feature = Queue;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![SHOWN]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        SHOWN
    }

    fn view(&self, _: &Queue, shared: &Shared, columns: u16) -> Option<View> {
        Some(Page::view("Shared machine", columns, 92, |width| lines(self.machine.as_ref(), shared.theme, width)))
    }

    fn update(self, _: &mut Queue, _: &mut Shared, command: Command) -> Vec<Action> {
        update::shown(command)
    }

    fn scroll(&self) -> Option<usize> {
        Some(self.scroll)
    }

    fn scroll_to(&mut self, line: usize) {
        self.scroll = line;
    }
}
