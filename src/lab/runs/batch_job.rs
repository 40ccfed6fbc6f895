//! The job of Slurm that a run is: its name in the folder of the run, and Slurm's programs asked about it as if nothing were set around
//! them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

use crate::domain::printable;
use crate::process::probe_command::{Answer, NoAnswer, ask};

/// The file in which a run that is a batch job keeps its name, and the word in it while the job is followed.
const JOB_NUMBER: &str = "job.id";
pub const JOB_FOLLOWED: &str = "followed";

/// How long we wait for Slurm to cancel a job.
const CANCEL_PATIENCE: Duration = Duration::from_secs(10);

/// Of the job that this may be in: the new one gets its own. And what would ask the lab's questions in another way.
const OF_SLURM: [&str; 6] = ["SLURM_", "SLURMD_", "SRUN_", "SQUEUE_", "SCANCEL_", "SACCT_"];
/// Of the launcher that this may be started by.
const OF_LAUNCHERS: [&str; 8] = ["PMI_", "PMI2_", "PMIX_", "OMPI_COMM_", "OMPI_UNIVERSE_", "PRTE_LAUNCHED", "HYDI_", "MPI_LOCAL"];
/// Where the cluster is, who asks, and what a user wishes of PMIx.
const STAY: [&str; 4] = ["SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT", "PMIX_MCA_"];

/// A job as sbatch names it: `17`, or `17;cluster` on another cluster than this machine's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchJob {
    pub number: u32,
    pub cluster: Option<String>,
}

impl FromStr for BatchJob {
    type Err = ();

    fn from_str(text: &str) -> Result<BatchJob, ()> {
        let (number, cluster) = text.split_once(';').map_or((text, ""), |(number, cluster)| (number, cluster.trim()));
        if cluster.starts_with('-') || cluster.contains(char::is_whitespace) {
            return Err(());
        }
        let number = number.parse().ok().filter(|number| *number > 0).ok_or(())?;
        Ok(BatchJob { number, cluster: (!cluster.is_empty()).then(|| cluster.to_owned()) })
    }
}

impl std::fmt::Display for BatchJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cluster = self.cluster.iter().map(|cluster| format!(";{cluster}"));
        write!(f, "{}{}", self.number, cluster.collect::<String>())
    }
}

impl BatchJob {
    /// One of Slurm's programs, asked on the cluster of this job.
    ///
    /// # Errors
    /// It does not start, or does not answer.
    pub fn ask(&self, program: &str, words: &[&str], patience: Duration) -> Result<Answer, NoAnswer> {
        let mut command = Command::new(program);
        command.args(self.cluster.iter().flat_map(|cluster| ["-M", cluster])).args(words);
        without_others(&mut command);
        ask(&mut command, patience)
    }

    /// Have Slurm end it. One that is over already is fine too.
    ///
    /// # Errors
    /// The job may go on, in a clause.
    pub fn cancel(&self) -> Result<(), String> {
        let number = self.number.to_string();
        let why = match self.ask("scancel", &[&number], CANCEL_PATIENCE) {
            // An older scancel prints errors, and still exits with 0.
            Ok(answer) if answer.status.success() && !answer.stderr.contains("error:") => return Ok(()),
            Ok(answer) => said(&answer),
            Err(error) => error.to_string(),
        };
        if ["nvalid job id", "lready completing", "already complete"].iter().any(|over| why.contains(over)) {
            return Ok(());
        }
        let cluster = self.cluster.iter().map(|cluster| format!("-M {cluster} ")).collect::<String>();
        Err(format!(
            "job {number} of Slurm could not be cancelled, and may go on ({why}); `scancel {cluster}{number}` does it by hand"
        ))
    }
}

/// The file that names the job of a run.
pub fn job_file(folder: &Path) -> PathBuf {
    folder.join(JOB_NUMBER)
}

/// Cancel the job of Slurm that a run has left behind, as somebody says who has it end or begin again; whether there was one.
///
/// # Errors
/// The job may go on, in a clause, and stays named in the folder.
pub fn cancel_job(folder: &Path) -> Result<bool, String> {
    let file = job_file(folder);
    let Ok(text) = std::fs::read_to_string(&file) else { return Ok(false) };
    let job = text.split_whitespace().next().and_then(|name| name.parse::<BatchJob>().ok());
    job.as_ref().map_or(Ok(()), BatchJob::cancel)?;
    let _ = std::fs::remove_file(file);
    Ok(job.is_some())
}

/// Take out of the environment of a program what is another job's.
pub fn without_others(command: &mut Command) {
    let is_others = |name: &OsStr| {
        let name = name.to_string_lossy();
        let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        (begins(&OF_SLURM) || begins(&OF_LAUNCHERS)) && !begins(&STAY)
    };
    std::env::vars_os().filter(|(name, _)| is_others(name)).for_each(|(name, _)| _ = command.env_remove(name));
}

/// What a program said, as one line: its errors, if it has any, for a login shell may say much beside them.
pub fn said(answer: &Answer) -> String {
    let all = printable::lines(if answer.stderr.trim().is_empty() { &answer.stdout } else { &answer.stderr });
    let errors = || all.lines().filter(|line| line.starts_with('s') && line.contains("error:"));
    let lines: Vec<&str> = if errors().next().is_some() { errors().collect() } else { all.lines().collect() };
    printable::excerpt(&lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_named_as_sbatch_names_it() {
        for (text, number, cluster) in [("17", 17, None), ("17;b", 17, Some("b")), ("17;", 17, None)] {
            let job: BatchJob = text.parse().unwrap();
            assert_eq!((job.number, job.cluster.as_deref()), (number, cluster), "{text}");
            assert_eq!(job.to_string().parse(), Ok(job));
        }
        for text in ["", "0", "17 b", "17;-M", "17_1", "job", "99999999999999"] {
            assert_eq!(text.parse::<BatchJob>(), Err(()), "{text}");
        }
    }
}
