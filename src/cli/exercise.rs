//! `hvd-lab exercise`: the learner's own trainer, to complete, build, run and compare with the solution; and the ring.

mod ring;

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::Context;

use super::confirm::confirm;
use super::output::{print, print_exact, say};
use super::{follow, lessons};
use crate::course::judge;
use crate::domain::safe;
use crate::domain::step::Step;
use crate::exercise::{self, Built, Diff, Folder, Role, Row, Track, Watch, attempt, editor, part_named, places};
use crate::launch;
use crate::runs::{Follower, RunStore};

const EXAMPLES: &str = "\
Examples:
  hvd-lab exercise start                  your copy of the serial trainer, a TODO a step
  hvd-lab exercise edit                   open it in VISUAL or EDITOR at the next TODO
  hvd-lab exercise run                    build it, run it on two ranks, and check what it did
  hvd-lab exercise watch                  the same at every save
  hvd-lab exercise diff --step 4          exactly what step 4 changes in the trainer
  hvd-lab exercise diff                   yours against the solution
  hvd-lab exercise reset --step 4         step 4 as it was; the old file is kept
  hvd-lab exercise start --track collectives   a ring allreduce, in Python

A step is done when a run of your program shows it (`hvd-lab progress`). A program that hangs is ended and explained.
Exit code: 0 done, 1 it does not build, fails, or a step without TODO does not pass, 2 bad input.";

/// Complete the trainer yourself, step by step.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Which exercise: the ten steps of the trainer, or the ring of the collectives.
    #[arg(long, global = true, value_name = "ten-steps|collectives", default_value = "ten-steps", value_parser = track)]
    track: Track,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Make your copy of the program, unless there is one.
    Start,
    /// Where your copy is.
    Path,
    /// Open it in VISUAL or EDITOR at the next TODO.
    Edit,
    /// Build it, and show what the compiler says.
    Build,
    /// Build it, run it on two ranks, and check what it did.
    Run,
    /// Build, run and check at every save, until Ctrl-C.
    Watch,
    /// Put a step, or all of it, back to what it was; the old file is kept.
    Reset {
        /// This step alone, at each of its places: from its comment to the line that follows it in the exercise.
        #[arg(long, value_name = "N", value_parser = lessons::step)]
        step: Option<Step>,
        /// Do not ask.
        #[arg(long)]
        yes: bool,
    },
    /// What a step changes; without --step, yours against the solution of the steps that you have done.
    Diff {
        /// The step, 1 to 10.
        #[arg(long, value_name = "N", value_parser = lessons::step)]
        step: Option<Step>,
        /// Yours against the solution after this step.
        #[arg(long, requires = "step")]
        mine: bool,
        /// Beside each other, from 108 columns on.
        #[arg(long)]
        side_by_side: bool,
    },
}

