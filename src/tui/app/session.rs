//! What the screen remembers from one time to the next: borders, settings, pinned runs, the baseline, and whether the tour was shown.
//!
//! Never in the way: a file that cannot be read or written is as good as none.

use crate::tui::config::{self, Config};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::domain::job::TrainingJob;
use crate::host::{files, read};
use crate::runs::RunId;
use crate::tui::app::features::State;
use crate::tui::app::layout::Shares;
use crate::tui::widgets::looks::Look;

/// A larger file is none that a screen left.
const MOST_BYTES: u64 = 1 << 20;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    #[serde(skip_serializing_if = "Shares::is_empty")]
    shares: Shares,
    /// The theme taken with a key, where it is not the configured one.
    #[serde(skip_serializing_if = "Option::is_none")]
    theme: Option<Look>,
    /// The settings of the next run with their preset, where the user has chosen them.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<(String, TrainingJob)>,
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

impl Session {
    pub fn read(path: &Path) -> Session {
        let text = read::small_text(path, MOST_BYTES).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    pub fn write(&self, path: &Path) {
        // What it remembers is not worth a word where the disk is full.
        let _ = serde_json::to_vec_pretty(self).map(|text| files::write(path, &text));
    }

    pub fn of(state: &State) -> Session {
        let preferences = &state.preferences;
        let settings = state.shared.touched.then(|| (state.shared.preset.clone(), state.shared.spec.clone()));
        if !preferences.config.remember {
            return Session { toured: state.help.toured, ..Session::default() };
        }
        let theme = (state.shared.theme.look != preferences.config.theme).then_some(state.shared.theme.look);
        let (pins, baseline) = (state.shared.pins.all().to_vec(), state.shared.baseline);
        Session { shares: preferences.shares.clone(), theme, settings, pins, baseline, toured: state.help.toured }
    }

    /// Puts the screen as it was left.
    pub fn restore(self, state: &mut State) {
        state.help.toured = self.toured;
        if !state.preferences.config.remember {
            return;
        }
        state.preferences.shares = self.shares;
        // Numbers are not used twice: one that is gone since stands for nothing.
        state.shared.pins.set(self.pins);
        state.shared.baseline = self.baseline;
        if let Some(look) = self.theme {
            state.shared.theme.look = look;
        }
        // Written by a lab of another version, it may mean nothing here.
        if let Some((preset, spec)) = self.settings
            && spec.problem().is_none()
            && state.shared.presets.iter().any(|known| known.name == preset)
        {
            (state.shared.preset, state.shared.spec, state.shared.touched) = (preset, spec, true);
        }
    }
}

/// Puts the screen as the configuration wants it and as it was left. What is wrong with the file is a notice.
pub fn settle(state: &mut State, session: Option<&Path>, tour: bool) {
    if let Some(path) = config::path() {
        match Config::read(&path) {
            Ok((config, problems)) => {
                state.preferences.config = config;
                if let Some(problem) = problems.first() {
                    state.shared.error(format!("{}, {problem}", path.display()));
                }
            }
            Err(error) => state.shared.error(format!("`{}` cannot be read: {error}", path.display())),
        }
    }
    state.shared.theme.ascii |= state.preferences.config.ascii;
    state.shared.theme.look = state.preferences.config.theme;
    state.preferences.mouse = state.preferences.config.mouse;
    if let Some(path) = session {
        Session::read(path).restore(state);
    }
    if tour || !state.help.toured {
        state.help.start_tour();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::tui::app::layout::Split;
    use crate::tui::chart::state as chart_view;
    use crate::tui::message::Message;
    use crate::tui::testing::samples;

    #[test]
    fn the_screen_is_as_it_was_left() {
        let home = tempfile::tempdir().unwrap();
        let file = path(home.path());
        let mut state = samples::never_used();
        state.preferences.shares.insert(Split::Left, 400);
        state.shared.theme.look = Look::Light;
        (state.shared.spec.workload.epochs, state.shared.touched) = (7, true);
        Session::of(&state).write(&file);
        let mut next = samples::never_used();
        Session::read(&file).restore(&mut next);
        assert_eq!((next.shared.spec.workload.epochs, next.shared.theme.look, next.shared.touched), (7, Look::Light, true));
        assert_eq!(next.preferences.shares, state.preferences.shares);
        let left: Vec<_> = fs::read_dir(home.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "nothing else is left in the folder");
    }

    #[test]
    fn a_screen_that_an_older_version_left_is_put_back() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/version_0.1.0/screen.json");
        let mut state = samples::never_used();
        Session::read(&file).restore(&mut state);
        let spec = &state.shared.spec;
        assert_eq!((spec.resources.np, spec.workload.steps.to_string().as_str(), spec.workload.epochs), (3, "1-3,5-10", 3));
        assert_eq!((state.shared.theme.look, state.shared.baseline, state.help.toured), (Look::Light, Some(RunId(3)), true));
    }

    #[test]
    fn pinned_runs_and_the_baseline_are_there_the_next_time() {
        let home = tempfile::tempdir().unwrap();
        let file = path(home.path());
        let mut state = samples::compared();
        for run in [2, 3] {
            samples::say(&mut state, Message::Started(RunId(run)));
            state.shared.toggle_pin();
        }
        state.shared.baseline = Some(RunId(3));
        Session::of(&state).write(&file);
        let mut next = samples::never_used();
        Session::read(&file).restore(&mut next);
        // One of them has been deleted elsewhere.
        let runs = state.shared.runs.iter().filter(|run| run.id != RunId(2)).cloned().collect();
        samples::say(&mut next, Message::Runs(runs));
        assert_eq!(next.shared.baseline().unwrap().id, RunId(3));
        assert_eq!(chart_view::shown(&next.shared), [RunId(5), RunId(3)]);
        assert!(next.shared.pins.contains(RunId(3)) && next.shared.pins.letter(RunId(3)).is_some());
        samples::say(&mut next, Message::Runs(state.shared.runs.iter().filter(|run| run.id.0 != 3).cloned().collect()));
        assert_eq!(next.shared.baseline().unwrap().id, RunId(1), "a baseline that is gone is replaced as ever");
    }

    #[test]
    fn nothing_is_remembered_where_that_is_not_wanted() {
        let mut state = samples::never_used();
        state.shared.touched = true;
        state.preferences.config.remember = false;
        assert_eq!(Session::of(&state), Session::default());
    }

    #[test]
    fn a_file_that_means_nothing_changes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let file = path(home.path());
        for text in ["", "{", "[]", "{\"shares\": 7}", "{\"settings\": [\"cpu\", {}]}", "{\"toured\": \"x\"}"] {
            fs::write(&file, text).unwrap();
            assert_eq!(Session::read(&file), Session::default(), "{text}");
        }
        Session::default().write(Path::new("/nowhere/at/all/screen.json"));
        let mut bad = samples::never_used();
        (bad.shared.spec.resources.np, bad.shared.touched) = (0, true);
        let mut next = samples::never_used();
        Session::of(&bad).restore(&mut next);
        assert_eq!(next.shared.spec.problem(), None);
    }
}
