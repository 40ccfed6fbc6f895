//! What the screen remembers between sessions: borders, settings, pinned runs, the baseline, and whether the tour was shown.
//!
//! A file that cannot be read or written is ignored.

use crate::tui::config::Config;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::domain::job::TrainingJob;
use crate::host::{self, read};
use crate::runs::{self, RunId};
use crate::tui::preferences::Shares;
use crate::tui::state::State;
use crate::tui::widgets::Look;

/// Changes that follow each other faster are written together.
const BETWEEN_WRITES: Duration = Duration::from_millis(250);
/// The last write gets so long when the screen ends.
const LAST_WRITE: Duration = Duration::from_secs(2);

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

/// The file of the session, in the home of the runs.
pub fn path(home: &Path) -> PathBuf {
    home.join("screen.json")
}

impl Session {
    pub fn read(path: &Path) -> Session {
        let text = read::small_text(path, MOST_BYTES).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Puts into the file what changed here since `before`; what another screen has changed there meanwhile stays.
    fn write(&self, before: &Session, path: &Path) {
        // Where the folder cannot be locked, two screens that change something in the same moment are the smaller evil.
        let _lock = path.parent().map(runs::lock);
        let _ = runs::write_json(path, &self.merged(before, Session::read(path)));
    }

    fn merged(&self, before: &Session, there: Session) -> Session {
        fn newer<T: PartialEq + Clone>(now: &T, before: &T, there: T) -> T {
            if now == before { there } else { now.clone() }
        }
        let (mut shares, mut pins) = (there.shares, there.pins);
        shares.retain(|split, _| self.shares.contains_key(split) || !before.shares.contains_key(split));
        let moved = self.shares.iter().filter(|(split, share)| before.shares.get(split) != Some(share));
        shares.extend(moved.map(|(split, share)| (*split, *share)));
        pins.retain(|pin| self.pins.contains(pin) || !before.pins.contains(pin));
        let is_new = |pin: &&RunId| !before.pins.contains(pin) && !pins.contains(pin);
        let pinned: Vec<RunId> = self.pins.iter().filter(is_new).copied().collect();
        pins.extend(pinned);
        Session {
            shares,
            pins,
            theme: newer(&self.theme, &before.theme, there.theme),
            settings: newer(&self.settings, &before.settings, there.settings),
            baseline: newer(&self.baseline, &before.baseline, there.baseline),
            toured: newer(&self.toured, &before.toured, there.toured),
        }
    }

    pub fn from_state(state: &State) -> Session {
        let preferences = &state.preferences;
        let settings = state.shared.touched.then(|| (state.shared.preset.clone(), state.shared.spec.clone()));
        if !preferences.config.remember {
            return Session { toured: state.help.toured, ..Session::default() };
        }
        let theme = (state.shared.theme.look != preferences.config.theme).then_some(state.shared.theme.look);
        let (pins, baseline) = (state.shared.pins.pinned.clone(), state.shared.baseline);
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
        state.shared.theme.look = self.theme.unwrap_or(state.shared.theme.look);
        // Written by a lab of another version, it may mean nothing here.
        if let Some((preset, spec)) = self.settings
            && spec.problem().is_none()
            && state.shared.presets.iter().any(|known| known.name == preset)
        {
            (state.shared.preset, state.shared.spec, state.shared.touched) = (preset, spec, true);
        }
    }
}

/// Writes down what is to be remembered as soon as it changes, on a separate thread: a terminal may be closed at any time.
pub struct Keeper {
    kept: Session,
    /// Takes changes; the receiver says nothing, and ends with the thread. `None` if the session is not saved, or the thread could
    /// not start.
    writer: Option<(Sender<Session>, Receiver<()>)>,
}

impl Keeper {
    /// Knows what the file holds now.
    pub fn start(path: Option<&Path>) -> Keeper {
        let kept = path.map(Session::read).unwrap_or_default();
        let writer = path.and_then(|path| {
            let (before, path) = (kept.clone(), path.to_owned());
            let (changes, inbox) = channel();
            let (ends, end) = channel::<()>();
            let write = move || {
                let _ends = ends;
                write_changes(&inbox, before, &path);
            };
            std::thread::Builder::new().name("session".into()).spawn(write).ok()?;
            Some((changes, end))
        });
        Keeper { kept, writer }
    }

    /// Looks whether anything has changed since the last time.
    pub fn look(&mut self, state: &State) {
        let Some((changes, _)) = &self.writer else { return };
        let now = Session::from_state(state);
        if now != self.kept {
            self.kept = now.clone();
            let _ = changes.send(now);
        }
    }

