//! The line that a search or a filter of the log is typed into.
//!
//! Never hides a line by searching: a search finds, a filter hides.

use crossterm::event::KeyCode as K;

use super::keys::{Command, Prompt};
use super::state::{Log, pattern};
use super::update::{look_for, read};
use super::windows::Ask;
use crate::tui::actions::action::Action;
use crate::tui::actions::keys::On::{Code, Ctrl, Text};
use crate::tui::actions::keys::{BACKSPACE, Binding, ENTER, Typing, row};
use crate::tui::shared::state::Shared;
use crate::tui::widgets::prompt;
use crate::tui::window::{View, Window};

/// Characters of a pattern.
const MOST: usize = 200;

static KEYS: &[Binding<Command>] = &[
    row(ENTER, Command::Accept, "Enter", "apply", ""),
    row(&[Code(K::Esc), Ctrl('c')], Command::Back, "Esc", "cancel", "").ranked(0),
    row(BACKSPACE, Command::Type(Typing::Erase), "", "", ""),
    row(&[Ctrl('u')], Command::Type(Typing::Clear), "Ctrl-U", "clear", ""),
    row(&[Ctrl('r')], Command::Regex, "", "", ""),
    row(&[Text], Command::Type(Typing::Insert(' ')), "", "", ""),
];

impl Window for Ask {
    type Feature = Log;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![KEYS]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        KEYS
    }

    fn view(&self, _: &Log, _: &Shared, _: u16) -> Option<View> {
        let what = match self.prompt {
            Prompt::Search => "Search",
            Prompt::Filter => "Only lines with",
            Prompt::InverseFilter => "Only lines without",
        };
        let (kind, other) = if self.regex { (" (regex)", "plain text") } else { ("", "regex") };
        Some(View::Line(prompt::Prompt {
            label: format!("{what}{kind}"),
            text: self.text.clone(),
            error: self.error.clone(),
            keys: vec![
                (Ctrl('r'), format!("Ctrl-R {other}")),
                (Code(K::Enter), "Enter go".into()),
                (Code(K::Esc), "Esc cancel".into()),
            ],
            hint: String::new(),
        }))
    }

    fn update(mut self, log: &mut Log, shared: &mut Shared, command: Command) -> Vec<Action> {
        let mut actions = Vec::new();
        match command {
            Command::Back if self.prompt == Prompt::Search && log.search != self.before => {
                log.place = self.from;
                (log.search, log.found) = (self.before, None);
                return read(log, shared, None);
            }
            Command::Back => return Vec::new(),
            Command::Accept => match pattern(&self.text, self.regex) {
                Ok(pattern) => {
                    if self.prompt == Prompt::Search {
                        log.place = self.from;
                    }
                    return look_for(log, shared, self.prompt, pattern);
                }
                Err(error) => self.error = Some(error),
            },
            Command::Regex => {
                self.regex = !self.regex;
                actions = self.as_typed(log, shared);
            }
            Command::Type(typing) => {
                typing.into(&mut self.text, MOST);
                actions = self.as_typed(log, shared);
            }
            _ => {}
        }
        log.window = Some(self.into());
        actions
    }
}

impl Ask {
    /// What is wrong with the text is said while it is typed, and a search goes to what it finds.
    fn as_typed(&mut self, log: &mut Log, shared: &mut Shared) -> Vec<Action> {
        match pattern(&self.text, self.regex) {
            Ok(pattern) => {
                self.error = None;
                if self.prompt != Prompt::Search {
                    return Vec::new();
                }
                log.place = self.from;
                look_for(log, shared, self.prompt, pattern)
            }
            Err(error) => {
                self.error = Some(error);
                Vec::new()
            }
        }
    }
}
