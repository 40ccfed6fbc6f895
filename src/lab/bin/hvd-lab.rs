//! The lab: parse, wire, run. Never does anything itself.

#![deny(clippy::print_stderr, clippy::print_stdout)]

use std::process::ExitCode;

use hvd_lab_terminal::cli::{self, Cli};
use hvd_lab_terminal::tui::Options;

fn main() -> ExitCode {
    if let Err(problem) = cli::settle() {
        return cli::refuse_start(&problem);
    }
    let done = match cli::parse(std::env::args_os()) {
        Ok(Cli { verb: Some(verb), .. }) => cli::dispatch(verb),
        Ok(Cli { verb: None, ascii, lessons, tour }) => cli::screen(Options { ascii, lessons, tour, replay: None }),
        Err(error) => return cli::refuse(&error),
    };
    done.unwrap_or_else(|error| {
        cli::say(&format!("{error:#}"));
        cli::exit_code(&error)
    })
}
