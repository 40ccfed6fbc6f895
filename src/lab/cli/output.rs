//! What all verbs share: standard output and standard error, files that a user asks for, the screen, and the word for bad input.
//!
//! Never decides what is printed, and never lets through what could do anything but be read. No other file of the verbs writes to
//! the terminal, so that none can forget that.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::domain::printable;
use crate::host::{file_limit, files};
use crate::runs::RunSummary;
use crate::tui;

/// Input that makes no sense, in one line that says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// The screen, or what to use where there is no terminal for it.
pub fn screen(options: tui::Options) -> anyhow::Result<ExitCode> {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        let advice = "the screen needs a terminal. Without one, use `hvd-lab run`, `runs`, `compare` (`hvd-lab --help` \
            lists all)";
        return Err(Usage(advice.into()).into());
    }
    // It cannot place the cursor: a screen of escape sequences would be all it shows.
    if std::env::var("TERM").is_ok_and(|term| term == "dumb") {
        let advice =
            "this terminal (TERM=dumb) cannot show the screen. Use `hvd-lab run`, `runs`, `compare` (`hvd-lab --help` lists all)";
        return Err(Usage(advice.into()).into());
    }
    tui::run(options)
}

/// Write a text to standard output; false when its reader has closed it.
pub(super) fn print(text: &str) -> io::Result<bool> {
    print_exact(&printable::lines(text))
}

/// The same, where tabs stay: programs that a run starts part columns by them, and others read these columns.
pub(super) fn print_columns(text: &str) -> io::Result<bool> {
    print_exact(&text.split('\t').map(printable::lines).collect::<Vec<_>>().join("\t"))
}

/// Write the whole answer of a verb, which ends with success.
pub(super) fn print_done(text: &str) -> anyhow::Result<ExitCode> {
    print(text)?;
    Ok(ExitCode::SUCCESS)
}

/// Write a text as it is: a script, a file's content, or colours around parts that are safe.
pub(super) fn print_exact(text: &str) -> io::Result<bool> {
    write_out(text.as_bytes())
}

fn write_out(bytes: &[u8]) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    match file_limit::explained(out.write_all(bytes).and_then(|()| out.flush())) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(io::Error::new(error.kind(), format!("standard output cannot be written: {error}"))),
        Ok(()) => Ok(true),
    }
}

/// Write the file that a flag such as --out names, or to standard output for `-`. One that is there is replaced only where --force
/// was given.
///
/// # Errors
/// [`Usage`] for a name that the user can correct; another error for a full disk.
pub(super) fn save(path: &Path, bytes: &[u8], force: bool) -> anyhow::Result<()> {
    if is_standard_output(path) {
        // Text may get to a terminal. Anything else is a recording, for a pipe.
        return Ok(std::str::from_utf8(bytes).map_or_else(|_| write_out(bytes), print).map(drop)?);
    }
    let Err(error) = files::export(path, force, |file| file.write_all(bytes)) else { return Ok(()) };
    let name = path.display();
    let advice = match error.kind() {
        io::ErrorKind::AlreadyExists => format!("{name} is there already: give another name, or --force to replace it"),
        io::ErrorKind::NotFound => format!("cannot write {name}: there is no such folder. Make it first, or give another name"),
        io::ErrorKind::IsADirectory => format!("{name} is a folder: give the name of a file"),
        // These say what to do themselves.
        io::ErrorKind::FileTooLarge => anyhow::bail!("cannot write {name}: {error}"),
        io::ErrorKind::PermissionDenied if error.get_ref().is_some() => format!("cannot write {name}: {error}"),
        _ if files::is_full(&error) => anyhow::bail!("cannot write {name}: {error}. Free some space, or write to another disk"),
        _ => format!("cannot write {name}: {error}. Give another name"),
    };
    Err(Usage(advice).into())
}

pub(super) fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A value as JSON for programs, with lines that people can read too.
pub(super) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<bool> {
    Ok(print_json_text(&format!("{}\n", serde_json::to_string_pretty(value)?))?)
}

/// A value as JSON, as the whole answer of a verb, which ends with success.
pub(super) fn print_json_done(value: &impl serde::Serialize) -> anyhow::Result<ExitCode> {
    print_json(value)?;
    Ok(ExitCode::SUCCESS)
}

/// What a verb has found: as JSON for programs, or as a text for people. Only the one that is printed is made.
pub(super) fn print_either<T: serde::Serialize>(
    as_json: bool,
    value: impl FnOnce() -> T,
    text: impl FnOnce() -> String,
) -> anyhow::Result<bool> {
    if as_json { print_json(&value()) } else { Ok(print(&text())?) }
}

/// JSON that is text already.
pub(super) fn print_json_text(text: &str) -> io::Result<bool> {
    print_exact(&printable::json(text))
}

/// A message on standard error, in the lab's name. Whether anybody can read it changes nothing: standard error may be closed, or
/// be a terminal that is gone.
pub fn say(text: &str) {
    // Only what the lab says itself begins at the left.
    say_bare(&format!("hvd-lab: {}", text.trim_end().replace('\n', "\n    ")));
}

/// What is wrong with the events of these runs.
pub(super) fn say_damaged<'a>(runs: impl IntoIterator<Item = &'a RunSummary>) {
    for run in runs {
        run.damaged.iter().for_each(|damaged| say(&format!("run {}: {damaged}", run.id)));
    }
}

/// A line on standard error as it is, apart from what is not safe.
pub(super) fn say_bare(text: &str) {
    write_error(&format!("{}\n", printable::lines(text)));
}

/// What the user is asked, on standard error; the answer is typed behind it.
pub(super) fn ask(question: &str) {
    write_error(&printable::line(question));
}

fn write_error(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