/// For clap.
fn track(name: &str) -> Result<Track, String> {
    let names = || Track::ALL.map(Track::name).join(" or ");
    Track::ALL.into_iter().find(|track| track.name() == name).ok_or_else(|| format!("use {}", names()))
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let home = RunStore::default_home()?;
    if args.track == Track::Collectives {
        return ring::run(&home, args.what);
    }
    let folder = Folder::of(&home);
    match args.what {
        What::Start => {
            let what = if folder.start()? { "made" } else { "there already" };
            print(&format!("{}\n", folder.program().display()))?;
            say(&format!("{what}; {}", next_in_words(&folder.read()?)));
            Ok(ExitCode::SUCCESS)
        }
        What::Path => {
            print(&format!("{}\n", folder.program().display()))?;
            Ok(ExitCode::SUCCESS)
        }
        What::Edit => edit(&folder),
        What::Build => Ok(if build(&folder)?.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
        What::Run => attempt(&home, &folder),
        What::Watch => watch(&folder, || attempt(&home, &folder)),
        What::Reset { step, yes } => reset(&folder, step, yes),
        What::Diff { step, mine, side_by_side } => {
            let diff = match (step, mine) {
                (Some(step), false) => Diff::of_step(step),
                (Some(step), true) => Diff::to_solution(&folder.read()?, step),
                (None, _) => {
                    let text = folder.read()?;
                    Diff::to_solution(&text, places::reached(&text))
                }
            };
            print_exact(&text(&exercise::rows(&diff, columns(), side_by_side)))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn next_in_words(text: &str) -> String {
    match places::next(text) {
        Some((step, line)) => format!("next: step {} ({}), line {line}", step.number(), step.title()),
        None => "no TODO is left".into(),
    }
}

fn edit(folder: &Folder) -> anyhow::Result<ExitCode> {
    folder.start()?;
    let line = places::next(&folder.read()?).map_or(1, |(_, line)| line);
    open_editor(folder, line)
}

fn open_editor(folder: &Folder, line: usize) -> anyhow::Result<ExitCode> {
    let words = editor::command(&folder.program(), line);
    let status = Command::new(&words[0]).args(&words[1..]).status();
    let status = status.with_context(|| format!("cannot start the editor `{}`: set EDITOR to one that is there", words[0]))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The program, if it builds; else the errors are told.
fn build(folder: &Folder) -> anyhow::Result<Option<std::path::PathBuf>> {
    say(&format!("building {} (the first time takes longer) ...", folder.program().display()));
    match exercise::build(folder)? {
        Built::Program(program) => Ok(Some(program)),
        Built::Errors { errors, said } => {
            print(&attempt::errors_in_words(&errors, &said))?;
            Ok(None)
        }
    }
}

fn attempt(home: &Path, folder: &Folder) -> anyhow::Result<ExitCode> {
    let source = folder.read()?;
    let Some(program) = build(folder)? else { return Ok(ExitCode::FAILURE) };
    let store = RunStore::open(home)?;
    let run = launch::start(&store, attempt::request(program, &source))?;
    follow::follow(&store, run, Follower::new(store.folder(run)), false)?;
    let judged = judge(&store, home, run, None)?;
    print(&format!("\n{}", attempt::verdict_in_words(&store.status(run)?, &judged.verdicts, &source)))?;
    judged.reading.note.iter().for_each(|note| say(note));
    judged.new.iter().for_each(|step| say(&format!("step {} is done: {}", step.number(), step.title())));
    let has_passed = attempt::has_passed(&judged.verdicts, places::done(&source));
    Ok(if has_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Try at every save, until Ctrl-C.
fn watch(folder: &Folder, attempt: impl Fn() -> anyhow::Result<ExitCode>) -> anyhow::Result<ExitCode> {
    folder.start()?;
    let watch = Watch::start(folder)
        .with_context(|| format!("{} cannot be watched: run `hvd-lab exercise run` after each save", folder.path().display()))?;
    loop {
        if let Err(error) = attempt() {
            say(&format!("{error:#}"));
        }
        say(&format!("waiting for the next save of {} (Ctrl-C leaves)", folder.program().display()));
        while !watch.next(Duration::from_secs(3600)) {}
    }
}

fn reset(folder: &Folder, step: Option<Step>, yes: bool) -> anyhow::Result<ExitCode> {
    let what = part_named(step);
    if !yes && !confirm(&format!("Put {what} back to what it was? The old file is kept."))? {
        return Ok(ExitCode::FAILURE);
    }
    let backup = folder.reset(step)?;
    say(&format!("{what} is as it was; what you had is in {}", backup.display()));
    Ok(ExitCode::SUCCESS)
}

/// Of the terminal; a pipe has no width, and gets lines as they are.
fn columns() -> usize {
    match io::stdout().is_terminal() {
        true => crate::tui::columns().unwrap_or(80),
        false => 160,
    }
}

/// With colours where standard output is a terminal that wants them.
fn text(rows: &[Row]) -> String {
    let coloured = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let piece = |piece: &exercise::Piece| match (coloured, code(piece.role)) {
        (true, Some(code)) => format!("\x1b[{code}m{}\x1b[0m", safe::line(&piece.text)),
        _ => safe::line(&piece.text).into_owned(),
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
