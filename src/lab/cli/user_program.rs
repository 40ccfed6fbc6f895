//! `hvd-lab run -- PROGRAM ...`: a program of the user's own.

use super::output::Usage;
use super::settings::is_of_resources;
use crate::domain::command::CommandSpec;
use crate::domain::job::{Resources, TrainingJob, Workload};
use crate::flags::{Flagged, Flags};
use crate::launch;

/// Flags for a program of the user's own.
#[derive(Debug, clap::Args)]
pub(super) struct UserProgramFlags {
    /// Of an own program: another figure to read in its lines, such as loss="cost ([0-9.]+)". Can be repeated.
    #[arg(long, value_name = "NAME=REGEX")]
    pattern: Vec<String>,
    /// Of an own program: a folder with TensorBoard event files that it writes.
    #[arg(long, value_name = "DIR")]
    tensorboard: Option<String>,
    /// Of an own program that trains with PyTorch or Horovod: watch what its ranks do, and judge the ten steps (`hvd-lab inspect` for short).
    #[arg(long)]
    pub inspect: bool,
}

impl UserProgramFlags {
    /// # Errors
    /// One was given, and the lab's own trainer is to run.
    pub fn refuse(&self) -> Result<(), Usage> {
        let given =
            [("--pattern", !self.pattern.is_empty()), ("--tensorboard", self.tensorboard.is_some()), ("--inspect", self.inspect)];
        given.into_iter().find(|(_, is_given)| *is_given).map_or(Ok(()), |(flag, _)| {
            Err(Usage(format!("{flag} is for a program of your own: write it behind --, such as `-- python3 train.py`")))
        })
    }
}

/// These words as a program, with the resources that were asked for: one rank, unless it is said how ranks are started.
///
/// # Errors
/// Ranks that the words ask for already.
pub(super) fn spec<F: Flagged<Spec = TrainingJob>>(
    given: &Flags<F>,
    own: &UserProgramFlags,
    words: &[String],
) -> Result<(Resources, Workload), Usage> {
    let mut job = launch::default_preset(false).spec;
    job.resources = Resources::ranks(1);
    given.put_into(&mut job, |_| true).map_err(Usage)?;
    let tensorboard = own.tensorboard.as_deref().map(|folder| launch::whole_path("--tensorboard", folder));
    let command = CommandSpec {
        argv: words.to_vec(),
        directory: String::new(),
        patterns: own.pattern.clone(),
        tensorboard: tensorboard.transpose().map_err(Usage)?,
        inspect: own.inspect,
    };
    if let Some(flag) = given.given().find(|flag| is_of_resources(flag) && *flag != "time-limit")
        && command.own_launcher().is_some()
    {
        let name = command.argv[0].rsplit('/').next().unwrap_or_default();
        return Err(Usage(format!(
            "--{flag} cannot be used here: {name} starts the ranks itself. Write it behind {name}, in its own words"
        )));
    }
    Ok((job.resources, Workload::Command(command)))
}
