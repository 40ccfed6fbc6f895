//! `make bench`: see BENCHMARKS.md.
//!
//! Never passes for a test: a missed target is a row that says so, and the exit code is 1 only where a run failed.

#![allow(clippy::unwrap_used)]

mod bench;

mod support {
    // The tests of the screen use the other half of it.
    #[allow(dead_code)]
    pub mod pty;
}

use std::path::Path;
use std::process::ExitCode;

use bench::options::Options;
use clap::Parser;

fn main() -> ExitCode {
    let options = Options::parse();
    let report = match bench::run(&options, true) {
        Ok(report) => report,
        Err(why) => {
            eprintln!("bench: {why}");
            return ExitCode::from(2);
        }
    };
    let markdown = report.to_markdown();
    print!("{markdown}");
    let files = [(&options.markdown, markdown), (&options.json, format!("{:#}\n", report.to_json()))];
    for (file, text) in files.iter().filter_map(|(file, text)| Some((file.as_deref()?, text))) {
        if let Err(error) = write(file, text) {
            eprintln!("bench: `{}` cannot be written: {error}", file.display());
            return ExitCode::from(2);
        }
    }
    ExitCode::from(u8::from(!report.failures.is_empty()))
}

fn write(file: &Path, text: &str) -> std::io::Result<()> {
    std::fs::write(file, text)
}
