//! What the ranks of a measurement run: a benchmark, a training on photos or allreduces, as the first word says.

mod bench;
mod collectives;
mod feed;
mod nvcnn;

use std::ffi::OsString;
use std::iter::once;
use std::process::ExitCode;

use hvd_lab::trainer::config::Stop;
use hvd_lab::trainer::startup;

const HELP: &str = "\
Measures, as one rank of many.

Usage: hvd-measure <COMMAND> [FLAGS]

Commands:
  bench        Images a second that a model is trained on, on one fixed batch of noise or on photos
  nvcnn        A training on photos, as NVIDIA's nvcnn does it
  collectives  Allreduces of float32, algorithm by algorithm and size by size

`hvd-measure <COMMAND> --help` shows its flags. `hvd-lab` starts it for you, and keeps the results.";

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let command = words.next().unwrap_or_else(|| "--help".into());
    let flags = |program: &str| once(OsString::from(program)).chain(words).collect();
    let (text, code) = match command.to_str() {
        Some("bench") => return bench::main(flags(bench::PROGRAM)),
        Some("nvcnn") => return nvcnn::main(flags(hvd_lab::trainer::nvcnn::PROGRAM)),
        Some("collectives") => return collectives::main(flags(collectives::PROGRAM)),
        Some("--help" | "-h") => (HELP.to_owned(), 0),
        Some("--version" | "-V") => (concat!("hvd-measure ", env!("CARGO_PKG_VERSION")).to_owned(), 0),
        Some("--build-info") => return startup::print_build_info(),
        _ => (format!("hvd-measure: {} is not a command. See hvd-measure --help", command.display()), 2),
    };
    startup::refuse_flags(&Stop { text, code })
}
