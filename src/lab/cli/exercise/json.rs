//! `hvd-lab exercise run --json`: what came of an attempt, as one JSON object.

use serde_json::{Value, json};

use crate::course::Shown;
use crate::domain::run::RunStatus;
use crate::exercise::ring::Ring;
use crate::exercise::{Attempted, CompileError, Folder, Program};

/// A program that was run: the verdict on each of its places, and how its run ended.
pub fn attempted(program: &Program, folder: &Folder, text: &str, attempted: &Attempted, status: &RunStatus) -> Value {
    let done = program.done(text);
    let verdict = |shown: &Shown| {
        json!({
            "number": shown.number,
            "title": (program.title)(shown.number),
            "is_done": done.contains(&shown.number),
            "outcome": shown.outcome,
            "evidence": shown.evidence,
            "line": program.line_of(text, shown.number),
        })
    };
    json!({
        "track": program.track,
        "file": folder.program(),
        "run": attempted.run,
        "state": status.state,
        "message": status.message,
        "passed": attempted.has_passed,
        "verdicts": attempted.shown.iter().map(verdict).collect::<Vec<_>>(),
        "errors": [],
        "words": attempted.words,
        "next": attempted.next(),
        "notes": attempted.notes,
    })
}

/// A program that could not be built, so nothing was run.
pub fn broken(program: &Program, folder: &Folder, errors: &[CompileError], words: &str) -> Value {
    let error = |error: &CompileError| {
        json!({
            "message": error.message,
            "line": (error.line > 0).then_some(error.line),
            "column": (error.line > 0).then_some(error.column),
            "number": error.place,
            "help": error.help,
        })
    };
    json!({
        "track": program.track,
        "file": folder.program(),
        "run": null,
        "state": null,
        "message": null,
        "passed": false,
        "verdicts": [],
        "errors": errors.iter().map(error).collect::<Vec<_>>(),
        "words": words,
        "next": null,
        "notes": [],
    })
}

/// A plan of a ring, which leaves no run. `on_ranks` is what came of it over MPI, if it was tried there.
pub fn ring(folder: &Folder, ring: &Ring, on_ranks: Option<&Result<String, String>>, next: Option<&str>) -> Value {
    let said = |on_ranks: &Result<String, String>| on_ranks.clone().unwrap_or_else(|why| why);
    let message = ring.outcome().err().or_else(|| on_ranks.map(said));
    json!({
        "track": "collectives",
        "file": folder.program(),
        "run": null,
        "state": null,
        "message": message,
        "passed": matches!((ring, on_ranks), (Ring::Right(_), Some(Ok(_)))),
        "verdicts": [],
        "errors": [],
        "words": ring.in_words(),
        "next": next,
        "notes": [],
    })
}
