//! Asks Slurm's programs, as if nobody had set anything around them, and tells the supervisor what they say.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::process::{Command, Output, Stdio};

/// Of the job that this may be in, and of launchers: the new one gets its own. And what would ask the lab's questions in another way.
const OF_OTHERS: [&str; 12] = [
    "SLURM_",
    "SRUN_",
    "PMI_",
    "PMIX_",
    "OMPI_COMM_",
    "OMPI_UNIVERSE_",
    "PRTE_LAUNCHED",
    "HYDI_",
    "MPI_LOCAL",
    "SQUEUE_",
    "SCANCEL_",
    "SACCT_",
];
/// Where the cluster is, and who asks.
const OF_THE_CLUSTER: [&str; 4] = ["SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SLURM_JWT"];
/// A job by its number, on the cluster that it was given to if there are several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub number: u32,
    pub cluster: Option<String>,
}

impl Name {
    /// Of a job in one of Slurm's programs.
    pub fn ask(&self, program: &str, words: &[&str]) -> io::Result<Output> {
        let mut command = Command::new(program);
        self.cluster.iter().for_each(|cluster| _ = command.args(["-M", cluster]));
        command.args(words);
        without_others(&mut command);
        command.stdin(Stdio::null()).output()
    }
}

pub(super) fn without_others(command: &mut Command) {
    let is_others = |name: &OsStr| {
        let name = name.to_string_lossy();
        OF_OTHERS.iter().any(|start| name.starts_with(start)) && !OF_THE_CLUSTER.contains(&&*name)
    };
    std::env::vars_os().filter(|(name, _)| is_others(name)).for_each(|(name, _)| _ = command.env_remove(name));
}

/// A line of its own for the supervisor.
pub(super) fn tell(mark: &str, words: &str) -> io::Result<()> {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    writeln!(io::stderr(), "{mark}{line}")
}

/// What a program said, as one line.
pub(super) fn words_of(output: &Output) -> String {
    let text = String::from_utf8_lossy(if output.stderr.is_empty() { &output.stdout } else { &output.stderr });
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
