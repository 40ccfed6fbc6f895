//! A run of the learner's program: small, on two ranks, and never waiting for long; and what it shows in words.
//!
//! Never judges: `course` does.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::built::CompileError;
use super::program::Program;
use crate::course::{Outcome, Shown};
use crate::domain::job::RunSpec;
use crate::domain::run::{RunState, RunStatus};
use crate::launch::{StartRequest, default_preset};
use crate::runs::Trial;

/// Seconds until a rank says for whom it waits, and until it gives up: a deadlock is explained within 20 s.
const STALL_LIMITS: [&str; 4] = ["--stall-warning-secs", "5", "--stall-shutdown-secs", "12"];
/// For a run of a few seconds, on any machine.
const TIME_LIMIT_S: f64 = 600.0;
/// Compile errors that are shown: later ones often follow from the first.
const SHOWN: usize = 3;

impl Program {
    /// The run that judges the program, built from this text.
    pub fn request(&self, built: PathBuf, text: &str) -> StartRequest {
        let mut request = self.request_for(built, (self.job)(self, text));
        // Seconds are enough; one that never ends, and tells nothing of it, must not run for ever.
        request.spec.resources.time_limit_s = Some(TIME_LIMIT_S);
        request.trial = self.is_tried_further(text).then_some(Trial::First);
        request
    }

    /// Another run of the program.
    pub fn request_for(&self, built: PathBuf, job: impl Into<RunSpec>) -> StartRequest {
        let mut spec = job.into();
        // A program that trains on photos has limits of its own.
        if let Some(training) = spec.workload.training_mut() {
            // Never stopped early.
            training.target_accuracy = 1.01;
            training.trainer_flags = STALL_LIMITS.map(String::from).to_vec();
        }
        let name = if self.has_steps() { "own trainer" } else { self.track };
        StartRequest {
            program: Some(built),
            exercise: (!self.has_steps()).then(|| self.track.to_owned()),
            name: Some(name.into()),
            offline: true,
            ..StartRequest::new(spec, default_preset(false).name)
        }
    }

    /// The number of the place that an error lies in which names a line of the program: `fashion_mnist.py:57: ...`.
    fn place_named(&self, message: &str, text: &str) -> Option<usize> {
        let rest = message.split(&format!("{}:", self.file)).nth(1)?;
        let line = rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok().filter(|line| *line > 0)?;
        self.place_at(text, line)
    }

    /// The same of the last lines of a rank, as Python shows where an error was: `File "/home/me/fashion_mnist.py", line 57`.
    fn place_shown(&self, lines: &[String], text: &str) -> Option<usize> {
        let shown = format!("{}\", line ", self.file);
        let line = |said: &String| said.split(&shown).nth(1)?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
        self.place_at(text, lines.iter().rev().find_map(line).filter(|line| *line > 0)?)
    }

    /// The name that Python did not know, and the number of the place that makes it: `hvd` is imported in step 1, whichever line
    /// uses it first.
    fn missing(&self, message: &str) -> Option<(String, usize)> {
        let name = message.split("name '").nth(1)?.split('\'').next()?;
        let whole = self.solution(self.count);
        let mut lines = (1..).zip(whole.lines());
        let makes = |line: &str| {
            let line = line.trim_start();
            line.starts_with(&format!("{name} = ")) || line.starts_with("import ") && line.ends_with(&format!(" as {name}"))
        };
        let (line, _) = lines.find(|(_, text)| makes(text))?;
        Some((name.to_owned(), self.place_at(&whole, line)?))
    }

    /// Whether everything that is taken for done is.
    pub fn has_passed(&self, shown: &[Shown], text: &str) -> bool {
        let done = self.done(text);
        !done.is_empty() && shown.iter().filter(|shown| done.contains(&shown.number)).all(Shown::has_passed)
    }

