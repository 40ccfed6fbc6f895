//! The keys in force: those of the window in front, else of the focused pane and of all panes.

use crossterm::event::KeyEvent;

use super::keymap::{Key, Scope, table};
use super::windows;
use crate::tui::actions::command::Command;
use crate::tui::state::State;

/// What `key` asks for now.
pub fn command(state: &State, key: KeyEvent) -> Option<Command> {
    keys(state).into_iter().find_map(|row| row.binding.command_of(key))
}

/// The keys in force, the most specific first.
pub fn keys(state: &State) -> Vec<Key> {
    let window = windows::keys(state);
    let in_force = |key: &&Key| match key.scope {
        Scope::Everywhere => true,
        Scope::Panes => window.is_none(),
        Scope::Pane(pane) => window.is_none() && pane == state.focus,
        Scope::Replay => window.is_none() && state.shared.replay.is_some(),
        Scope::Pages => windows::scrolls(state),
        Scope::Window => false,
    };
    let own = window.unwrap_or_default().iter().map(|binding| Key { scope: Scope::Window, binding: *binding });
    table().filter(in_force).copied().chain(own).collect()
}