    /// Waits until all is written, though not for a folder that another program keeps locked.
    pub fn finish(self) {
        if let Some((changes, end)) = self.writer {
            drop(changes);
            let _ = end.recv_timeout(LAST_WRITE);
        }
    }
}

/// Writes the first change at once, and of those that follow it closely the last: a border is dragged through many places. Ends when
/// the last change is written and nobody can send another.
fn write_changes(changes: &Receiver<Session>, mut before: Session, path: &Path) {
    let mut next = Instant::now();
    while let Ok(mut newest) = changes.recv() {
        while let Ok(newer) = changes.recv_timeout(next.saturating_duration_since(Instant::now())) {
            newest = newer;
        }
        newest.write(&before, path);
        (before, next) = (newest, Instant::now() + BETWEEN_WRITES);
    }
}

/// Puts the screen as the configuration wants it and as it was left. What is wrong with the file is a notice.
/// `needs_ascii` is what the terminal and the locale say; the configuration overrides it, and a flag that asked for ASCII overrides both.
pub fn settle(state: &mut State, session: Option<&Path>, tour: bool, needs_ascii: bool) {
    if let Some(path) = host::config_file() {
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
    state.shared.theme.ascii |= state.preferences.config.ascii.unwrap_or(needs_ascii);
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
    use crate::tui::chart::state as chart_view;
    use crate::tui::message::Message;
    use crate::tui::preferences::Split;
    use crate::tui::testing::samples;

    #[test]
    fn the_screen_is_as_it_was_left() {
        let home = tempfile::tempdir().unwrap();
        let file = path(home.path());
        let mut state = samples::never_used();
        state.preferences.shares.insert(Split::Left, 400);
        state.shared.theme.look = Look::Light;
        (state.shared.spec.workload.epochs, state.shared.touched) = (7, true);
        Session::from_state(&state).write(&Session::default(), &file);
        let mut next = samples::never_used();
        Session::read(&file).restore(&mut next);
        assert_eq!((next.shared.spec.workload.epochs, next.shared.theme.look, next.shared.touched), (7, Look::Light, true));
        assert_eq!(next.preferences.shares, state.preferences.shares);
        let left: Vec<_> = fs::read_dir(home.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "nothing else is left in the folder");
    }

    #[test]
    fn a_screen_that_an_older_version_left_is_put_back() {
        let file = Path::new(env!("HVD_LAB_CHECKOUT")).join("tests/data/version_0.1.0/screen.json");
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
        Session::from_state(&state).write(&Session::default(), &file);
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

    /// A home's file with this in it.
    fn written(session: &Session) -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let file = path(home.path());
        session.write(&Session::default(), &file);
        (home, file)
    }

    #[test]
    fn two_screens_lose_nothing_of_each_other() {
        let start = Session { pins: vec![RunId(1), RunId(2)], toured: true, ..Session::default() };
        let (_home, file) = written(&start);
        let one = Session { pins: vec![RunId(1), RunId(2), RunId(3)], theme: Some(Look::Light), ..start.clone() };
        let mut other = Session { pins: vec![RunId(2), RunId(4)], baseline: Some(RunId(1)), ..start.clone() };
        other.shares.insert(Split::Left, 400);
        one.write(&start, &file);
        other.write(&start, &file);
        let expected = Session { pins: [2, 3, 4].map(RunId).to_vec(), theme: Some(Look::Light), ..other.clone() };
        assert_eq!(Session::read(&file), expected);
        // What was taken back here is gone there too.
        start.write(&other, &file);
        let expected = Session { pins: [2, 3, 1].map(RunId).to_vec(), theme: Some(Look::Light), ..start.clone() };
        assert_eq!(Session::read(&file), expected);
    }

    #[test]
    fn many_screens_at_once_leave_a_whole_file_with_all_they_changed() {
        let (home, file) = written(&Session::default());
        std::thread::scope(|scope| {
            for run in 1..=8 {
                let file = &file;
                scope.spawn(move || {
                    let mut before = Session::default();
                    for round in 0..20 {
                        let pins = if round % 2 == 0 { vec![RunId(run)] } else { Vec::new() };
                        let now = Session { pins, ..Session::default() };
                        now.write(&before, file);
                        before = now;
                    }
                    Session { pins: vec![RunId(run)], ..before.clone() }.write(&before, file);
                });
            }
        });
        let mut pins = Session::read(&file).pins;
        pins.sort_unstable();
        assert_eq!(pins, (1..=8).map(RunId).collect::<Vec<_>>());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "nothing else is left in the folder");
    }

    #[test]
    fn what_changes_is_written_while_the_screen_goes_on_and_the_last_of_many_changes_when_it_ends() {
        let home = tempfile::tempdir().unwrap();
        let file = path(home.path());
        let mut state = samples::never_used();
        let mut keeper = Keeper::start(Some(&file));
        state.help.toured = false;
        keeper.look(&state);
        for share in 100..=900 {
            state.preferences.shares.insert(Split::Left, share);
            keeper.look(&state);
        }
        keeper.finish();
        assert_eq!(Session::read(&file), Session::from_state(&state));
    }

    #[test]
    fn nothing_is_remembered_where_that_is_not_wanted() {
        let mut state = samples::never_used();
        state.shared.touched = true;
        state.preferences.config.remember = false;
        assert_eq!(Session::from_state(&state), Session::default());
    }

    #[test]
    fn a_file_that_means_nothing_changes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let file = path(home.path());
        for text in ["", "{", "[]", "{\"shares\": 7}", "{\"settings\": [\"cpu\", {}]}", "{\"toured\": \"x\"}"] {
            fs::write(&file, text).unwrap();
            assert_eq!(Session::read(&file), Session::default(), "{text}");
        }
        Session::default().write(&Session::default(), &home.path().join("gone/screen.json"));
        let mut bad = samples::never_used();
        (bad.shared.spec.resources.np, bad.shared.touched) = (0, true);
        let mut next = samples::never_used();
        Session::from_state(&bad).restore(&mut next);
        assert_eq!(next.shared.spec.problem(), None);
    }
}
