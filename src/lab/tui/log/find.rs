//! The line in which you go to a rank by its number or its host, without paging through hundreds.
//!
//! While you type, it says which rank that would be; Enter goes there.

use super::read::turn_to;
use super::state::LogTab;
use crate::tui::actions::Action;
use crate::tui::shared::ranks;
use crate::tui::state::State;
use crate::tui::state::typed_line::{Purpose, TypedLine, ends};
use crate::tui::widgets::Prompt;

/// Opens it, where there are ranks to choose from.
pub fn open(state: &mut State) -> Vec<Action> {
    match &state.shared.watched {
        Some(_) => state.windows.show(TypedLine::new(FindRank, "")),
        None => state.shared.inform("no ranks yet: r starts a run"),
    }
    Vec::new()
}

#[derive(Clone, Debug)]
struct FindRank;

impl Purpose for FindRank {
    /// Characters of a host's name.
    const LONGEST: usize = 255;

    fn prompt(&self, state: &State, text: &str) -> Prompt {
        let shared = &state.shared;
        let last = ranks::count(shared) - 1;
        let hint = match ranks::find(shared, text) {
            Ok(rank) => ranks::in_words(shared, rank),
            Err(_) if text.is_empty() => format!("0 to {last}, or a host"),
            Err(why) => why,
        };
        Prompt { label: "Go to rank".into(), keys: ends("go", "cancel"), hint, ..Prompt::default() }
    }

    fn accept(&mut self, State { log, shared, .. }: &mut State, text: &str) -> Result<Vec<Action>, String> {
        let rank = ranks::find(shared, text)?;
        let mut actions = vec![Action::ShowRank(rank)];
        actions.extend(turn_to(log, shared, LogTab::of(rank)));
        Ok(actions)
    }
}