    /// The first errors of the compiler, each with its line and the place that it belongs to.
    pub fn errors_in_words(&self, errors: &[CompileError], said: &str) -> String {
        let mut text = String::new();
        for error in errors.iter().take(SHOWN) {
            let place = error.place.map(|number| format!(" ({} {number})", self.noun)).unwrap_or_default();
            // Writing to a string cannot fail.
            let _ = match error.line {
                0 => writeln!(text, "{}", error.message),
                line => writeln!(text, "{}:{line}:{}{place}: {}", self.file, error.column, error.message),
            };
            if !error.source.is_empty() {
                let _ = writeln!(text, "    {}", error.source);
            }
            for (sign, words) in [("^", &error.label), ("help:", &error.help)] {
                if let Some(words) = words {
                    let _ = writeln!(text, "    {sign} {words}");
                }
            }
        }
        let more = errors.len().saturating_sub(SHOWN);
        if more > 0 {
            let _ = writeln!(text, "and {more} more. Fix these first: the others may follow from them");
        }
        if errors.is_empty() {
            let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("error") || line.starts_with("  ")).collect();
            let _ = writeln!(text, "{} could not build the exercise:", self.language.builder());
            text.extend(lines.iter().skip(lines.len().saturating_sub(12)).map(|line| format!("    {line}\n")));
        }
        text
    }

    /// How the run ended and what it shows: of the places that the learner takes for done, and of the next one.
    pub fn verdict_in_words(&self, status: &RunStatus, shown: &[Shown], text: &str) -> String {
        let mut words = String::new();
        let missing = self.missing(&status.message).filter(|_| status.state == RunState::Failed);
        if status.state != RunState::Finished {
            let _ = writeln!(words, "the run {}", status.end_in_words());
            if status.message.contains("has waited") {
                let _ = writeln!(
                    words,
                    "    A deadlock: a collective ends only when all ranks make it. Look for one that stands where not all ranks come \
                     by, such as inside `{}`, or for a rank that returned early.",
                    self.language.root_only()
                );
            }
            let named = self.place_named(&status.message, text);
            let last = &status.last_lines;
            if let Some((name, number)) = &missing {
                let _ = writeln!(words, "    `{name}` comes with {} {number}.", self.noun);
            } else if let Some(number) = named.or_else(|| self.place_shown(last, text)) {
                let _ = writeln!(words, "    This line belongs to {} {number}.", self.noun);
            }
            // A message that names the line says what the rank said.
            let is_said = status.message.contains(&format!("{}:", self.file));
            let last: &[String] = if is_said { &[] } else { last };
            words.extend(last.iter().skip(last.len().saturating_sub(5)).map(|line| format!("    | {line}\n")));
        }
        let (done, next) = (self.done(text), self.next(text));
        // Of a run that broke off only what went wrong is worth telling.
        let tells = |shown: &&Shown| status.state == RunState::Finished || shown.outcome == Outcome::Failed;
        let is_asked = |shown: &&Shown| done.contains(&shown.number) || next.is_some_and(|(number, _)| number == shown.number);
        for shown in shown.iter().filter(is_asked).filter(tells) {
            // What was never begun has not failed.
            let is_begun = done.contains(&shown.number) || shown.has_passed();
            let how = if is_begun { shown.outcome.name() } else { "is still to do" };
            let _ = writeln!(words, "{} {:>2} {how}: {}", self.noun, shown.number, shown.evidence);
            let names_a_line = shown.evidence.contains(&format!("{}:", self.file));
            let line = self.line_of(text, shown.number).filter(|_| shown.outcome == Outcome::Failed && is_begun && !names_a_line);
            if let Some(line) = line {
                let _ = writeln!(words, "    See {}:{line}.", self.file);
            }
        }
        let failed = shown.iter().find(|shown| done.contains(&shown.number) && shown.outcome == Outcome::Failed);
        let failed = missing.map(|(_, number)| number).or(failed.map(|shown| shown.number));
        let named = || self.place_named(&status.message, text).filter(|_| status.state != RunState::Finished);
        if let Some(number) = failed.or_else(named) {
            let _ = writeln!(words, "next: fix {} {number} ({})", self.noun, (self.title)(number));
        } else if let Some((number, line)) = next {
            let noun = self.noun;
            let _ = match shown.iter().any(|shown| shown.number == number && shown.has_passed()) {
                // It is written, but the program still says that it is to do.
                true => writeln!(words, "next: your program does {noun} {number} already, so take its TODO out of line {line}"),
                false => writeln!(words, "next: {noun} {number} ({}), line {line}", (self.title)(number)),
            };
        } else if status.state == RunState::Finished && self.has_passed(shown, text) {
            let _ = writeln!(words, "All {} {}s pass.", self.count, self.noun);
        }
        words
    }
}
