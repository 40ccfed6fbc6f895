//! A class: who is at which step, stuck or done, from the progress files and reports in one folder.
//!
//! Never writes there, never reads a clock, and never fails for one bad file: it is named, and the others are read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Serialize;
use serde_json::Value;

use super::{LONGEST_NAME, Level, Progress, Report};
use crate::domain::bounds::Bounded;
use crate::domain::printable;
use crate::domain::step::Step;
use crate::host::read;

/// Without anything gained for so long, a learner whose checks fail is stuck.
pub const STUCK_S: f64 = 20.0 * 60.0;
/// A progress file is some kilobytes; a report of a long list of runs not much more.
const MOST_BYTES: u64 = 8 << 20;

/// The progress of all learners.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Class {
    /// Stuck learners first, then by name.
    pub learners: Vec<Standing>,
    /// Files that are no progress, each with what is wrong with it.
    pub problems: Vec<String>,
}

/// One learner at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    pub learner: String,
    /// Path relative to the folder of the class.
    pub file: PathBuf,
    pub state: State,
    /// Numbers of the steps that are proven or written.
    pub done: Vec<usize>,
    /// Numbers of the steps at each level: `seen`, `predicted`, `proven`, `written`.
    #[serde(flatten)]
    pub levels: BTreeMap<Level, Vec<usize>>,
    /// Failed, and nothing gained since.
    pub failing: Vec<Failing>,
    /// One line for each exercise or check apart from the ten steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<String>,
    /// The first step that is neither proven nor written.
    pub next: Option<usize>,
    /// Unix time in seconds of the last thing that was noted.
    pub active_s: Option<f64>,
    /// Seconds since then.
    pub idle_s: Option<f64>,
}

/// A step that was tried in vain so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failing {
    pub step: usize,
    /// Failed runs.
    pub runs: usize,
    /// What the check said of the last one.
    pub evidence: String,
}

hvd_lab_core::named! {
    /// How a learner gets on, in the order in which a class is counted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
    #[serde(rename_all = "snake_case")]
    State {
        Done = "done",
        Working = "working",
        Stuck = "stuck",
        /// Nothing has been noted yet.
        NotBegun = "not begun",
    }
}

impl Class {
    /// Everyone in `folder`: `NAME.json` and `NAME/progress.json`, at `now_s` in Unix seconds.
    ///
    /// # Errors
    /// The folder itself cannot be read.
    pub fn read(folder: &Path, now_s: f64) -> io::Result<Class> {
        let mut class = Class { learners: Vec::new(), problems: Vec::new() };
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let is_json = path.extension().is_some_and(|ending| ending == "json");
            let within = path.join("progress.json");
            let name = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
            let (name, path) = match (path.is_dir(), is_json) {
                (true, _) if within.exists() => (name(path.file_name()), within),
                (false, true) => (name(path.file_stem()), path),
                _ => continue,
            };
            let file = path.strip_prefix(folder).unwrap_or(&path).to_owned();
            match learner(&path) {
                Ok((named, progress)) => {
                    class.learners.push(standing(&named.unwrap_or(name), file, &progress, now_s));
                }
                Err(what) => class.problems.push(format!("{} {what}", printable(&file.display().to_string()))),
            }
        }
        // Learners who need help come first.
        let place = |one: &Standing| (one.state != State::Stuck, one.learner.to_lowercase(), one.file.clone());
        class.learners.sort_by_key(place);
        class.problems.sort();
        Ok(class)
    }

    /// How many are in a state.
    pub fn count(&self, state: State) -> usize {
        self.learners.iter().filter(|learner| learner.state == state).count()
    }

    /// How many are at each level of a step, and how many have failed at it so far.
    pub fn totals(&self, step: Step) -> ([usize; 4], usize) {
        let at = |level| self.learners.iter().filter(|learner| learner.has(step, level)).count();
        let failing = |learner: &&Standing| learner.is_failing(step);
        (Level::ALL.map(at), self.learners.iter().filter(failing).count())
    }
}

impl Standing {
    /// Ten marks, one a step: `w` written, `p` proven, `!` failed so far, `s` seen, `.` open.
    pub fn marks(&self) -> String {
        let mark = |step: Step| match step {
            _ if self.has(step, Level::Written) => 'w',
            _ if self.has(step, Level::Proven) => 'p',
            _ if self.is_failing(step) => '!',
            _ if self.has(step, Level::Seen) => 's',
            _ => '.',
        };
        Step::ALL.into_iter().map(mark).collect()
    }

