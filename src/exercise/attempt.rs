//! A run of the learner's program: small, on two ranks, and never waiting for long; and what it shows in words.
//!
//! Never judges: `course` does.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::build::CompileError;
use super::places;
use crate::course::{Outcome, Verdict};
use crate::domain::job::{Resources, TrainingJob};
use crate::domain::model::ModelSpec;
use crate::domain::run::{RunState, RunStatus};
use crate::domain::step::{Step, StepSet};
use crate::domain::training::TrainingSpec;
use crate::launch::{StartRequest, default_preset};

const NP: usize = 2;
const EPOCHS: usize = 2;
/// Seconds until a rank says for whom it waits, and until it gives up: a deadlock is explained within 20 s.
const STALL_LIMITS: [&str; 4] = ["--stall-warning-secs", "5", "--stall-shutdown-secs", "12"];
/// Compile errors that are shown: later ones often follow from the first.
const SHOWN: usize = 3;

/// Two epochs on two ranks, with a checkpoint in each: enough for all ten checks, in a few seconds.
pub fn request(program: PathBuf, text: &str) -> StartRequest {
    let preset = default_preset(false);
    let workload = TrainingSpec {
        // What the learner takes for done; the checks look at what the program does.
        steps: places::done(text),
        epochs: EPOCHS,
        batch_size: 32,
        model: ModelSpec::wrn(10, 1),
        train_images: Some(800),
        validation_images: Some(200),
        checkpointing: true,
        // Never stopped early.
        target_accuracy: 1.01,
        trainer_flags: STALL_LIMITS.map(String::from).to_vec(),
        ..preset.spec.workload
    };
    let spec = TrainingJob { resources: Resources::ranks(NP), workload };
    StartRequest {
        program: Some(program),
        name: Some("own trainer".into()),
        offline: true,
        ..StartRequest::new(spec, preset.name)
    }
}

/// The steps that a run is asked about: those that the learner takes for done, and the next one.
pub fn asked(text: &str) -> StepSet {
    let done = places::done(text);
    Step::ALL.into_iter().find(|step| !done.contains(*step)).map_or(done, |next| done.with(next))
}

/// Whether everything that is taken for done is.
pub fn has_passed(verdicts: &[Verdict], done: StepSet) -> bool {
    !done.is_empty()
        && verdicts.iter().filter(|verdict| done.contains(verdict.step)).all(|verdict| verdict.outcome == Outcome::Passed)
}

/// The first errors of the compiler, each with its line and the step that it belongs to.
pub fn errors_in_words(errors: &[CompileError], said: &str) -> String {
    let mut text = String::new();
    for error in errors.iter().take(SHOWN) {
        let step = error.step.map(|step| format!(" (step {})", step.number())).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = match error.line {
            0 => writeln!(text, "{}", error.message),
            line => writeln!(text, "fashion_mnist.rs:{line}:{}{step}: {}", error.column, error.message),
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
        let _ = writeln!(text, "cargo could not build the exercise:");
        text.extend(lines.iter().skip(lines.len().saturating_sub(12)).map(|line| format!("    {line}\n")));
    }
    text
}

/// How the run ended and what it shows, for the steps that it is asked about.
pub fn verdict_in_words(status: &RunStatus, verdicts: &[Verdict], text: &str) -> String {
    let mut words = String::new();
    if status.state != RunState::Finished {
        let _ = writeln!(words, "the run {}: {}", status.state.name(), status.message);
        if status.message.contains("has waited") {
            let _ = writeln!(
                words,
                "    A deadlock: a collective ends only when all ranks make it. Look for one that stands where not all ranks come \
                 by, such as inside `if topology.is_root()`, or for a rank that returned early."
            );
        }
        let last = &status.last_lines;
        words.extend(last.iter().skip(last.len().saturating_sub(5)).map(|line| format!("    | {line}\n")));
    }
    let (asked, done) = (asked(text), places::done(text));
    // Of a run that broke off only what went wrong is worth telling.
    let tells = |verdict: &&Verdict| status.state == RunState::Finished || verdict.outcome == Outcome::Failed;
    for verdict in verdicts.iter().filter(|verdict| asked.contains(verdict.step)).filter(tells) {
        let next = if done.contains(verdict.step) || verdict.outcome == Outcome::Passed { "" } else { ", still to do" };
        let _ = writeln!(words, "step {:>2} {}{next}: {}", verdict.step.number(), verdict.outcome.name(), verdict.evidence);
    }
    if let Some((step, line)) = places::next(text) {
        let number = step.number();
        let has_passed = |verdict: &Verdict| verdict.step == step && verdict.outcome == Outcome::Passed;
        let _ = match verdicts.iter().any(has_passed) {
            // It is written, but the program still says that it is to do.
            true => writeln!(words, "next: your program does step {number} already, so take its TODO out of line {line}"),
            false => writeln!(words, "next: step {number} ({}), line {line}", step.title()),
        };
    }
    words
}
