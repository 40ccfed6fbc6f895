//! How a build of the learner's program ends: with a program to run, or with errors that have a line.

use std::path::PathBuf;

use super::program::Program;

/// How a build ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Built {
    Program(PathBuf),
    /// The compiler's errors in the learner's program; where there are none, cargo's own words.
    Errors {
        errors: Vec<CompileError>,
        said: String,
    },
}

/// One error of the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    pub message: String,
    /// Counted from 1; 0 where the error is at no line.
    pub line: usize,
    pub column: usize,
    /// The line in the program, and what is wrong with it.
    pub source: String,
    pub label: Option<String>,
    /// The first hint of the compiler.
    pub help: Option<String>,
    /// The number in whose place the line is.
    pub place: Option<usize>,
}

impl CompileError {
    /// An error without a label and a hint. `text` is the program, and `line` counts from 1; 0 is no line.
    pub(super) fn at(program: &Program, text: &str, message: String, line: usize, column: usize) -> CompileError {
        let source = line.checked_sub(1).and_then(|index| text.lines().nth(index)).unwrap_or_default().trim().to_owned();
        let place = if line > 0 { program.place_at(text, line) } else { None };
        CompileError { message, line, column, source, label: None, help: None, place }
    }
}
