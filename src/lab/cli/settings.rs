//! The settings of a run as flags, shared by the verbs that start runs: one flag for each row of the table of settings.

use std::marker::PhantomData;
use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};

use super::output::Usage;
use super::rank_files;
use crate::dataset;
use crate::domain::job::{Resources, RunSpec, TrainingJob, Workload};
use crate::domain::settings::{Key, SETTINGS, Setting, Values};
use crate::launch::{self, Machine, Preset, StartRequest};
use crate::runs::{RunId, RunStore};

/// A preset, and what to change of it.
#[derive(Debug, clap::Args)]
pub struct Settings {
    /// Settings to start from [default: gpu where there is one, else cpu].
    #[arg(long, value_name = "NAME", display_order = 0)]
    pub preset: Option<String>,
    #[command(flatten)]
    given: Given<AllButSteps>,
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
    /// Start a run of this verb.
    ///
    /// # Errors
    /// As [`launch::start`], and where the folder of [`Starting::output_filename`] cannot be used.
    pub fn start(&self, store: &RunStore, request: StartRequest) -> anyhow::Result<RunId> {
        rank_files::start(store, request, self.output_filename.as_deref())
    }

    /// What is to be started, of the verbs that take a [`Place`]. `preset` is what the list of runs shows for one.
    pub fn request(&self, place: &Place, resources: Resources, workload: Workload, preset: &str) -> Result<StartRequest, Usage> {
        let spec = RunSpec { resources, workload };
        match spec.problem() {
            Some(problem) => Err(Usage(problem)),
            None => Ok(StartRequest { name: self.name.clone(), force: place.force, ..StartRequest::new(spec, preset) }),
        }
    }
}

/// Where ranks are started, for the verbs that train nothing: the same flags, and no others.
#[derive(Debug, clap::Args)]
pub struct Place {
    #[command(flatten)]
    given: Given<ResourcesOnly>,
    /// Start even if there are more ranks than cores or GPUs, or something is wrong with a host.
    #[arg(long, visible_alias = "oversubscribe")]
    pub force: bool,
}

impl Place {
    /// What was asked for; without a word as many ranks as the preset of this machine has.
    pub fn resources(&self) -> Result<Resources, Usage> {
        let mut job = Machine::detect().preset().spec;
        self.given.rows.iter().try_for_each(|(key, text)| put(*key, text, &mut job))?;
        Ok(job.resources)
    }
}

/// Which rows of the table a verb has flags for.
trait Rows: Clone + std::fmt::Debug {
    fn has(key: Key) -> bool;
}

/// Only `run` lets one choose the steps.
#[derive(Clone, Debug)]
enum AllButSteps {}

#[derive(Clone, Debug)]
enum ResourcesOnly {}

impl Rows for AllButSteps {
    fn has(key: Key) -> bool {
        key != Key::Steps
    }
}

impl Rows for ResourcesOnly {
    fn has(key: Key) -> bool {
        use Key::*;
        let of_slurm = matches!(key, Slurm | Nodes | GpusPerNode | Partition);
        of_slurm || matches!(key, Np | Hosts | Hostfile | NetworkInterface | StartTimeout | TimeLimit)
    }
}

fn rows<R: Rows>() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(|setting| R::has(setting.key))
}

/// Rows of the table that a flag was given for, with its value as text.
#[derive(Clone, Debug)]
struct Given<R> {
    rows: Vec<(Key, String)>,
    of: PhantomData<R>,
}

impl Settings {
    /// What was asked for, with all other settings as the preset has them.
    pub fn request(&self) -> Result<StartRequest, Usage> {
        let (job, preset) = self.training()?;
        Ok(self.request_for(job, preset))
    }

    /// To train `job`, as the other flags ask for it.
    pub fn request_for(&self, job: TrainingJob, preset: String) -> StartRequest {
        let data_dir = self.data_dir.clone();
        let (offline, force) = (dataset::is_offline(self.offline), self.force);
        StartRequest { data_dir, offline, force, ..StartRequest::new(job, preset) }
    }

    /// The preset's settings with the flags over them, and the preset's name.
    pub fn training(&self) -> Result<(TrainingJob, String), Usage> {
        let machine = Machine::detect();
        let preset = match &self.preset {
            None => machine.preset(),
            Some(name) => named(name)?.fitted(machine.cores, machine.gpus),
        };
        let mut job = preset.spec;
        for (key, text) in &self.given.rows {
            put(*key, text, &mut job)?;
        }
        Ok((job, preset.name))
    }

