//! `hvd-lab run -- PROGRAM ...`: a program of the user's own.

use super::output::Usage;
use super::settings::Settings;
use crate::domain::command::CommandSpec;
use crate::domain::job::{Job, Resources, RunSpec, Workload};
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
    inspect: bool,
}

impl UserProgramFlags {
    /// The same, with the inspector.
    pub fn inspected(self) -> UserProgramFlags {
        UserProgramFlags { inspect: true, ..self }
    }

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

/// The run that starts these words as a program.
///
/// # Errors
/// Flags of the lab's trainer, ranks that the words ask for already, and as [`CommandSpec::problem`].
pub(super) fn spec(settings: &Settings, has_steps: bool, own: &UserProgramFlags, words: &[String]) -> Result<RunSpec, Usage> {
    if let Some(flag) = settings.of_training(has_steps) {
        return Err(Usage(format!("--{flag} is for the lab's trainer: give your own program its own flags, behind its name")));
    }
    spec_on(settings.own_resources()?, own, words)
}

/// The same, with the resources that were asked for, and the first flag that asked for any.
pub(super) fn spec_on(
    (resources, of_ranks): (Resources, Option<&str>),
    own: &UserProgramFlags,
    words: &[String],
) -> Result<RunSpec, Usage> {
    let tensorboard = own.tensorboard.as_deref().map(|folder| launch::whole_path("--tensorboard", folder));
    let command = CommandSpec {
        argv: words.to_vec(),
        directory: String::new(),
        patterns: own.pattern.clone(),
        tensorboard: tensorboard.transpose().map_err(Usage)?,
        inspect: own.inspect,
    };
    if let Some(flag) = of_ranks
        && command.own_launcher().is_some()
    {
        let name = command.argv[0].rsplit('/').next().unwrap_or_default();
        return Err(Usage(format!(
            "--{flag} cannot be used here: {name} starts the ranks itself. Write it behind {name}, in its own words"
        )));
    }
    launch::located(Job { resources, workload: Workload::Command(command) }).map_err(|error| Usage(error.to_string()))
}
