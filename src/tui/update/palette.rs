//! What each command does while the palette or the help's search is typed into.
//!
//! Never runs what the panes would not: a command found here goes the way of its key.

use super::super::effect::Effect;
use super::super::keymap::Command;
use super::super::mode::Mode;
use super::super::palette::found;
use super::super::state::State;
use super::{command, typed};

/// Longer than any words that find something.
const MOST: usize = 40;

/// The palette was open with these words, and is closed now.
pub fn obey(state: &mut State, mut typed: String, chosen: usize, command: Command) -> Vec<Effect> {
    let entries = found(&typed);
    let chosen = match command {
        Command::Back => return Vec::new(),
        Command::Accept => {
            let Some(entry) = entries.get(chosen) else {
                state.mode = Mode::Palette { typed, chosen };
                return Vec::new();
            };
            if let Some(pane) = entry.pane() {
                state.focus = pane;
                if pane.shares_slot() {
                    state.slot = pane;
                }
            }
            return command::obey(state, entry.command);
        }
        Command::Up | Command::Down | Command::PageUp | Command::PageDown => command::moved(chosen, entries.len(), command),
        command => {
            typed::edit(&mut typed, command, MOST);
            0
        }
    };
    state.mode = Mode::Palette { typed, chosen };
    Vec::new()
}

/// One key into the line of the help's search; false when the line is done.
pub fn search(words: &mut String, command: Command) -> bool {
    match command {
        Command::Accept => return false,
        Command::Back => {
            words.clear();
            return false;
        }
        command => typed::edit(words, command, MOST),
    }
    true
}
