//! One allreduce by a given schedule over MPI, with the messages that MPI itself counted.
//!
//! Not a run of the lab: it takes a second, and nothing of it is kept.

use std::path::Path;
use std::time::Duration;

use super::mpirun::{YIELD, first_words};
use super::setup::find_measure;
use super::{Flavour, LaunchError, Launcher, binding, libraries};
use crate::domain::collective::Schedule;
use crate::process::probe_command::ask;

/// A job of few ranks starts in a second; a busy machine takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Messages and bytes from each rank to each.
pub type Counted = Vec<Vec<(usize, u64)>>;

/// Execute the schedule once, and check every sum. Returns what MPI counted; `None` where the library counts nothing.
///
/// # Errors
/// No launcher, no `hvd-measure`, or in its own words why it failed.
pub fn execute_once(schedule: &Schedule) -> Result<Option<Counted>, LaunchError> {
    let Launcher { mpirun, flavour, .. } = Launcher::detect()?;
    let program = find_measure()?;
    let failed = |cause: String| LaunchError::BadLauncher { path: mpirun.clone(), cause };
    let folder = tempfile::tempdir().map_err(|error| failed(format!("no temporary folder: {error}")))?;
    let plan = folder.path().join("plan.json");
    let text = format!("{} {}\n{}", schedule.ranks, schedule.elements, schedule.to_plan());
    std::fs::write(&plan, text).map_err(|error| failed(format!("cannot write {}: {error}", plan.display())))?;
    let counted = folder.path().join("counted");
    let mut command = libraries::command(&mpirun);
    if matches!(flavour, Flavour::OpenMpi4 | Flavour::OpenMpi5) {
        let is_root = nix::unistd::geteuid().is_root();
        command.args(first_words(is_root, &binding::words(None, flavour, true))).args(YIELD);
        command.args(["--mca", "pml_monitoring_enable", "2", "--mca", "pml_monitoring_enable_output", "3"]);
        command.args(["--mca", "pml_monitoring_filename"]).arg(&counted);
    }
    command.args(["-np", &schedule.ranks.to_string()]).arg(&program).args(["collectives", "--schedule"]).arg(&plan);
    // Open MPI keeps its session there.
    command.env("TMPDIR", folder.path());
    let answer = ask(&mut command, PATIENCE).map_err(|error| failed(error.to_string()))?;
    if !answer.status.success() {
        let said = answer.stderr.lines().find(|line| line.contains("hvd-measure")).or(answer.stderr.lines().next());
        return Err(failed(said.unwrap_or("the job failed and said nothing").to_owned()));
    }
    Ok(read_all(&counted, schedule.ranks))
}

/// The files of Open MPI's monitoring, one of each rank.
fn read_all(path: &Path, ranks: usize) -> Option<Counted> {
    let of_rank = |rank: usize| {
        let text = std::fs::read_to_string(format!("{}.{rank}.prof", path.display())).ok()?;
        let mut sent = vec![(0, 0); ranks];
        // `E from to N bytes M msgs sent ...`: what the program sent; the library's own messages begin with I.
        for line in text.lines().filter(|line| line.starts_with('E')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let to: usize = words.get(2)?.parse().ok()?;
            *sent.get_mut(to)? = (words.get(5)?.parse().ok()?, words.get(3)?.parse().ok()?);
        }
        Some(sent)
    };
    (0..ranks).map(of_rank).collect()
}
