//! The settings of a run as flags, shared by the verbs that start runs.
//!
//! Never starts one.

use std::path::PathBuf;
use std::str::FromStr;

use super::Usage;
use crate::dataset;
use crate::domain::run::{DataSource, ModelSpec, RunSpec};
use crate::launch::{self, Machine, Preset, StartRequest};

/// A preset, and what to change of it.
#[derive(Debug, clap::Args)]
pub struct Settings {
    /// Settings to begin from [default: gpu where there is one, else cpu].
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Number of ranks.
    #[arg(long, value_name = "N")]
    pub np: Option<usize>,
    /// Epochs in total.
    #[arg(long, value_name = "N")]
    pub epochs: Option<usize>,
    /// Images per rank and batch.
    #[arg(long, value_name = "N")]
    pub batch_size: Option<usize>,
    /// Learning rate of a single rank.
    #[arg(long, value_name = "F")]
    pub base_lr: Option<f64>,
    /// Momentum of the optimizer.
    #[arg(long, value_name = "F")]
    pub momentum: Option<f64>,
    /// Weight decay.
    #[arg(long, value_name = "F")]
    pub wd: Option<f64>,
    /// Stop early above this validation accuracy.
    #[arg(long, value_name = "F")]
    pub target_accuracy: Option<f64>,
    /// Epochs in a row above the target before stopping.
    #[arg(long, value_name = "N")]
    pub patience: Option<usize>,
    /// Epochs until the learning rate is at its full height (step 9).
    #[arg(long, value_name = "F")]
    pub warmup_epochs: Option<f64>,
    /// A Wide ResNet, such as wrn-10-1 or wrn-16-10.
    #[arg(long, value_name = "wrn-D-W")]
    pub model: Option<ModelSpec>,
    /// auto, fashion-mnist or generated.
    #[arg(long, value_name = "SOURCE")]
    pub data: Option<DataSource>,
    /// A folder with the four IDX files.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// The first so many training images, or all.
    #[arg(long, value_name = "N|all")]
    pub train_images: Option<Limit>,
    /// The first so many test images for the validation, or all.
    #[arg(long, value_name = "N|all")]
    pub validation_images: Option<Limit>,
    /// Keep a checkpoint of every epoch.
    #[arg(long, overrides_with = "no_checkpointing")]
    pub checkpointing: bool,
    /// Keep none: the run cannot be continued.
    #[arg(long)]
    pub no_checkpointing: bool,
    /// Of weights and shuffling: the same seed gives the same losses.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Hosts, as mpirun takes them: host:slots,...
    #[arg(short = 'H', long = "hosts", value_name = "HOSTS", conflicts_with = "hostfile")]
    pub hosts: Option<String>,
    /// An mpirun host file.
    #[arg(long, value_name = "FILE")]
    pub hostfile: Option<PathBuf>,
    /// Download nothing.
    #[arg(long)]
    pub offline: bool,
    /// Start more ranks than there is room for.
    #[arg(long, visible_alias = "oversubscribe")]
    pub force: bool,
}

/// `12000` or `all`.
#[derive(Clone, Copy, Debug)]
pub struct Limit(Option<usize>);

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Limit, String> {
        match (text, text.parse()) {
            ("all", _) => Ok(Limit(None)),
            (_, Ok(number)) => Ok(Limit(Some(number))),
            _ => Err("use a number of images, or all".into()),
        }
    }
}

impl Settings {
    /// What was asked for, with all other settings as the preset has them.
    pub fn request(&self) -> Result<StartRequest, Usage> {
        let machine = Machine::detect();
        let preset = match &self.preset {
            None => machine.preset(),
            Some(name) => named(name)?.fitted(machine.cores, machine.gpus),
        };
        let mut request = StartRequest::new(self.over(preset.spec), preset.name);
        request.data_dir = self.data_dir.clone();
        request.offline = dataset::is_offline(self.offline);
        request.force = self.force;
        Ok(request)
    }

    /// The preset's settings with the flags over them.
    fn over(&self, base: RunSpec) -> RunSpec {
        RunSpec {
            np: self.np.unwrap_or(base.np),
            epochs: self.epochs.unwrap_or(base.epochs),
            batch_size: self.batch_size.unwrap_or(base.batch_size),
            base_lr: self.base_lr.unwrap_or(base.base_lr),
            momentum: self.momentum.unwrap_or(base.momentum),
            wd: self.wd.unwrap_or(base.wd),
            target_accuracy: self.target_accuracy.unwrap_or(base.target_accuracy),
            patience: self.patience.unwrap_or(base.patience),
            warmup_epochs: self.warmup_epochs.unwrap_or(base.warmup_epochs),
            model: self.model.unwrap_or(base.model),
            data: self.data.clone().unwrap_or(base.data),
            train_images: self.train_images.map_or(base.train_images, |limit| limit.0),
            validation_images: self.validation_images.map_or(base.validation_images, |limit| limit.0),
            checkpointing: (base.checkpointing || self.checkpointing) && !self.no_checkpointing,
            seed: self.seed.unwrap_or(base.seed),
            hosts: self.hosts.clone().or(base.hosts),
            hostfile: self.hostfile.as_ref().map(|file| file.display().to_string()).or(base.hostfile),
            ..base
        }
    }
}

fn named(name: &str) -> Result<Preset, Usage> {
    let presets = launch::presets();
    let names = presets.iter().map(|preset| preset.name.as_str()).collect::<Vec<_>>().join(", ");
    presets.into_iter().find(|preset| preset.name == name).ok_or_else(|| Usage(format!("`{name}` is no preset: use {names}")))
}
