//! How the screen begins: its first state, and its first effects.
//!
//! Devices are asked and runs are read after the first frame.

use std::path::Path;

use super::keymap;
use crate::course::{Catalog, CatalogError};
use crate::launch::{self, Preset};
use crate::tui::actions::Effect;
use crate::tui::help::state::Help;
use crate::tui::state::State;
use crate::tui::widgets::Theme;

/// An empty state with the keys and commands that help and palette list.
pub fn blank(theme: Theme, presets: Vec<Preset>, preset: Preset) -> State {
    let mut state = State::new(theme, presets, preset);
    state.help = Help { sections: keymap::sections(), commands: keymap::entries(), ..Help::default() };
    state
}

/// The state of the first frame: no file has been read, no device asked.
///
/// # Errors
/// `lessons`, a folder that the user named, cannot be used.
pub fn initial_state(theme: Theme, lessons: Option<&Path>) -> Result<State, CatalogError> {
    let cores = crate::host::cores::usable();
    let presets = launch::presets().into_iter().map(|preset| preset.fitted(cores, 1)).collect();
    let preset = launch::default_preset(false).fitted(cores, 0);
    let mut state = blank(theme, presets, preset);
    state.shared.course.lessons = match Catalog::open(lessons) {
        // A folder that only the environment names must not keep the screen from coming up.
        Err(error) if lessons.is_none() => {
            state.shared.error(format!("{error}; the lab shows its own lessons instead"));
            Catalog::embedded()?
        }
        opened => opened?,
    };
    Ok(state)
}

/// The effects that read what the screen needs at the start.
pub fn first_effects(state: &State) -> Vec<Effect> {
    vec![
        Effect::ListRuns,
        Effect::ReadProgress,
        Effect::ReadLanguage,
        Effect::ReadSeries,
        Effect::LocateData(Box::new(state.shared.spec.clone())),
    ]
}
