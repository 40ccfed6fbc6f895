//! The lab: parse, wire, run. Never does anything itself.

#![deny(clippy::print_stderr, clippy::print_stdout)]

use std::process::ExitCode;

use hvd_lab_terminal::cli;

fn main() -> ExitCode {
    if let Err(problem) = cli::settle() {
        return cli::refuse_start(&problem);
    }
    let done = match cli::parse(std::env::args_os()) {
        Ok(asked) => cli::obey(&asked),
        Err(error) => return cli::refuse(&error),
    };
    done.unwrap_or_else(|error| {
        cli::say(&format!("{error:#}"));
        cli::exit_code(&error)
    })
}
