//! Functions for all exercises: flags, editor, watching, reset, and printing a difference.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::Context;

use super::super::confirm::confirm;
use super::super::interrupt;
use super::super::output::{Usage, print_exact, say};
use crate::course::{Progress, ProgressFile};
use crate::domain::printable;
use crate::exercise::{self, Diff, Folder, Role, Row, Watch, editor};
use crate::host::access;

/// How often we look for Ctrl-C while we wait for a save.
const LOOK_EVERY: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Subcommand)]
pub(super) enum What {
    /// Make your copy of the program, unless there is one.
    Start,
    /// Where your copy is.
    Path,
    /// Open it in VISUAL or EDITOR at the next TODO.
    Edit,
    #[command(flatten)]
    Try(Try),
}

/// The verbs that a program and the ring do in different ways.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Try {
    /// Build it, and show what the compiler says.
    Build,
    /// Build it, run it on two ranks, and check what it did.
    Run {
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Build it, run it on one rank and on two, and set them side by side: time and test accuracy.
    Compare,
    /// Build, run and check at every save, until Ctrl-C.
    Watch,
    /// Put a step or a change, or all of it, back to what it was; the old file is kept.
    Reset {
        /// This one alone, at each of its places: from its comment to the line that follows it in the exercise.
        #[arg(long, visible_alias = "change", value_name = "N")]
        step: Option<usize>,
        /// Do not ask.
        #[arg(long)]
        yes: bool,
    },
    /// What a step or a change is; without a number, yours against the solution of what you have done.
    Diff {
        /// The step, 1 to 10, or the change of another track, from 1.
        #[arg(long, visible_alias = "change", value_name = "N")]
        step: Option<usize>,
        /// Yours against the solution after it.
        #[arg(long, requires = "step")]
        mine: bool,
        /// Beside each other, from 108 columns on.
        #[arg(long)]
        side_by_side: bool,
    },
}

pub(super) fn open_editor(folder: &Folder, line: usize) -> anyhow::Result<ExitCode> {
    // An editor that draws a screen would wait for keys that never come.
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        let path = folder.program();
        return Err(Usage(format!("an editor needs a terminal: open {} in one of yours", path.display())).into());
    }
    let words = editor::command(&folder.program(), line);
    let started = access::as_user(|| Command::new(&words[0]).args(&words[1..]).spawn());
    let status = started.and_then(|mut editor| editor.wait());
    let status = status.with_context(|| format!("cannot start the editor `{}`: set EDITOR to one that is there", words[0]))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Try at every save, until Ctrl-C.
pub(super) fn watch(folder: &Folder, attempt: impl Fn() -> anyhow::Result<ExitCode>) -> anyhow::Result<ExitCode> {
    folder.start()?;
    interrupt::heed(interrupt::CTRL_C)?;
    let watch = Watch::start(folder)
        .with_context(|| format!("{} cannot be watched: run `hvd-lab exercise run` after each save", folder.path().display()))?;
    loop {
        if let Err(error) = attempt() {
            say(&format!("{error:#}"));
        }
        // It may have ended a run before.
        if !interrupt::is_asked() {
            say(&format!("waiting for the next save of {} (Ctrl-C leaves)", folder.program().display()));
        }
        while !watch.next(LOOK_EVERY) {
            if interrupt::is_asked() {
                return Ok(ExitCode::from(interrupt::EXIT_CODE));
            }
        }
    }
}

/// Changes the progress, and prints a note if it cannot be saved.
pub(super) fn note(home: &Path, change: impl FnOnce(&mut Progress)) {
    ProgressFile::of(home).note(change).iter().for_each(|note| say(note));
}

/// `what` is its name in words.
pub(super) fn reset(folder: &Folder, number: Option<usize>, what: &str, yes: bool) -> anyhow::Result<ExitCode> {
    if !yes && !confirm(&format!("Put {what} back to what it was? The old file is kept."))? {
        return Ok(ExitCode::FAILURE);
    }
    let backup = folder.reset(number)?;
    say(&format!("{what} is as it was; what you had is in {}", backup.display()));
    Ok(ExitCode::SUCCESS)
}

/// Prints a difference, with colours if standard output is a terminal that wants them.
pub(super) fn print_diff(diff: &Diff, side_by_side: bool) -> anyhow::Result<ExitCode> {
    // A pipe has no width, so its lines are hardly cut.
    let columns = if io::stdout().is_terminal() { crate::tui::size().map_or(80, |(columns, _)| columns) } else { 160 };
    print_exact(&text(&exercise::rows(diff, columns, side_by_side)))?;
    Ok(ExitCode::SUCCESS)
}

fn text(rows: &[Row]) -> String {
    let coloured = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let piece = |piece: &exercise::Piece| match (coloured, code(piece.role)) {
        (true, Some(code)) => format!("\x1b[{code}m{}\x1b[0m", printable::line(&piece.text)),
        _ => printable::line(&piece.text).into_owned(),
    };
    rows.iter().map(|row| row.iter().map(piece).collect::<String>().trim_end().to_owned() + "\n").collect()
}

/// Orange goes, blue comes, and what changed in a line is underlined.
fn code(role: Role) -> Option<&'static str> {
    match role {
        Role::Same => None,
        Role::Sign => Some("2"),
        Role::Removed => Some("38;5;166"),
        Role::RemovedWord => Some("1;4;38;5;166"),
        Role::Added => Some("38;5;32"),
        Role::AddedWord => Some("1;4;38;5;32"),
    }
}
