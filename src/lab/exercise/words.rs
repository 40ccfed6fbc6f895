//! The run that judges a learner's program, small, on two ranks, and never waiting for long; and what it showed, in words.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::built::CompileError;
use super::program::Program;
use super::pytorch;
use crate::course::{Outcome, Verdict};
use crate::domain::job::{RunSpec, Workload};
use crate::domain::run::{RunState, RunStatus};
use crate::launch::default_preset;
use crate::runs::{RunRequest, Trial};

/// Seconds until a rank says for whom it waits, and until it gives up: a deadlock is explained within 20 s.
const STALL_LIMITS: [&str; 4] = ["--stall-warning-secs", "5", "--stall-shutdown-secs", "12"];
/// Generous for a run of a few seconds, on any machine.
const TIME_LIMIT_S: f64 = 600.0;
/// Compile errors that are shown: later ones often follow from the first.
const SHOWN: usize = 3;

impl Program {
    /// The run that judges the program, built from this text.
    pub fn request(&self, built: PathBuf, text: &str) -> RunRequest {
        let mut request = self.request_for(built, (self.job)(self, text));
        // A program that hangs without a report must not run for ever.
        request.spec.resources.time_limit_s = Some(TIME_LIMIT_S);
        request.trial = self.is_tried_further(text).then_some(Trial::First);
        request
    }

    /// Another run of the program.
    pub fn request_for(&self, built: PathBuf, job: impl Into<RunSpec>) -> RunRequest {
        let mut spec = job.into();
        // A training on photos has other limits.
        if let Some(training) = spec.workload.training_mut() {
            // No accuracy stops it early.
            training.target_accuracy = 1.01;
            training.trainer_flags = STALL_LIMITS.map(String::from).to_vec();
        }
        // The words start it, and not the lab in the place of its trainer.
        let built = match &mut spec.workload {
            Workload::Command(command) => {
                pytorch::complete(command, &built);
                None
            }
            _ => Some(built),
        };
        let name = if self.has_steps() { "own trainer" } else { self.track };
        RunRequest {
            program: built,
            exercise: (!self.has_steps()).then(|| self.track.to_owned()),
            name: Some(name.into()),
            offline: true,
            ..RunRequest::new(spec, default_preset(false).name)
        }
    }

    /// The number of the place that an error belongs to: the one that it names, else that of a line of the program which it names.
    pub(super) fn place_of_error(&self, message: &str, text: &str) -> Option<usize> {
        if let Some((_, place)) = self.missing(message) {
            return Some(place);
        }
        let named = message.split(&format!("({} ", self.noun)).nth(1).and_then(|rest| rest.split_once(')')?.0.parse().ok());
        // Of ranks in two calls the earlier call is the one that the other rank passed by.
        named.or_else(|| self.lines_named(message).into_iter().find_map(|line| self.place_at(text, line)))
    }

    /// The lines of the program that an error names, such as `fashion_mnist.py:57: ...`, in their order. The line at which a rank waits
    /// is not at fault: another rank does not come.
    fn lines_named(&self, message: &str) -> Vec<usize> {
        if message.contains("has waited") {
            return Vec::new();
        }
        let leading = |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
        let mut lines: Vec<usize> = message.split(&format!("{}:", self.file)).skip(1).filter_map(leading).collect();
        lines.retain(|line| *line > 0);
        lines.sort_unstable();
        lines
    }

