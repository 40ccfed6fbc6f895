//! The line that the filter of the devices is typed into: it works at once.

use super::windows::Ask;
use crossterm::event::KeyCode as K;

use super::keys::Command;
use super::state::Devices;
use crate::tui::actions::action::Action;
use crate::tui::actions::keys::On::{Code, Ctrl, Text};
use crate::tui::actions::keys::{BACKSPACE, Binding, ENTER, Typing, row};
use crate::tui::shared::state::Shared;
use crate::tui::widgets::prompt::Prompt;
use crate::tui::window::{View, Window};

/// More finds nothing that is on the screen.
const MOST: usize = 40;

static KEYS: &[Binding<Command>] = &[
    row(ENTER, Command::Accept, "Enter", "apply", ""),
    row(&[Code(K::Esc), Ctrl('c')], Command::Back, "Esc", "cancel", "").ranked(0),
    row(BACKSPACE, Command::Type(Typing::Erase), "", "", ""),
    row(&[Ctrl('u')], Command::Type(Typing::Clear), "Ctrl-U", "clear", ""),
    row(&[Text], Command::Type(Typing::Insert(' ')), "", "", ""),
];

impl Window for Ask {
    type Feature = Devices;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![KEYS]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        KEYS
    }

    fn view(&self, _: &Devices, _: &Shared, _: u16) -> Option<View> {
        Some(View::Line(Prompt {
            label: "Filter devices".into(),
            text: self.text.clone(),
            error: None,
            keys: vec![(Code(K::Enter), "Enter keep".into()), (Code(K::Esc), "Esc show all".into())],
            hint: "GPU 3, rank 2, a pid, a name".into(),
        }))
    }

    fn update(mut self, devices: &mut Devices, _: &mut Shared, command: Command) -> Vec<Action> {
        match command {
            Command::Back => devices.filter.clear(),
            Command::Accept => {}
            command => {
                if let Command::Type(typing) = command {
                    typing.into(&mut self.text, MOST);
                }
                devices.filter.clone_from(&self.text);
                devices.window = Some(self.into());
            }
        }
        Vec::new()
    }
}
