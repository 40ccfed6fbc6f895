//! `hvd-lab exercise --track collectives`: the ring allreduce, to complete in Python.

use std::path::Path;
use std::process::ExitCode;

use super::super::output::{Usage, print, print_exact, say};
use super::shared::{self, What, columns, reset, text};
use crate::course::{Progress, ProgressFile};
use crate::exercise::ring::{Ring, attempt, execute};
use crate::exercise::{self, Diff, Folder, RING_SOLUTION, Track};

pub fn run(home: &Path, what: What) -> anyhow::Result<ExitCode> {
    let folder = Folder::of_track(home, Track::Collectives);
    match what {
        What::Start => {
            let what = if folder.start()? { "made" } else { "there already" };
            note(home, |progress| _ = progress.start_ring());
            print(&format!("{}\n", folder.program().display()))?;
            say(&format!("{what}; complete the two places marked TODO, then: hvd-lab exercise run --track collectives"));
            Ok(ExitCode::SUCCESS)
        }
        What::Path => {
            print(&format!("{}\n", folder.program().display()))?;
            Ok(ExitCode::SUCCESS)
        }
        What::Edit => {
            folder.start()?;
            let line = folder.read()?.lines().position(|line| line.contains("TODO ")).map_or(1, |line| line + 1);
            shared::open_editor(&folder, line)
        }
        What::Run => judge(home, &folder),
        What::Watch => shared::watch(&folder, || judge(home, &folder)),
        What::Reset { step: None, yes } => reset(&folder, None, "the whole program", yes),
        What::Diff { step: None, side_by_side, .. } => {
            let yours = folder.read()?;
            let diff = Diff::new(("yours", yours.as_str()), ("solution", RING_SOLUTION));
            print_exact(&text(&exercise::rows(&diff, columns(), side_by_side)))?;
            Ok(ExitCode::SUCCESS)
        }
        What::Build => Err(Usage("a program in Python needs no build: `hvd-lab exercise run --track collectives`".into()).into()),
        What::Compare => {
            Err(Usage("the ring is a plan: `hvd-lab collectives run --algorithm ring,mpi` times the ring itself".into()).into())
        }
        What::Reset { .. } | What::Diff { .. } => {
            Err(Usage("the track collectives has no steps: leave out --step".into()).into())
        }
    }
}

/// Progress that cannot be kept stands in nobody's way.
fn note(home: &Path, change: impl FnOnce(&mut Progress)) {
    match ProgressFile::of(home).update(change) {
        Ok((_, reading)) => reading.note.iter().for_each(|note| say(note)),
        Err(error) => say(&format!("progress could not be kept: {error}")),
    }
}

fn judge(home: &Path, folder: &Folder) -> anyhow::Result<ExitCode> {
    folder.read()?;
    let ring = attempt(&folder.program()).map_err(Usage)?;
    let outcome = if let Ring::Wrong { why, .. } = &ring { Err(why.clone()) } else { Ok(()) };
    note(home, |progress| progress.attempt_ring(outcome));
    match ring {
        Ring::Wrong { why, printed } => {
            let printed: String = printed.iter().map(|line| format!("    | {line}\n")).collect();
            print(&format!("{printed}not yet: {why}\n"))?;
            Ok(ExitCode::FAILURE)
        }
        Ring::Right(schedule) => {
            let (messages, rounds) = (schedule.messages_from(0), schedule.rounds.len());
            print(&format!(
                "right: it is a ring for 1 to 8 ranks. With 4 ranks: {rounds} rounds, {messages} messages from each rank.\n"
            ))?;
            say("running it over MPI on 4 ranks ...");
            match execute(&schedule) {
                Ok(said) => {
                    print(&format!("{said}\n"))?;
                    Ok(ExitCode::SUCCESS)
                }
                Err(why) => {
                    print(&format!("not run over MPI: {why}\n"))?;
                    Ok(ExitCode::FAILURE)
                }
            }
        }
    }
}
