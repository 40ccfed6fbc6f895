//! The line that a search or a filter of the log is typed into.
//!
//! Never hides a line by searching: a search finds, a filter hides.

use crossterm::event::KeyCode as K;

use super::read::{look_for, read};
use super::state::{Log, pattern};
use crate::runs::{Pattern, Place};
use crate::tui::actions::On::{Code, Ctrl, Text};
use crate::tui::actions::{Action, BACKSPACE, Binding, Command, ENTER, Prompt, Typing, row};
use crate::tui::shared::state::Shared;
use crate::tui::state::{Outcome, State, Window};
use crate::tui::widgets::prompt;
use crate::tui::window::View;

/// Characters of a pattern.
const MOST: usize = 200;

pub static KEYS: &[Binding] = &[
    row(ENTER, Command::Accept, "Enter", "apply", ""),
    row(&[Code(K::Esc), Ctrl('c')], Command::Back, "Esc", "cancel", "").ranked(0),
    row(BACKSPACE, Command::Type(Typing::Erase), "", "", ""),
    row(&[Ctrl('u')], Command::Type(Typing::Clear), "Ctrl-U", "clear", ""),
    row(&[Ctrl('r')], Command::Regex, "", "", ""),
    row(&[Text], Command::Type(Typing::Insert(' ')), "", "", ""),
];

/// The line that a search or a filter is typed into.
#[derive(Clone, Debug)]
pub struct Ask {
    pub prompt: Prompt,
    pub regex: bool,
    pub text: String,
    /// Why the text is no pattern, if it is none.
    pub error: Option<String>,
    /// What was searched for and where the view was: for Esc, and for each next letter of a search.
    pub before: Option<Pattern>,
    pub from: Place,
}

impl Window for Ask {
    fn keys(&self, _: &State) -> &'static [Binding] {
        KEYS
    }

    fn view(&self, _: &State, _: u16) -> Option<View> {
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

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let State { log, shared, .. } = state;
        let mut actions = Vec::new();
        match command {
            Command::Back if self.prompt == Prompt::Search && log.search != self.before => {
                log.place = self.from;
                (log.search, log.found) = (self.before.take(), None);
                return Outcome::Close(read(log, shared, None));
            }
            Command::Back => return Outcome::CLOSE,
            Command::Accept => match pattern(&self.text, self.regex) {
                Ok(pattern) => {
                    if self.prompt == Prompt::Search {
                        log.place = self.from;
                    }
                    return Outcome::Close(look_for(log, shared, self.prompt, pattern));
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
        Outcome::Stay(actions)
    }
}

impl Ask {
    /// With what is searched for or filtered by already.
    pub fn of(log: &Log, prompt: Prompt) -> Ask {
        let filter = |inverse| log.filter.as_ref().filter(|filter| filter.inverse == inverse).map(|filter| &filter.pattern);
        let pattern = match prompt {
            Prompt::Search => log.search.as_ref(),
            Prompt::Filter => filter(false),
            Prompt::InverseFilter => filter(true),
        };
        let regex = pattern.is_some_and(Pattern::is_regex);
        let text = pattern.map(|pattern| pattern.text().to_owned()).unwrap_or_default();
        Ask { prompt, regex, text, error: None, before: log.search.clone(), from: log.place }
    }

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