    /// Where an own program is started: one rank, where nobody asks for more.
    pub fn own_resources(&self) -> Result<Resources, Usage> {
        let mut job = launch::default_preset(false).spec;
        job.resources = Resources::ranks(1);
        self.given.rows.iter().try_for_each(|(key, text)| put(*key, text, &mut job))?;
        Ok(job.resources)
    }

    /// The first flag that is about the lab's trainer and its images.
    pub fn of_training(&self, has_steps: bool) -> Option<&'static str> {
        let row = self.given.rows.iter().find(|(key, _)| !ResourcesOnly::has(*key)).map(|(key, _)| key.setting().flag);
        let others = [(has_steps, "steps"), (self.preset.is_some(), "preset"), (self.data_dir.is_some(), "data-dir")];
        row.or_else(|| others.into_iter().find(|(is_given, _)| *is_given).map(|(_, flag)| flag))
    }

    /// The first flag that is about how ranks are started.
    pub fn of_ranks(&self) -> Option<&'static str> {
        let is_it = |(key, _): &&(Key, String)| ResourcesOnly::has(*key) && *key != Key::TimeLimit;
        self.given.rows.iter().find(is_it).map(|(key, _)| key.setting().flag)
    }

    /// Whether a flag was given for this setting.
    pub fn has(&self, key: Key) -> bool {
        self.given.rows.iter().any(|(given, _)| *given == key)
    }

    /// What a flag was given for this setting, as a number.
    pub fn number(&self, key: Key) -> Option<usize> {
        self.given.rows.iter().find(|(given, _)| *given == key).and_then(|(_, text)| text.parse().ok())
    }

    /// These settings alone, where a flag was given for them.
    pub fn set(&self, job: &mut TrainingJob, keys: &[Key]) -> Result<(), Usage> {
        self.given.rows.iter().filter(|(key, _)| keys.contains(key)).try_for_each(|(key, text)| put(*key, text, job))
    }
}

fn put(key: Key, text: &str, job: &mut TrainingJob) -> Result<(), Usage> {
    let setting = key.setting();
    (setting.set)(job, text).map_err(|error| Usage(format!("--{}: {error}", setting.flag)))
}

fn named(name: &str) -> Result<Preset, Usage> {
    let presets = launch::presets();
    let names = presets.iter().map(|preset| preset.name.as_str()).collect::<Vec<_>>().join(", ");
    presets.into_iter().find(|preset| preset.name == name).ok_or_else(|| Usage(format!("`{name}` is not a preset: use {names}")))
}

/// All flags that the table makes.
pub(super) fn flag_names() -> impl Iterator<Item = &'static str> {
    rows::<AllButSteps>().flat_map(|setting| {
        let off = if let Values::Switch(off, _) = setting.values { Some(off) } else { None };
        [Some(setting.flag), off].into_iter().flatten()
    })
}

/// One or two flags of a row.
fn flags(setting: &'static Setting) -> Vec<Arg> {
    let arg = Arg::new(setting.flag).long(setting.flag).help(setting.help);
    match setting.values {
        Values::Switch(off, help) => vec![
            arg.action(ArgAction::SetTrue).overrides_with(off),
            Arg::new(off).long(off).help(help).action(ArgAction::SetTrue),
        ],
        _ => vec![arg.value_name(setting.value_name).value_parser(parser(setting)).allow_negative_numbers(true)],
    }
}

/// Refuses what the row refuses, in its words, where clap names the flag.
fn parser(setting: &'static Setting) -> ValueParser {
    ValueParser::new(move |text: &str| {
        let preset = launch::default_preset(false);
        let mut scratch = preset.spec;
        (setting.set)(&mut scratch, text).map(|()| text.to_owned())
    })
}

impl<R: Rows> clap::Args for Given<R> {
    fn augment_args(command: Command) -> Command {
        let command = command.args(rows::<R>().flat_map(flags));
        let command = command
            .mut_arg("hosts", |hosts| hosts.short('H').conflicts_with("hostfile").value_parser(NonEmptyStringValueParser::new()));
        // As sbatch calls it.
        command.mut_arg("time-limit", |limit| limit.visible_alias("time"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Given::<R>::augment_args(command)
    }
}

impl<R: Rows> FromArgMatches for Given<R> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Given<R>, clap::Error> {
        let text = |setting: &Setting| match setting.values {
            Values::Switch(off, _) if matches.get_flag(off) => Some("off".to_owned()),
            Values::Switch(..) => matches.get_flag(setting.flag).then(|| "on".to_owned()),
            _ => matches.get_one::<String>(setting.flag).cloned(),
        };
        let rows = rows::<R>().filter_map(|setting| Some((setting.key, text(setting)?))).collect();
        Ok(Given { rows, of: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Given::from_arg_matches(matches)?;
        Ok(())
    }
}
