//! `hvd-lab exercise --track collectives`: the ring allreduce, to complete in Python.

use std::path::Path;
use std::process::ExitCode;

use super::super::output::{Usage, print, print_exact, say};
use super::shared::{self, What, columns, note, reset, text};
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

fn judge(home: &Path, folder: &Folder) -> anyhow::Result<ExitCode> {
    folder.read()?;
    let ring = attempt(&folder.program()).map_err(Usage)?;
    note(home, |progress| progress.attempt_ring(ring.outcome()));
    print(&ring.in_words())?;
    let Ring::Right(schedule) = ring else { return Ok(ExitCode::FAILURE) };
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