    /// The last line of the program in what Python printed last: `File "/home/me/fashion_mnist.py", line 57`.
    fn line_shown(&self, lines: &[String]) -> Option<usize> {
        let shown = format!("{}\", line ", self.file);
        let line = |said: &String| said.split(&shown).nth(1)?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
        lines.iter().rev().find_map(line).filter(|line| *line > 0)
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
    pub fn has_passed(&self, shown: &[Verdict], text: &str) -> bool {
        let done = self.done(text);
        !done.is_empty() && shown.iter().filter(|shown| done.contains(&shown.number)).all(Verdict::has_passed)
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
    pub fn verdict_in_words(&self, status: &RunStatus, shown: &[Verdict], text: &str) -> String {
        let mut words = String::new();
        let broken = (status.state != RunState::Finished).then(|| self.broken(status, text, &mut words));
        let (done, next, noun) = (self.done(text), self.next(text), self.noun);
        // Of a run that broke off, show only failures, and none if the run itself explains what went wrong.
        let tells = |shown: &&Verdict| match &broken {
            None => true,
            Some(Broken::Unexplained) => shown.outcome == Outcome::Failed,
            Some(Broken::In(_) | Broken::At(_)) => false,
        };
        let is_asked = |shown: &&Verdict| done.contains(&shown.number) || next.is_some_and(|(number, _)| number == shown.number);
        for shown in shown.iter().filter(is_asked).filter(tells) {
            // A place that was not begun has not failed.
            let is_begun = done.contains(&shown.number) || shown.has_passed();
            let how = if is_begun { shown.outcome.name() } else { "is still to do" };
            let _ = writeln!(words, "{noun} {:>2} {how}: {}", shown.number, shown.evidence);
            // A flag may be left out on any line.
            let names_a_line = shown.evidence.contains(&format!("{}:", self.file)) || shown.evidence.contains("Use args.");
            let line = self.line_of(text, shown.number).filter(|_| shown.outcome == Outcome::Failed && is_begun && !names_a_line);
            if let Some(line) = line {
                let _ = writeln!(words, "    See {}:{line}.", self.file);
            }
        }
        let failed = shown.iter().find(|shown| done.contains(&shown.number) && shown.outcome == Outcome::Failed);
        let failed = failed.map(|shown| shown.number);
        let fix = |number| format!("next: fix {noun} {number} ({})\n", (self.title)(number));
        let begin = |(number, line): (usize, usize)| format!("next: {noun} {number} ({}), line {line}\n", (self.title)(number));
        words += &match (broken, failed, next) {
            (Some(Broken::In(number)), ..) | (Some(Broken::Unexplained) | None, Some(number), _) => fix(number),
            // A program as it was given ends with the error that its first place removes.
            (Some(Broken::At(_)), _, Some(next)) if done.is_empty() => begin(next),
            (Some(Broken::At(line)), ..) => {
                // The check of a place may know the error by its line.
                let named = format!("{}:{line}:", self.file);
                let knows = |shown: &&Verdict| done.contains(&shown.number) && shown.evidence.contains(&named);
                let place = shown.iter().filter(|shown| shown.outcome == Outcome::Failed).find(knows);
                place.map_or_else(|| format!("next: fix {}:{line}\n", self.file), |shown| fix(shown.number))
            }
            // The program has said itself why it ended.
            (Some(Broken::Unexplained), None, _) if status.message.contains("failed during") => {
                "next: change that, and check again\n".to_owned()
            }
            (Some(Broken::Unexplained), None, _) => "next: find out what ended the run, and check again\n".to_owned(),
            (None, None, Some((number, line))) => match shown.iter().any(|shown| shown.number == number && shown.has_passed()) {
                // It is written, but the program still says that it is to do.
                true => format!("next: your program does {noun} {number} already, so take its TODO out of line {line}\n"),
                false => begin((number, line)),
            },
            (None, None, None) if self.has_passed(shown, text) => format!("All {} {noun}s pass.\n", self.count),
            (None, None, None) => String::new(),
        };
        words
    }

    /// Adds how a run broke off to `words`, and returns where.
    fn broken(&self, status: &RunStatus, text: &str, words: &mut String) -> Broken {
        let message = &status.message;
        let _ = writeln!(words, "the run {}", status.end_in_words());
        if message.contains("has waited") {
            let _ = writeln!(
                words,
                "    A deadlock: a collective ends only when all ranks make it. Look for one that stands where not all ranks come by, such \
                 as inside `{}`, or for a rank that returned early.",
                self.language.root_only()
            );
        }
        if status.state != RunState::Failed {
            return Broken::Unexplained;
        }
        if let Some(hint) = hint(message) {
            let _ = writeln!(words, "    {hint}");
        }
        let (named, shown) = (self.lines_named(message), self.line_shown(&status.last_lines));
        let place = self.place_of_error(message, text).or_else(|| self.place_at(text, shown.filter(|_| named.is_empty())?));
        match (self.missing(message), place) {
            (Some((name, number)), _) => _ = writeln!(words, "    `{name}` comes with {} {number}.", self.noun),
            // The message says so itself.
            (None, Some(number)) if message.contains(&format!("({} {number})", self.noun)) => {
                if let Some(line) = self.line_of(text, number).filter(|_| named.is_empty()) {
                    let _ = writeln!(words, "    See {}:{line}.", self.file);
                }
            }
            (None, Some(number)) => _ = writeln!(words, "    This line belongs to {} {number}.", self.noun),
            (None, None) => {}
        }
        match shown.filter(|_| named.is_empty()) {
            Some(line) => _ = writeln!(words, "    See {}:{line}.", self.file),
            // Leave out log lines that repeat the message.
            None if named.is_empty() => {
                let cause = message.split(": ").last().unwrap_or(message);
                let last = status.last_lines.iter().filter(|line| !line.contains(cause) && !message.contains(line.trim()));
                let last: Vec<_> = last.collect();
                words.extend(last.iter().skip(last.len().saturating_sub(5)).map(|line| format!("    | {line}\n")));
            }
            None => {}
        }
        match (place, named.first().copied().or(shown)) {
            (Some(number), _) => Broken::In(number),
            (None, Some(line)) => Broken::At(line),
            (None, None) => Broken::Unexplained,
        }
    }
}

/// Where a run broke off.
enum Broken {
    /// In the place with this number.
    In(usize),
    /// At this line, which belongs to no place.
    At(usize),
    /// The error names no line.
    Unexplained,
}

/// What to do about a package that is not there because the exercise does without it.
fn hint(message: &str) -> Option<&'static str> {
    let name = message.split("No module named '").nth(1)?.split(['\'', '.']).next()?;
    match name {
        "horovod" => Some("Here it is `import hvd_lab.keras as hvd`: Horovod itself is not needed."),
        "tensorflow" | "keras" | "tf_keras" => Some(
            "Here the parts of Keras come from hvd_lab, such as `from hvd_lab.callbacks import ...`, and Horovod is \
             `import hvd_lab.keras as hvd`: TensorFlow itself is not needed.",
        ),
        _ => None,
    }
}
