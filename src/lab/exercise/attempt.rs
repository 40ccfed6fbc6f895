//! All runs of one attempt at an exercise: the first, and the further ones of a program that passes it.

use std::path::{Path, PathBuf};

use super::conditions::Condition;
use super::folder::Folder;
use super::language::Language;
use super::program::Program;
use super::track::Track;
use crate::course::{Evidence, Verdict};
use crate::domain::run::{RunState, RunStatus};
use crate::launch::{self, LaunchError};
use crate::runs::{RunId, RunStore, Thinning};

/// A run of an attempt that has just begun.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    pub run: RunId,
    /// What is different from the first run, which it may be more of; `None` of the first.
    pub once_more: Option<Condition>,
}

/// The result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempted {
    /// The first run.
    pub run: RunId,
    /// The verdict in words.
    pub words: String,
    /// Notes for the learner.
    pub notes: Vec<String>,
    pub has_passed: bool,
    /// The verdict on each place; empty if the runs were not judged.
    pub shown: Vec<Verdict>,
}

impl Attempted {
    fn not_judged(run: RunId, words: String) -> Attempted {
        Attempted { run, words, notes: Vec::new(), has_passed: false, shown: Vec::new() }
    }

    /// The next thing to do: the last line of the words.
    pub fn next(&self) -> Option<&str> {
        self.words.lines().next_back()?.strip_prefix("next: ")
    }
}

impl Program {
    /// Run the program, judge it, and try one that passes in further runs where two ranks of one host show too little of it. Progress
    /// under `home` counts its steps as written after the last of them. `follow` comes back when a run is over.
    ///
    /// # Errors
    /// A run that cannot be started or read, and whatever `follow` gives back.
    pub fn attempt(
        &'static self,
        (store, home): (&RunStore, &Path),
        built: PathBuf,
        text: &str,
        mut follow: impl FnMut(Begun) -> anyhow::Result<()>,
    ) -> anyhow::Result<Attempted> {
        let _thinning = Thinning(store);
        let run = launch::start(store, self.request(built.clone(), text))?;
        follow(Begun { run, once_more: None })?;
        if let Some(words) = self.changed_meanwhile(home, text) {
            return Ok(Attempted::not_judged(run, words));
        }
        let status = store.status(run)?;
        // A run that ran out of time shows something of the program; a run that somebody stopped does not.
        if status.state == RunState::Stopped && !status.message.contains("time limit") {
            let words = format!("run {run} was {}, so it is not judged: check your program again\n", status.end_in_words());
            return Ok(Attempted::not_judged(run, words));
        }
        let (mut shown, mut notes) = self.judge(store, home, run)?;
        if self.is_tried_further(text) {
            let first = self.passes(&status, &shown, text);
            let evidence = || Evidence::of(&store.folder(run), &store.record(run)?);
            let conditions = match (first, self.has_steps()) {
                (true, true) => self.conditions(text, Some(&evidence()?)),
                (true, false) => self.conditions(text, None),
                (false, _) => Vec::new(),
            };
            for condition in conditions {
                // Stop at the first failure: further runs would only take time.
                if !self.has_passed(&shown, text) {
                    break;
                }
                let once_more = match condition.start(self, store, &built, text, run) {
                    // The program's own doing.
                    Err(gone @ LaunchError::CheckpointsGone { .. }) => {
                        condition.blame(&gone.to_string(), &mut shown);
                        continue;
                    }
                    started => started?,
                };
                follow(Begun { run: once_more, once_more: Some(condition) })?;
                if let Some(words) = self.changed_meanwhile(home, text) {
                    return Ok(Attempted { notes, ..Attempted::not_judged(run, words) });
                }
                let status = store.status(once_more)?;
                if status.state == RunState::Stopped {
                    let words = format!(
                        "run {once_more} was stopped. Your program passed on two ranks and was not tried further, so nothing counts as \
                         written: check it again\n"
                    );
                    return Ok(Attempted::not_judged(run, words));
                }
                condition.enter(self, text, &status, &self.shown(store, once_more)?, &mut shown);
            }
        }
        notes.extend(self.conclude(home, run, text, &shown));
        let words = self.verdict_in_words(&status, &shown, text);
        let has_passed = self.passes(&status, &shown, text);
        let is_all = has_passed && self.next(text).is_none();
        let words = if is_all { words + &Track::Program(self).after(home) } else { words };
        Ok(Attempted { run, words, notes, has_passed, shown })
    }

    /// What to say if the learner has changed the file meanwhile. Each rank of each run reads a program in Python anew, so the runs
    /// would be of two programs.
    fn changed_meanwhile(&'static self, home: &Path, text: &str) -> Option<String> {
        if self.language != Language::Python {
            return None;
        }
        let what = match Folder::of_track(home, Track::Program(self)).read() {
            Ok(now) if now == text => return None,
            Ok(_) => "You saved your program while it was being checked, so nothing can be said of it.",
            Err(_) => "Your program was moved or deleted while it was being checked, so nothing can be said of it.",
        };
        Some(format!("{what} Check it again.\n"))
    }

    fn passes(&self, status: &RunStatus, shown: &[Verdict], text: &str) -> bool {
        status.state == RunState::Finished && self.has_passed(shown, text)
    }
}
