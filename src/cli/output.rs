//! What all verbs share: their standard output, the screen, and the word for bad input.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use crate::tui;

/// Input that makes no sense, in one line that says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// The screen, or what to use where there is no terminal for it.
pub fn screen(options: tui::Options) -> anyhow::Result<ExitCode> {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        let advice = "the screen needs a terminal. Without one: `hvd-lab run`, `runs`, `compare` (`hvd-lab --help` lists all)";
        return Err(Usage(advice.into()).into());
    }
    tui::run(options)
}

/// Write a text to standard output; false when nobody reads it any more.
pub(super) fn print(text: &str) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        done => done.map(|()| true),
    }
}

/// A value as JSON for programs, with lines that people can read too.
pub(super) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<bool> {
    Ok(print(&format!("{}\n", serde_json::to_string_pretty(value)?))?)
}
