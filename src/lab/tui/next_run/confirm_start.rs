//! Another run is going: start one beside it?

use super::windows::ConfirmStart;
use crossterm::event::KeyCode as K;

use super::keys::Command;
use super::state::NextRun;
use super::update::start;
use crate::tui::actions::action::Action;
use crate::tui::actions::keys::On::{Char, Code, Ctrl};
use crate::tui::actions::keys::{Binding, row};
use crate::tui::shared::state::Shared;
use crate::tui::window::{Question, View, Window};

static KEYS: &[Binding<Command>] = &[
    row(&[Char('y')], Command::Accept, "y", "start anyway", ""),
    row(&[Code(K::Esc), Char('n'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "wait", "").ranked(0),
];

impl Window for ConfirmStart {
    type Feature = NextRun;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![KEYS]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        KEYS
    }

    fn view(&self, _: &NextRun, _: &Shared, _: u16) -> Option<View> {
        let text = [
            format!("Run {} is still running.", self.going),
            "Two runs share the devices, so you cannot measure the speed of either.".into(),
        ];
        Some(Question::view("Start another run?", text))
    }

    fn update(self, _: &mut NextRun, shared: &mut Shared, command: Command) -> Vec<Action> {
        if command == Command::Accept { start(shared) } else { Vec::new() }
    }
}
