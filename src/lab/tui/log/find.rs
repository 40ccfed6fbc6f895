//! The line that a rank is asked for in, by its number or its host: among hundreds nobody turns pages.
//!
//! Never goes anywhere before Enter: while it is typed it says which rank that would be.

use crossterm::event::KeyCode as K;

use super::keys::Command;
use super::state::{Log, LogTab};
use super::update::turn_to;
use super::windows::Find;
use crate::tui::actions::action::Action;
use crate::tui::actions::keys::On::{Code, Ctrl, Text};
use crate::tui::actions::keys::{BACKSPACE, Binding, ENTER, Typing, row};
use crate::tui::shared::ranks;
use crate::tui::shared::state::Shared;
use crate::tui::widgets::prompt::Prompt;
use crate::tui::window::{View, Window};

/// Characters of a host's name.
const MOST: usize = 255;

static KEYS: &[Binding<Command>] = &[
    row(ENTER, Command::Accept, "Enter", "go", ""),
    row(&[Code(K::Esc), Ctrl('c')], Command::Back, "Esc", "cancel", "").ranked(0),
    row(BACKSPACE, Command::Type(Typing::Erase), "", "", ""),
    row(&[Ctrl('u')], Command::Type(Typing::Clear), "Ctrl-U", "clear", ""),
    row(&[Text], Command::Type(Typing::Insert(' ')), "", "", ""),
];

/// Opens it, where there are ranks to choose from.
pub fn open(log: &mut Log, shared: &mut Shared) {
    match &shared.watched {
        Some(_) => log.window = Some(Find { text: String::new(), error: None }.into()),
        None => shared.inform("no ranks yet: r starts a run"),
    }
}

impl Window for Find {
    type Feature = Log;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![KEYS]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        KEYS
    }

    fn view(&self, _: &Log, shared: &Shared, _: u16) -> Option<View> {
        let last = ranks::count(shared) - 1;
        let hint = match ranks::find(shared, &self.text) {
            Ok(rank) => ranks::in_words(shared, rank),
            Err(_) if self.text.is_empty() => format!("0 to {last}, or a host"),
            Err(why) => why,
        };
        Some(View::Line(Prompt {
            label: "Go to rank".into(),
            text: self.text.clone(),
            error: self.error.clone(),
            keys: vec![(Code(K::Enter), "Enter go".into()), (Code(K::Esc), "Esc cancel".into())],
            hint,
        }))
    }

    fn update(mut self, log: &mut Log, shared: &mut Shared, command: Command) -> Vec<Action> {
        match command {
            Command::Back => return Vec::new(),
            Command::Accept => match ranks::find(shared, &self.text) {
                Ok(rank) => {
                    let mut actions = vec![Action::ShowRank(rank)];
                    actions.extend(turn_to(log, shared, LogTab::of(rank)));
                    return actions;
                }
                Err(why) => self.error = Some(why),
            },
            Command::Type(typing) => {
                typing.into(&mut self.text, MOST);
                self.error = None;
            }
            _ => {}
        }
        log.window = Some(self.into());
        Vec::new()
    }
}
