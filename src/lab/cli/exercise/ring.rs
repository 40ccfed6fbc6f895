//! `hvd-lab exercise --track collectives`: the ring allreduce, to complete in Python.

use std::path::Path;
use std::process::ExitCode;

use super::super::output::{Usage, print, print_json, say};
use super::json;
use super::verbs::{Try, note, print_diff, reset, watch};
use crate::exercise::ring::{Ring, attempt, execute};
use crate::exercise::{Diff, Folder, RING_SOLUTION, Track};

pub fn run(home: &Path, folder: &Folder, what: Try) -> anyhow::Result<ExitCode> {
    match what {
        Try::Run { json } => judge(home, folder, json),
        Try::Watch => watch(folder, || judge(home, folder, false)),
        Try::Reset { step: None, yes } => reset(folder, None, "the whole program", yes),
        Try::Diff { step: None, side_by_side, .. } => {
            let yours = folder.read()?;
            let diff = Diff::new(("yours", yours.as_str()), ("solution", RING_SOLUTION));
            print_diff(&diff, side_by_side)
        }
        Try::Build => Err(Usage("a program in Python needs no build: `hvd-lab exercise run --track collectives`".into()).into()),
        Try::Compare => {
            Err(Usage("the ring is a plan: `hvd-lab collectives run --algorithm ring,mpi` times the ring itself".into()).into())
        }
        Try::Reset { .. } | Try::Diff { .. } => Err(Usage("the track collectives has no steps: leave out --step".into()).into()),
    }
}

fn judge(home: &Path, folder: &Folder, as_json: bool) -> anyhow::Result<ExitCode> {
    folder.read()?;
    let ring = attempt(&folder.program()).map_err(Usage)?;
    note(home, |progress| progress.practise(Track::Collectives.name()).attempt(ring.outcome()));
    if !as_json {
        print(&ring.in_words())?;
    }
    let on_ranks = match &ring {
        Ring::Right(schedule) => {
            say("running it over MPI on 4 ranks ...");
            Some(execute(schedule))
        }
        Ring::Wrong { .. } => None,
    };
    let next = matches!(on_ranks, Some(Ok(_))).then(|| Track::Collectives.after(home));
    match &on_ranks {
        _ if as_json => {
            let next = next.as_deref().map(|line| line.trim_start_matches("next: ").trim_end());
            print_json(&json::ring(folder, &ring, on_ranks.as_ref(), next))?;
        }
        Some(Ok(said)) => _ = print(&format!("{said}\n{}", next.as_deref().unwrap_or_default()))?,
        Some(Err(why)) => _ = print(&format!("not run over MPI: {why}\n"))?,
        None => {}
    }
    Ok(if next.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
