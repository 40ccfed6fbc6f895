//! What the screen remembers from one time to the next: borders, settings, and whether the tour was shown.
//!
//! Never in the way: a file that cannot be read or written is as good as none.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::layout::Shares;
use super::looks::Look;
use super::state::State;
use crate::domain::run::RunSpec;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kept {
    #[serde(skip_serializing_if = "Shares::is_empty")]
    shares: Shares,
    /// The theme taken with a key, where it is not the configured one.
    #[serde(skip_serializing_if = "Option::is_none")]
    theme: Option<Look>,
    /// The settings of the next run with their preset, where the user has chosen them.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<(String, RunSpec)>,
    toured: bool,
}

/// In the home of the runs.
pub fn path(home: &Path) -> PathBuf {
    home.join("screen.json")
}

impl Kept {
    pub fn read(path: &Path) -> Kept {
        let text = fs::read_to_string(path).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Replaces the file as a whole: one that is cut short would be forgotten.
    pub fn write(&self, path: &Path) {
        let Ok(text) = serde_json::to_string_pretty(self) else { return };
        let new = path.with_extension(format!("{}.new", std::process::id()));
        if fs::write(&new, text).and_then(|()| fs::rename(&new, path)).is_err() {
            let _ = fs::remove_file(&new);
        }
    }

    pub fn of(state: &State) -> Kept {
        let habits = &state.habits;
        let settings = state.touched.then(|| (state.preset.clone(), state.spec.clone()));
        if !habits.config.remember {
            return Kept { toured: habits.toured, ..Kept::default() };
        }
        let theme = (state.theme.look != habits.config.theme).then_some(state.theme.look);
        Kept { shares: habits.shares.clone(), theme, settings, toured: habits.toured }
    }

    /// Puts the screen as it was left.
    pub fn restore(self, state: &mut State) {
        state.habits.toured = self.toured;
        if !state.habits.config.remember {
            return;
        }
        state.habits.shares = self.shares;
        if let Some(look) = self.theme {
            state.theme.look = look;
        }
        // Written by a lab of another version, it may mean nothing here.
        if let Some((preset, spec)) = self.settings
            && spec.problem().is_none()
            && state.presets.iter().any(|known| known.name == preset)
        {
            (state.preset, state.spec, state.touched) = (preset, spec, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::Split;
    use super::super::samples;
    use super::*;

    #[test]
    fn the_screen_is_as_it_was_left() {
        let home = tempfile::tempdir().unwrap();
        let file = path(home.path());
        let mut state = samples::never_used();
        state.habits.shares.insert(Split::Left, 400);
        state.theme.look = Look::Light;
        (state.spec.epochs, state.touched) = (7, true);
        Kept::of(&state).write(&file);
        let mut next = samples::never_used();
        Kept::read(&file).restore(&mut next);
        assert_eq!((next.spec.epochs, next.theme.look, next.touched), (7, Look::Light, true));
        assert_eq!(next.habits.shares, state.habits.shares);
        let left: Vec<_> = fs::read_dir(home.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "nothing else is left in the folder");
    }

    #[test]
    fn nothing_is_remembered_where_that_is_not_wanted() {
        let mut state = samples::never_used();
        state.touched = true;
        state.habits.config.remember = false;
        assert_eq!(Kept::of(&state), Kept::default());
    }

    #[test]
    fn a_file_that_means_nothing_changes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let file = path(home.path());
        for text in ["", "{", "[]", "{\"shares\": 7}", "{\"settings\": [\"cpu\", {}]}", "{\"toured\": \"x\"}"] {
            fs::write(&file, text).unwrap();
            assert_eq!(Kept::read(&file), Kept::default(), "{text}");
        }
        Kept::default().write(Path::new("/nowhere/at/all/screen.json"));
        let mut bad = samples::never_used();
        (bad.spec.np, bad.touched) = (0, true);
        let mut next = samples::never_used();
        Kept::of(&bad).restore(&mut next);
        assert_eq!(next.spec.problem(), None);
    }
}
