//! The line that a search or a filter of the log is typed into.
//!
//! Never hides a line by searching: a search finds, a filter hides.

use super::read::{look_for, read};
use super::state::{Log, pattern};
use crate::runs::{Pattern, Place};
use crate::tui::actions::On::Ctrl;
use crate::tui::actions::{Action, Prompt};
use crate::tui::state::State;
use crate::tui::state::typed_line::{Purpose, TypedLine, ends};
use crate::tui::widgets::prompt;

/// A search or a filter.
#[derive(Clone, Debug)]
pub struct Ask {
    pub prompt: Prompt,
    pub regex: bool,
    /// What was searched for and where the view was: for Esc, and for each next letter of a search.
    pub before: Option<Pattern>,
    pub from: Place,
}

/// With what is searched for or filtered by already.
pub fn ask(log: &Log, prompt: Prompt) -> TypedLine<Ask> {
    let filter = |inverse| log.filter.as_ref().filter(|filter| filter.inverse == inverse).map(|filter| &filter.pattern);
    let pattern = match prompt {
        Prompt::Search => log.search.as_ref(),
        Prompt::Filter => filter(false),
        Prompt::InverseFilter => filter(true),
    };
    let regex = pattern.is_some_and(Pattern::is_regex);
    TypedLine::new(Ask { prompt, regex, before: log.search.clone(), from: log.place }, pattern.map_or("", Pattern::text))
}

impl Purpose for Ask {
    const LONGEST: usize = 200;

    fn prompt(&self, _: &State, _: &str) -> prompt::Prompt {
        let what = match self.prompt {
            Prompt::Search => "Search",
            Prompt::Filter => "Only lines with",
            Prompt::InverseFilter => "Only lines without",
        };
        let (kind, other) = if self.regex { (" (regex)", "plain text") } else { ("", "regex") };
        let mut keys = vec![(Ctrl('r'), format!("Ctrl-R {other}"))];
        keys.extend(ends("go", "cancel"));
        prompt::Prompt { label: format!("{what}{kind}"), keys, ..Default::default() }
    }

    /// A search goes to what it finds while it is typed.
    fn typed(&mut self, state: &mut State, text: &str) -> Result<Vec<Action>, String> {
        let pattern = pattern(text, self.regex)?;
        Ok(if self.prompt == Prompt::Search { self.look_for(state, pattern) } else { Vec::new() })
    }

    fn accept(&mut self, state: &mut State, text: &str) -> Result<Vec<Action>, String> {
        Ok(self.look_for(state, pattern(text, self.regex)?))
    }

    fn cancel(&mut self, State { log, shared, .. }: &mut State) -> Vec<Action> {
        if self.prompt != Prompt::Search || log.search == self.before {
            return Vec::new();
        }
        log.place = self.from;
        (log.search, log.found) = (self.before.take(), None);
        read(log, shared, None)
    }

    fn toggle_regex(&mut self) -> bool {
        self.regex = !self.regex;
        true
    }
}

impl Ask {
    fn look_for(&self, State { log, shared, .. }: &mut State, pattern: Option<Pattern>) -> Vec<Action> {
        if self.prompt == Prompt::Search {
            log.place = self.from;
        }
        look_for(log, shared, self.prompt, pattern)
    }
}
