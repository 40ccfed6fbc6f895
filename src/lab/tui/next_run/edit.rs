//! A value that is typed in its place among the settings.
//!
//! Never leaves a setting with a value that means nothing.

use super::windows::Edit;
use crossterm::event::KeyCode as K;

use super::keys::Command;
use super::state::NextRun;
use super::update::{data_changed, settings};
use crate::tui::actions::action::Action;
use crate::tui::actions::keys::On::{Code, Ctrl, Text};
use crate::tui::actions::keys::{BACKSPACE, Binding, DOWN, ENTER, Move, Typing, UP, row};
use crate::tui::shared::state::Shared;
use crate::tui::window::{View, Window};

/// Longer than any value.
const MOST: usize = 24;

static KEYS: &[Binding<Command>] = &[
    row(ENTER, Command::Accept, "Enter", "save", "save the typed value"),
    row(&[Code(K::Esc), Ctrl('c')], Command::Back, "Esc", "cancel", "leave the value as it was").ranked(0),
    row(BACKSPACE, Command::Type(Typing::Erase), "", "", ""),
    row(&[Ctrl('u')], Command::Type(Typing::Clear), "Ctrl-U", "clear", "clear the text"),
    row(UP, Command::Move(Move::Up), "", "", ""),
    row(DOWN, Command::Move(Move::Down), "", "", ""),
    row(&[Text], Command::Type(Typing::Insert(' ')), "", "", ""),
];

impl Window for Edit {
    type Feature = NextRun;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![KEYS]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        KEYS
    }

    fn view(&self, _: &NextRun, _: &Shared, _: u16) -> Option<View> {
        Some(View::InPlace)
    }

    fn update(mut self, next_run: &mut NextRun, shared: &mut Shared, command: Command) -> Vec<Action> {
        let before = shared.spec.clone();
        match command {
            Command::Accept | Command::Move(_) => {
                match self.field.parse(&self.text, &mut shared.spec, &mut shared.preset, &shared.presets) {
                    Ok(()) => shared.touched |= shared.spec != before,
                    Err(error) if command == Command::Accept => {
                        next_run.window = Some(Edit { error: Some(error), ..self }.into());
                        return Vec::new();
                    }
                    // Up and down leave the field as well, with the value it had.
                    Err(_) => {}
                }
                if command != Command::Accept {
                    settings(next_run, shared, command);
                }
                return data_changed(shared, &before);
            }
            Command::Type(typing) => {
                if std::mem::take(&mut self.untouched) && matches!(typing, Typing::Insert(_)) {
                    self.text.clear();
                }
                typing.into(&mut self.text, MOST);
            }
            _ => return Vec::new(),
        }
        // Tried on a copy: the error shows while typing, the value changes with Enter.
        self.error = self.field.parse(&self.text, &mut before.clone(), &mut shared.preset.clone(), &shared.presets).err();
        next_run.window = Some(self.into());
        Vec::new()
    }
}
