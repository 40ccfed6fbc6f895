//! A run as a batch job of Slurm: its script, and what a program says that stands in for the launcher until the job is over.
//!
//! The supervisor starts that program (`hvd-lab slurm-job FOLDER`, see [`follow()`]) as it starts mpirun otherwise. It prints what the
//! ranks print, and where the job is in the queue.

mod follow;
mod resume;
mod state;
mod submit;
mod table;

use std::io::{self, Write};
use std::path::Path;

use super::mpirun::quoted;
use super::piece::Line;
use super::{CommandLine, LaunchError};
use crate::domain::job::Resources;
use crate::domain::units;

pub(super) use follow::RANKS_DONE;
pub use follow::follow;
pub(super) use resume::{is_left, resume};

/// Within the folder of the run: what is submitted, and what it prints.
const SCRIPT: &str = "job.sh";
const OUTPUT: &str = "job.log";

/// In front of a report on a job that runs or waits, and of one on its end.
const NEWS: &str = "hvd-lab: slurm: ";
const END: &str = "hvd-lab: slurm end: ";
/// The beginning of the report on a job that has begun.
pub(super) const STARTED: &str = "Slurm has started job ";
/// In front of what the script asks for.
const ASKED: &str = "#SBATCH ";
/// Its word for a job that Slurm will start again.
const REQUEUED: &str = "requeued";

/// The verb that the supervisor starts.
pub const VERB: &str = "slurm-job";

/// The batch script of a run: what it asks for, and the line that starts its ranks.
pub fn script(resources: &Resources, line: &CommandLine, name: &str) -> String {
    let asked = [
        Some(format!("--job-name={name}")),
        Some(format!("--ntasks={}", resources.np)),
        resources.nodes.map(|nodes| format!("--nodes={nodes}")),
        resources.gpus_per_node.map(|gpus| format!("--gpus-per-node={gpus}")),
        resources.partition.as_ref().map(|partition| format!("--partition={partition}")),
        resources.account.as_ref().map(|account| format!("--account={account}")),
        resources.time_limit_s.map(|limit_s| format!("--time={}", units::clock(limit_s))),
        Some(format!("--output={OUTPUT}")),
        // Started again after the failure of a node, it continues from its last checkpoint and appends to its output.
        Some("--open-mode=append".into()),
        Some("--requeue".into()),
        // A site may have another default, and the ranks need the secret in their environment to sign their reports.
        Some("--export=ALL".into()),
    ];
    let asked: String = asked.into_iter().flatten().map(|words| format!("{ASKED}{words}\n")).collect();
    let env: String = line.env.iter().map(|(name, value)| format!("export {name}={}\n", quoted(value))).collect();
    let argv = line.argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    format!("#!/bin/sh\n{asked}{env}exec {argv}\n")
}

/// Write the script of a run. Returns the line that submits and follows it.
pub(super) fn submission(
    resources: &Resources,
    line: CommandLine,
    folder: &Path,
    run: usize,
) -> Result<CommandLine, LaunchError> {
    // A unique name, by which a job is found that sbatch has submitted without saying so.
    let unique = crate::host::secret().map_err(|error| LaunchError::Spec(error.to_string()))?;
    let script = script(resources, &line, &format!("hvd-lab-{run}-{}", unique.get(..8).unwrap_or(&unique)));
    let path = folder.join(SCRIPT);
    crate::host::files::write(&path, script.as_bytes())
        .map_err(|error| LaunchError::Spec(format!("{} cannot be written: {error}", path.display())))?;
    let lab =
        std::env::current_exe().map_err(|error| LaunchError::Spec(format!("hvd-lab does not know where it is: {error}")))?;
    let argv = vec![LaunchError::text(&lab)?, VERB.to_owned(), LaunchError::text(folder)?];
    let notes =
        [line.notes, vec![format!("submitting {} to Slurm:", path.display())], script.lines().map(String::from).collect()];
    Ok(CommandLine { argv, env: Vec::new(), notes: notes.concat(), directory: None })
}

/// Print a line for the supervisor.
fn tell(mark: &str, words: &str) -> io::Result<()> {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    writeln!(io::stderr(), "{mark}{line}")
}

/// Where a job is, if a line says so.
pub(super) fn news(line: &Line) -> Option<&str> {
    let Line::Launcher(text) = line else { return None };
    text.strip_prefix(NEWS)
}

/// How Slurm ended a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// It will start it again.
    Requeued,
    /// After its time.
    TimeLimit(String),
    /// For another reason, in a sentence.
    Other(String),
}

/// What the launcher's lines say of the end of a job; nothing where its ranks came to their own.
pub(super) fn ended<'a>(mut lines: impl DoubleEndedIterator<Item = &'a String>) -> Option<Ended> {
    let said = lines.rfind(|line| line.starts_with(END))?.strip_prefix(END)?;
    Some(match said {
        REQUEUED => Ended::Requeued,
        said if said.contains("time limit") || said.contains("deadline") => Ended::TimeLimit(said.to_owned()),
        said => Ended::Other(said.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_asks_for_what_the_run_asks_for_and_quotes_what_it_starts() {
        let resources = Resources {
            nodes: Some(2),
            gpus_per_node: Some(4),
            partition: Some("gpu".into()),
            account: Some("course".into()),
            time_limit_s: Some(1800.0),
            ..Resources::ranks(8)
        };
        let line = CommandLine {
            argv: ["mpirun", "-np", "8", "/a b/hvd-train"].map(String::from).to_vec(),
            env: vec![("CUDA_DEVICE_ORDER".into(), "PCI $ID".into())],
            notes: vec![],
            directory: None,
        };
        let text = script(&resources, &line, "hvd-lab-7");
        let asked: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#SBATCH ")).collect();
        assert_eq!(
            asked[..7],
            [
                "--job-name=hvd-lab-7",
                "--ntasks=8",
                "--nodes=2",
                "--gpus-per-node=4",
                "--partition=gpu",
                "--account=course",
                "--time=30:00"
            ]
        );
        assert!(text.ends_with("export CUDA_DEVICE_ORDER='PCI $ID'\nexec mpirun -np 8 '/a b/hvd-train'\n"), "{text}");
        let plain = script(&Resources::ranks(2), &line, "hvd-lab");
        assert!(
            !plain.contains("--nodes")
                && !plain.contains("--time")
                && !plain.contains("--partition")
                && !plain.contains("--account"),
            "{plain}"
        );
    }

    #[test]
    fn only_the_launcher_says_where_a_job_is_and_its_last_word_counts() {
        let text = format!("{NEWS}waiting");
        assert_eq!(news(&Line::Launcher(text.clone())), Some("waiting"));
        assert_eq!(news(&Line::Rank { process: 0, text }), None);
        let lines = [format!("{END}{REQUEUED}"), format!("{END}job 3 was over its time limit"), "exited on signal 9".into()];
        assert!(matches!(ended(lines.iter()), Some(Ended::TimeLimit(_))));
        assert_eq!(ended(lines[..1].iter()), Some(Ended::Requeued));
        assert_eq!(ended(lines[2..].iter()), None);
    }
}
