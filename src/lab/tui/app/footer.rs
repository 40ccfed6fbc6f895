//! One line of keys, from the key tables: those of the focused pane first.
//!
//! Never names a key that does nothing, and never leaves out how to get help.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};

use super::active;
use super::keymap::{Key, Scope};
use crate::tui::actions::command::Command;
use crate::tui::actions::pane::Pane;
use crate::tui::chart::graph::Tab;
use crate::tui::state::State;
use crate::tui::widgets::footer::{self, Entry, LESSER};

/// Kept when there is no room for all: what starts, stops, helps and ends, then what the place is for.
fn rank(key: &Key) -> u8 {
    key.binding.rank.unwrap_or(match key.scope {
        Scope::Replay => 0,
        Scope::Window => 2,
        Scope::Pane(_) | Scope::Everywhere => LESSER,
        Scope::Panes | Scope::Pages => 6,
    })
}

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    footer::draw(frame, area, state.shared.theme, &entries(&named(state)));
}

/// What the words under the pointer ask for.
pub fn hit(state: &State, area: Rect, at: Position) -> Option<Command> {
    let named = named(state);
    let command = named[footer::hit(area, at, &entries(&named))?].binding.command;
    // A key for ten steps says not which one.
    (!matches!(command, Command::ToggleStep(_))).then_some(command)
}

fn entries(named: &[Key]) -> Vec<Entry> {
    named.iter().map(|key| Entry { key: key.binding.key, label: key.binding.label, rank: rank(key) }).collect()
}

/// The keys in force that have a word, as far as they do something now.
fn named(state: &State) -> Vec<Key> {
    let active = active::keys(state);
    // A key that means something else to a place before it, as those of a replay, is named there only.
    let is_taken = |index: usize| active[..index].iter().any(|before| before.binding.on.contains(&active[index].binding.on[0]));
    let named = (0..active.len()).filter(|&index| {
        let binding = &active[index].binding;
        !binding.label.is_empty() && !is_taken(index) && !is_idle(state, binding.command)
    });
    named.map(|index| active[index]).collect()
}

/// It would do nothing now, or nothing that another key does not.
fn is_idle(state: &State, command: Command) -> bool {
    let (shared, watched) = (&state.shared, &state.shared.watched);
    let window = state.windows.front();
    if shared.replay.is_some() && command.starts_or_stops() {
        return true;
    }
    if let Some(is_idle) = window.and_then(|window| window.is_idle(state, command)) {
        return is_idle;
    }
    match command {
        // As ← and → do, which are named.
        Command::Accept if window.is_none() && state.focus == Pane::Settings => state.next_run.field.is_choice(),
        Command::Accept if window.is_none() && state.focus == Pane::Runs => watched.is_none(),
        Command::Along | Command::LogScale => state.chart.tab == Tab::Timeline,
        Command::Stop => shared.going().is_none(),
        Command::Continue => watched.as_ref().is_none_or(|watched| watched.is_going()),
        Command::Baseline | Command::Details | Command::Pin | Command::Delete => watched.is_none(),
        Command::Compare => window.is_none() && watched.is_none(),
        _ => false,
    }
}
