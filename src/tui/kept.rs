//! What the screen remembers from one time to the next: borders, settings, pinned runs, the baseline, and whether the tour was shown.
//!
//! Never in the way: a file that cannot be read or written is as good as none.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::layout::Shares;
use super::looks::Look;
use super::state::State;
use crate::domain::run::RunSpec;
use crate::runs::RunId;

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
    /// Runs that the chart keeps beside others, and the one that they are compared with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pins: Vec<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<RunId>,
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
        let (pins, baseline) = (state.chart_view.pins().to_vec(), state.baseline);
        Kept { shares: habits.shares.clone(), theme, settings, pins, baseline, toured: habits.toured }
    }

    /// Puts the screen as it was left.
    pub fn restore(self, state: &mut State) {
        state.habits.toured = self.toured;
        if !state.habits.config.remember {
            return;
        }
        state.habits.shares = self.shares;
        // Numbers are not used twice: one that is gone since stands for nothing.
        state.chart_view.pin(self.pins);
        state.baseline = self.baseline;
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
    use super::super::chart_view;
    use super::super::layout::Split;
    use super::super::message::Message;
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
    fn pinned_runs_and_the_baseline_are_there_the_next_time() {
        let home = tempfile::tempdir().unwrap();
        let file = path(home.path());
        let mut state = samples::compared();
        for run in [2, 3] {
            samples::say(&mut state, Message::Started(RunId(run)));
            chart_view::toggle_pin(&mut state);
        }
        state.baseline = Some(RunId(3));
        Kept::of(&state).write(&file);
        let mut next = samples::never_used();
        Kept::read(&file).restore(&mut next);
        // One of them has been deleted elsewhere.
        let runs = state.runs.iter().filter(|run| run.id != RunId(2)).cloned().collect();
        samples::say(&mut next, Message::Runs(runs));
        assert_eq!(next.baseline().unwrap().id, RunId(3));
        assert_eq!(chart_view::shown(&next), [RunId(5), RunId(3)]);
        assert!(next.chart_view.is_pinned(RunId(3)) && next.chart_view.letter(RunId(3)).is_some());
        samples::say(&mut next, Message::Runs(state.runs.iter().filter(|run| run.id.0 != 3).cloned().collect()));
        assert_eq!(next.baseline().unwrap().id, RunId(1), "a baseline that is gone is replaced as ever");
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
