//! The settings of a run as flags, shared by the verbs that start runs: one flag for each row of the table of settings.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Command;
use clap::builder::NonEmptyStringValueParser;

use super::follow::{self, View};
use super::output::Usage;
use super::rank_files;
use crate::dataset;
use crate::domain::job::{Resources, RunSpec, TrainingJob, Workload};
use crate::domain::setting::Setting;
use crate::domain::settings::SETTINGS;
use crate::flags::{Flagged, Flags};
use crate::launch::{self, Machine, Preset};
use crate::runs::{Follower, RunId, RunRequest, RunStore};

/// A preset, and what to change of it.
#[derive(Debug, clap::Args)]
pub struct Settings {
    /// Settings to start from [default: gpu where there is one, else cpu].
    #[arg(long, value_name = "NAME", display_order = 0)]
    pub preset: Option<String>,
    #[command(flatten)]
    pub given: Flags<AllButSteps>,
    /// A folder with the four IDX files.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Download nothing.
    #[arg(long)]
    pub offline: bool,
    /// Start even if there are more ranks than cores or GPUs, or something is wrong with a host.
    #[arg(long, visible_alias = "oversubscribe")]
    pub force: bool,
}

/// How a run is started, for every verb that starts one.
#[derive(Debug, clap::Args)]
pub struct Starting {
    /// A name for the list of runs.
    #[arg(long)]
    pub name: Option<String>,
    /// Start it and return.
    #[arg(long)]
    pub detach: bool,
    /// A folder for links to what each rank prints: DIR/rank.0/stdout and so on.
    #[arg(long, value_name = "DIR")]
    output_filename: Option<PathBuf>,
    /// Show the exact mpirun line and start nothing.
    #[arg(long)]
    pub dry_run: bool,
}

impl Starting {
    /// Starts a run of this verb and follows it, unless it is to be left alone; with `--dry-run` shows its line instead.
    ///
    /// # Errors
    /// As [`launch::start`] and [`launch::preview`], and where the folder of [`Starting::output_filename`] cannot be used.
    pub fn run(&self, store: &RunStore, request: RunRequest, as_json: bool) -> anyhow::Result<ExitCode> {
        self.run_and(store, request, as_json, |id, follower| follow::follow(store, id, follower, View::new(as_json)))
    }

    /// As [`Starting::run`], with `follow` in place of the usual lines.
    ///
    /// # Errors
    /// As [`Starting::run`], and those of the verb.
    pub fn run_and(
        &self,
        store: &RunStore,
        request: RunRequest,
        as_json: bool,
        follow: impl FnOnce(RunId, Follower) -> anyhow::Result<ExitCode>,
    ) -> anyhow::Result<ExitCode> {
        if self.dry_run {
            return follow::show_line(&launch::preview(store, &request)?, as_json);
        }
        let id = rank_files::start(store, request, self.output_filename.as_deref())?;
        if self.detach { follow::leave(store, id, as_json) } else { follow(id, Follower::new(store.folder(id))) }
    }

    /// What is to be started, of all but the lab's own training. `preset` is what the list of runs shows for one.
    pub fn request(&self, force: bool, resources: Resources, workload: Workload, preset: &str) -> Result<RunRequest, Usage> {
        let spec = launch::located(RunSpec { resources, workload }).map_err(|error| Usage(error.to_string()))?;
        Ok(RunRequest { name: self.name.clone(), force, ..RunRequest::new(spec, preset) })
    }
}

/// Where ranks are started, for the verbs that train nothing: the same flags, and no others.
#[derive(Debug, clap::Args)]
pub struct Place {
    #[command(flatten)]
    pub given: Flags<ResourcesOnly>,
    /// Start even if there are more ranks than cores or GPUs, or something is wrong with a host.
    #[arg(long, visible_alias = "oversubscribe")]
    pub force: bool,
}

