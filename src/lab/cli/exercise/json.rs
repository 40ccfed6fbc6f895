//! `hvd-lab exercise run --json`: what came of an attempt, as one JSON object.

use serde_json::{Value, json};

use crate::course::Verdict;
use crate::domain::run::RunStatus;
use crate::exercise::ring::Ring;
use crate::exercise::{Attempted, CompileError, Folder, Program, Track};

/// The fields of every attempt, in their order: of a program that was not run, and of which there is nothing to say.
fn object(track: Track, folder: &Folder, words: &str, fields: Value) -> Value {
    let mut object = json!({
        "track": track.name(),
        "file": folder.program(),
        "run": null,
        "state": null,
        "message": null,
        "passed": false,
        "verdicts": [],
        "errors": [],
        "words": words,
        "next": null,
        "notes": [],
    });
    if let Value::Object(fields) = fields {
        fields.into_iter().for_each(|(name, value)| object[name] = value);
    }
    object
}

/// A program that was run: the verdict on each of its places, and how its run ended.
pub fn attempted(program: &'static Program, folder: &Folder, text: &str, attempted: &Attempted, status: &RunStatus) -> Value {
    let done = program.done(text);
    let verdict = |shown: &Verdict| {
        json!({
            "number": shown.number,
            "title": (program.title)(shown.number),
            "is_done": done.contains(&shown.number),
            "outcome": shown.outcome,
            "evidence": shown.evidence,
            "line": program.line_of(text, shown.number),
        })
    };
    let fields = json!({
        "run": attempted.run,
        "state": status.state,
        "message": status.message,
        "passed": attempted.has_passed,
        "verdicts": attempted.shown.iter().map(verdict).collect::<Vec<_>>(),
        "next": attempted.next(),
        "notes": attempted.notes,
    });
    object(Track::Program(program), folder, &attempted.words, fields)
}

/// A program that could not be built, so nothing was run.
pub fn broken(program: &'static Program, folder: &Folder, errors: &[CompileError], words: &str) -> Value {
    let error = |error: &CompileError| {
        json!({
            "message": error.message,
            "line": (error.line > 0).then_some(error.line),
            "column": (error.line > 0).then_some(error.column),
            "number": error.place,
            "help": error.help,
        })
    };
    let errors: Vec<Value> = errors.iter().map(error).collect();
    object(Track::Program(program), folder, words, json!({ "errors": errors }))
}

/// A plan of a ring, which leaves no run. `on_ranks` is what came of it over MPI, if it was tried there.
pub fn ring(folder: &Folder, ring: &Ring, on_ranks: Option<&Result<String, String>>, next: Option<&str>) -> Value {
    let said = |on_ranks: &Result<String, String>| on_ranks.clone().unwrap_or_else(|why| why);
    let message = ring.outcome().err().or_else(|| on_ranks.map(said));
    let passed = matches!((ring, on_ranks), (Ring::Right(_), Some(Ok(_))));
    object(Track::Collectives, folder, &ring.in_words(), json!({ "message": message, "passed": passed, "next": next }))
}
