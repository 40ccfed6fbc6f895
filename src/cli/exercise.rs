//! `hvd-lab exercise`: the learner's own trainer, to complete, build, run and compare with the solution; and the ring.

mod ring;
mod shared;

use std::path::Path;
use std::process::ExitCode;

use self::shared::{What, columns, open_editor, reset, text, watch};
use super::follow;
use super::output::{print, print_exact, say};
use crate::course::judge;
use crate::exercise::{self, Built, Diff, Folder, Track, attempt, places};
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
    judged.first.iter().for_each(|(level, steps)| say(&level.first_in_words(*steps)));
    let has_passed = attempt::has_passed(&judged.verdicts, places::done(&source));
    Ok(if has_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
