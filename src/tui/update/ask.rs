//! A line is typed at the foot of the screen: what each key does to it, and what comes of it.
//!
//! Never loses what was typed because it will not do: the line stays, and says why.

use super::super::ask::Ask;
use super::super::effect::Effect;
use super::super::keymap::Command;
use super::super::log_view::pattern;
use super::super::mode::Mode;
use super::super::state::State;
use super::{log, runs, typed};
use crate::runs::Filter;

/// The line with what stood there before.
pub fn open(state: &mut State, ask: Ask, text: String) {
    state.mode = Mode::Ask { ask, text, error: None };
}

/// The line was open with this text, and is closed now.
pub fn obey(state: &mut State, mut ask: Ask, mut text: String, command: Command) -> Vec<Effect> {
    match command {
        Command::Back => {
            leave(state, ask);
            return Vec::new();
        }
        Command::Accept => {
            return accept(state, &ask, &text).unwrap_or_else(|error| {
                state.mode = Mode::Ask { ask, text, error: Some(error) };
                Vec::new()
            });
        }
        Command::Regex => {
            if let Ask::Log { regex, .. } = &mut ask {
                *regex = !*regex;
            }
        }
        command => typed::edit(&mut text, command, ask.longest()),
    }
    let error = typing(state, &ask, &text);
    state.mode = Mode::Ask { ask, text, error };
    Vec::new()
}

/// Filters work at once; a pattern says what is wrong with it while it is typed.
fn typing(state: &mut State, ask: &Ask, text: &str) -> Option<String> {
    match ask {
        Ask::FilterRuns { .. } => state.runs_view.filter = Filter::new(text),
        Ask::FilterDevices => state.devices.filter = text.to_owned(),
        Ask::Log { regex, .. } => return pattern(text, *regex).err(),
        Ask::Name(_) | Ask::Note(_) | Ask::Export => {}
    }
    None
}

fn leave(state: &mut State, ask: Ask) {
    match ask {
        Ask::FilterRuns { before } => state.runs_view.filter = Filter::new(&before),
        Ask::FilterDevices => state.devices.filter.clear(),
        Ask::Name(_) | Ask::Note(_) | Ask::Export | Ask::Log { .. } => {}
    }
}

fn accept(state: &mut State, ask: &Ask, text: &str) -> Result<Vec<Effect>, String> {
    match ask {
        Ask::FilterDevices => Ok(Vec::new()),
        Ask::Log { prompt, regex } => Ok(log::look_for(state, *prompt, pattern(text, *regex)?)),
        Ask::FilterRuns { .. } | Ask::Name(_) | Ask::Note(_) | Ask::Export => runs::answered(state, ask, text),
    }
}