impl Place {
    /// What was asked for; without a word as many ranks as the preset of this machine has.
    pub fn resources(&self) -> Result<Resources, Usage> {
        let mut job = Machine::detect().preset().spec;
        self.given.put_into(&mut job, |_| true).map_err(Usage)?;
        Ok(job.resources)
    }
}

/// Whether it is about how ranks are started, whatever they do.
pub(super) fn is_of_resources(flag: &str) -> bool {
    const RESOURCES: [&str; 11] = [
        "np",
        "hosts",
        "hostfile",
        "network-interface",
        "start-timeout",
        "time-limit",
        "slurm",
        "nodes",
        "gpus-per-node",
        "partition",
        "account",
    ];
    RESOURCES.contains(&flag)
}

/// Settings of a training: all but the steps, which only `run` lets you choose, or those of its resources alone.
#[derive(Debug)]
pub enum OfTraining<const RESOURCES_ONLY: bool> {}

pub type AllButSteps = OfTraining<false>;
pub type ResourcesOnly = OfTraining<true>;

impl<const RESOURCES_ONLY: bool> Flagged for OfTraining<RESOURCES_ONLY> {
    type Spec = TrainingJob;

    const SHOWS_DEFAULTS: bool = false;

    fn settings() -> impl Iterator<Item = &'static Setting<TrainingJob>> {
        let is_one = |flag: &str| if RESOURCES_ONLY { is_of_resources(flag) } else { flag != "steps" };
        SETTINGS.iter().filter(move |setting| is_one(setting.flag))
    }

    fn default_spec() -> TrainingJob {
        launch::default_preset(false).spec
    }

    fn adjusted(command: Command) -> Command {
        let command = command
            .mut_arg("hosts", |hosts| hosts.short('H').conflicts_with("hostfile").value_parser(NonEmptyStringValueParser::new()));
        // As sbatch calls it.
        command.mut_arg("time-limit", |limit| limit.visible_alias("time"))
    }
}

impl Settings {
    /// To train `job`, as the other flags ask for it.
    pub fn request_for(&self, job: TrainingJob, preset: String) -> RunRequest {
        let data_dir = self.data_dir.clone();
        let (offline, force) = (dataset::is_offline(self.offline), self.force);
        RunRequest { data_dir, offline, force, ..RunRequest::new(job, preset) }
    }

    /// The preset's settings with the flags over them, and the preset's name.
    pub fn training(&self) -> Result<(TrainingJob, String), Usage> {
        let machine = Machine::detect();
        let preset = match &self.preset {
            None => machine.preset(),
            Some(name) => named(name)?.fitted(machine.cores, machine.room.gpus),
        };
        let mut job = preset.spec;
        self.given.put_into(&mut job, |_| true).map_err(Usage)?;
        Ok((job, preset.name))
    }

    /// The first flag that is about the lab's trainer and its images.
    pub fn of_training(&self, has_steps: bool) -> Option<&'static str> {
        let row = self.given.given().find(|flag| !is_of_resources(flag));
        let others = [(has_steps, "steps"), (self.preset.is_some(), "preset"), (self.data_dir.is_some(), "data-dir")];
        row.or_else(|| others.into_iter().find(|(is_given, _)| *is_given).map(|(_, flag)| flag))
    }

    /// These settings alone, where a flag was given for them.
    pub fn set(&self, job: &mut TrainingJob, flags: &[&str]) -> Result<(), Usage> {
        self.given.put_into(job, |flag| flags.contains(&flag)).map_err(Usage)
    }
}

fn named(name: &str) -> Result<Preset, Usage> {
    let presets = launch::presets();
    let names = presets.iter().map(|preset| preset.name.as_str()).collect::<Vec<_>>().join(", ");
    presets.into_iter().find(|preset| preset.name == name).ok_or_else(|| Usage(format!("`{name}` is not a preset: use {names}")))
}

/// All flags that the table makes.
pub(super) fn flag_names() -> impl Iterator<Item = &'static str> {
    AllButSteps::settings().flat_map(|setting| [Some(setting.flag), setting.off.map(|(off, _)| off)]).flatten()
}