    pub fn has(&self, step: Step, level: Level) -> bool {
        self.levels.get(&level).is_some_and(|steps| steps.contains(&step.number()))
    }

    /// How many steps are at a level.
    pub fn count(&self, level: Level) -> usize {
        self.levels.get(&level).map_or(0, Vec::len)
    }

    fn is_failing(&self, step: Step) -> bool {
        self.failing.iter().any(|failing| failing.step == step.number())
    }
}

/// Name, if the file says one, and progress; else what is wrong with the file.
fn learner(path: &Path) -> Result<(Option<String>, Progress), String> {
    let size = fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?;
    if !size.is_file() {
        return Err("is not a file".into());
    }
    if size.len() > MOST_BYTES {
        return Err("is too large for a progress file".into());
    }
    let text = read::small_file(path, MOST_BYTES).map_err(|error| format!("cannot be read: {error}"))?;
    let value: Value = serde_json::from_slice(&text).map_err(|error| format!("is damaged: {}", printable(&error.to_string())))?;
    let newer = |version: &Value| version.as_u64().is_some_and(|version| version > 1);
    let foreign =
        |error: serde_json::Error| format!("is neither a progress file nor a report: {}", printable(&error.to_string()));
    let (name, progress) = match (value.get("report"), value.get("version"), value.get("done")) {
        (Some(version), ..) | (None, Some(version), Some(_)) if newer(version) => {
            return Err("was written by a newer hvd-lab: update this one".into());
        }
        (Some(_), ..) => {
            let report: Report = serde_json::from_value(value).map_err(foreign)?;
            (report.learner.clone(), report.progress())
        }
        (None, Some(_), Some(_)) => (None, serde_json::from_value(value).map_err(foreign)?),
        _ => return Err("is neither a progress file nor a report".into()),
    };
    let length = name.as_ref().map_or(0, |name: &String| name.chars().count());
    match progress.out_of_bounds() {
        Some(problem) => Err(format!("is damaged: {problem}")),
        None if length > LONGEST_NAME => Err(format!("is damaged: its learner's name has {length} characters")),
        None => Ok((name, progress)),
    }
}

fn standing(learner: &str, file: PathBuf, progress: &Progress, now_s: f64) -> Standing {
    let is_open = |step: &Step| !progress.is_done(*step);
    let numbers = |is: &dyn Fn(Step) -> bool| Step::ALL.into_iter().filter(|step| is(*step)).map(Step::number).collect();
    let done = numbers(&|step| progress.is_done(step));
    let tried: Vec<_> = Step::ALL.into_iter().filter_map(|step| Some((step, progress.failing(step)?))).collect();
    let next = Step::ALL.into_iter().find(is_open);
    // The last thing gained of any step, or the first thing that was done at all.
    let gained_s = Step::ALL.into_iter().filter_map(|step| progress.gained_s(step)).reduce(f64::max);
    let since_s = gained_s.or_else(|| progress.began_s());
    let is_late = since_s.is_some_and(|since_s| now_s - since_s >= STUCK_S);
    let has_failed = tried.iter().any(|(_, tried)| since_s.is_some_and(|since_s| tried.time_s >= since_s));
    Standing {
        learner: printable(learner),
        file,
        state: match (next, since_s) {
            (None, _) => State::Done,
            (_, None) => State::NotBegun,
            _ if is_late && has_failed => State::Stuck,
            _ => State::Working,
        },
        done,
        levels: Level::ALL.map(|level| (level, numbers(&|step| progress.has(step, level)))).into(),
        failing: tried
            .iter()
            .map(|(step, tried)| Failing { step: step.number(), runs: tried.runs, evidence: printable(&tried.evidence) })
            .collect(),
        collectives: progress.practice().iter().map(|line| printable(line)).collect(),
        next: next.map(Step::number),
        active_s: progress.active_s(),
        idle_s: progress.active_s().map(|active_s| (now_s - active_s).max(0.0)),
    }
}

/// A stranger's text on one line of a terminal, whatever its length.
fn printable(text: &str) -> String {
    printable::excerpt(text).into_owned()
}
