//! The rows of the table of settings, in the order of the trainer's argument vector and of the verbs' help.

use super::setting::{
    ALL, Key, NONE, Setting, TrainerFlag, Values, or_word, put, put_limit, put_share, put_switch, put_text, put_time, put_word,
};
use super::{elastic, link, slurm};
use crate::domain::bounds::{MAX_BATCH_SIZE, MAX_EPOCHS, MAX_RANKS};
use crate::domain::job::TrainingJob;
use crate::domain::units;

const BATCH_SIZES: &[f64] = &[8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0];
const RATES: &[f64] = &[0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];
const TARGETS: &[f64] = &[0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95];
const TRAIN_IMAGES: &[f64] = &[1_000.0, 3_000.0, 6_000.0, 12_000.0, 24_000.0, 48_000.0, 60_000.0];
const VALIDATION_IMAGES: &[f64] = &[500.0, 1_000.0, 2_000.0, 5_000.0, 10_000.0];
const MODELS: &[&str] = &["wrn-10-1", "wrn-16-1", "wrn-16-4", "wrn-16-10", "wrn-28-10", "mnist-cnn", "lenet"];
const SOURCES: &[&str] = &["auto", "fashion-mnist", "generated", "digits", "mnist", "generated-digits"];

/// Beyond it the weights, which have 32 bits, could not hold one step.
const MAX_RATE: f64 = 1e30;

const fn fine(_: &TrainingJob) -> Option<String> {
    None
}

fn when(bad: bool, problem: impl Into<String>) -> Option<String> {
    bad.then(|| problem.into())
}

/// `name` is a count, which goes from 1 to `most`; `remedy` says why not 0.
fn counts(name: &str, value: usize, most: usize, remedy: &str) -> Option<String> {
    when(value == 0, format!("{name} is 0: {remedy}"))
        .or_else(|| when(value > most, format!("{name} {value} is more than {most}")))
}

fn no_images(images: Option<usize>) -> Option<String> {
    when(images == Some(0), "0 images: use at least 1, or leave the limit out")
}

pub static SETTINGS: [Setting; 32] = [
    Setting {
        key: Key::Np,
        flag: "np",
        value_name: "N",
        help: "Number of ranks",
        label: "np (ranks)",
        hint: "1 to 4096 ranks",
        values: Values::Count(1, MAX_RANKS),
        get: |job| job.resources.np.to_string(),
        set: |job, text| put(&mut job.resources.np, text),
        // The resources say it themselves, for any workload.
        problem: fine,
        trainer: TrainerFlag::None,
    },
    Setting {
        key: Key::Steps,
        flag: "steps",
        value_name: "LIST",
        help: "Steps that are on, such as 1-10, 1,3,5-7 or none",
        label: "steps",
        hint: "such as 1-10, 1,3,5-7 or none",
        values: Values::Free,
        get: |job| job.workload.steps.to_string(),
        set: |job, text| put_word(&mut job.workload.steps, text),
        problem: fine,
        trainer: TrainerFlag::Value,
    },
    Setting {
        key: Key::Epochs,
        flag: "epochs",
        value_name: "N",
        help: "Epochs in total",
        label: "epochs",
        hint: "at least 1",
        values: Values::Count(1, 9999),
        get: |job| job.workload.epochs.to_string(),
        set: |job, text| put(&mut job.workload.epochs, text),
        problem: |job| counts("epochs", job.workload.epochs, MAX_EPOCHS, "train for at least 1"),
        trainer: TrainerFlag::Value,
    },
    Setting {
        key: Key::BatchSize,
        flag: "batch-size",
        value_name: "N",
        help: "Images per rank and batch",
        label: "batch per rank",
        hint: "images per rank, from 1",
        values: Values::Scale(BATCH_SIZES),
        get: |job| job.workload.batch_size.to_string(),
        set: |job, text| put(&mut job.workload.batch_size, text),
        problem: |job| counts("batch size", job.workload.batch_size, MAX_BATCH_SIZE, "use at least 1 image per rank"),
        trainer: TrainerFlag::Value,
    },
    Setting {
        key: Key::BaseLr,
        flag: "base-lr",
        value_name: "F",
        help: "Learning rate of a single rank",
        label: "base LR",
        hint: "above 0, such as 0.01",
        values: Values::Scale(RATES),
        get: |job| job.workload.base_lr.to_string(),
        set: |job, text| put(&mut job.workload.base_lr, text),
        problem: |job| {
            let lr = job.workload.base_lr;
            let too_large = || when(lr > MAX_RATE, format!("base LR {lr} is too large: use at most {MAX_RATE:e}"));
            when(!lr.is_finite(), format!("base LR {lr} is not a number that a rate can be: use one such as 0.01"))
                .or_else(|| when(lr <= 0.0, format!("base LR {lr} is not above 0")))
                .or_else(too_large)
        },
        trainer: TrainerFlag::Value,
    },
    Setting {
        key: Key::Momentum,
        flag: "momentum",
        value_name: "F",
        help: "Momentum of the optimizer",
        label: "momentum",
        hint: "0 to below 1, such as 0.9",
        values: Values::Free,
        get: |job| job.workload.momentum.to_string(),
        set: |job, text| put(&mut job.workload.momentum, text),
        problem: |job| {
            let momentum = job.workload.momentum;
            when(!(0.0..1.0).contains(&momentum), format!("momentum {momentum} is not in 0 to 1"))
        },
        trainer: TrainerFlag::Value,
    },
    Setting {
        key: Key::Wd,
        flag: "wd",
        value_name: "F",
        help: "Weight decay",
        label: "weight decay",
        hint: "0 or more, such as 0.000005",
        values: Values::Free,
        get: |job| job.workload.wd.to_string(),
        set: |job, text| put(&mut job.workload.wd, text),
        problem: |job| {
            let wd = job.workload.wd;
            let too_large = || when(wd > MAX_RATE, format!("weight decay {wd} is too large: use at most {MAX_RATE:e}"));
            when(!(wd.is_finite() && wd >= 0.0), format!("weight decay {wd} is not a number from 0")).or_else(too_large)
        },
        trainer: TrainerFlag::Value,
    },
    Setting {
        key: Key::TargetAccuracy,
        flag: "target-accuracy",
        value_name: "F",
        help: "Stop early above this validation accuracy, 0 to 1; 1 never stops early",
        label: "target accuracy",
        hint: "0 to 1, such as 0.85",
        values: Values::Scale(TARGETS),
        get: |job| job.workload.target_accuracy.to_string(),
        set: |job, text| put_share(&mut job.workload.target_accuracy, text),
        problem: |job| {
            let target = job.workload.target_accuracy;
            when(!target.is_finite(), format!("target accuracy {target} is not a number"))
        },
        trainer: TrainerFlag::Value,
    },
    Setting {
        key: Key::Patience,
        flag: "patience",
        value_name: "N",
        help: "Epochs in a row above the target before it stops",
        label: "patience",
        hint: "at least 1 epoch",
        values: Values::Count(1, 9999),
        get: |job| job.workload.patience.to_string(),
        set: |job, text| put(&mut job.workload.patience, text),
        problem: |job| counts("patience", job.workload.patience, MAX_EPOCHS, "use at least 1 epoch"),
        trainer: TrainerFlag::Value,
    },
    Setting {
        key: Key::WarmupEpochs,
        flag: "warmup-epochs",
        value_name: "F",
        help: "Epochs until the learning rate reaches its full value (step 9)",
        label: "warmup epochs",
        hint: "0 for none, such as 5",
        values: Values::WholeFromZero,
        get: |job| job.workload.warmup_epochs.to_string(),
        set: |job, text| put(&mut job.workload.warmup_epochs, text),
        problem: |job| {
            let epochs = job.workload.warmup_epochs;
            when(!(epochs.is_finite() && epochs >= 0.0), format!("warmup epochs {epochs} is not a number from 0"))
        },
        trainer: TrainerFlag::Value,
    },
    Setting {
        key: Key::Model,
        flag: "model",
        value_name: "NAME",
        help: "wrn-DEPTH-WIDTH such as wrn-10-1, mnist-cnn or lenet",
        label: "model",
        hint: "wrn-DEPTH-WIDTH, mnist-cnn, lenet",
        values: Values::Names(MODELS),
        get: |job| job.workload.model.to_string(),
        set: |job, text| put_word(&mut job.workload.model, text),
        problem: |job| job.workload.misfit(),
        trainer: TrainerFlag::Value,
    },
    Setting {
        key: Key::Data,
        flag: "data",
        value_name: "SOURCE",
        help: "auto, fashion-mnist or generated (garments); digits, mnist or generated-digits (digits)",
        label: "data",
        hint: "auto, generated, digits, mnist, ...",
        values: Values::Names(SOURCES),
        get: |job| job.workload.data.to_string(),
        set: |job, text| put_word(&mut job.workload.data, text),
        problem: fine,
        trainer: TrainerFlag::DataDir,
    },
    Setting {
        key: Key::TrainImages,
        flag: "train-images",
        value_name: "N|all",
        help: "Use only this many training images, or all",
        label: "train images",
        hint: "a number, or all",
        values: Values::UpToAll(TRAIN_IMAGES),
        get: |job| or_word(job.workload.train_images, ALL),
        set: |job, text| put_limit(&mut job.workload.train_images, text),
        problem: |job| no_images(job.workload.train_images),
        trainer: TrainerFlag::Limit,
    },
    Setting {
        key: Key::ValidationImages,
        flag: "validation-images",
        value_name: "N|all",
        help: "Use only this many test images for the validation, or all",
        label: "validation images",
        hint: "a number, or all",
        values: Values::UpToAll(VALIDATION_IMAGES),
        get: |job| or_word(job.workload.validation_images, ALL),
        set: |job, text| put_limit(&mut job.workload.validation_images, text),
        problem: |job| no_images(job.workload.validation_images),
        trainer: TrainerFlag::Limit,
    },
    Setting {
        key: Key::Seed,
        flag: "seed",
        value_name: "N",
        help: "Of weights and shuffling: the same seed gives the same losses",
        label: "seed",
        hint: "a whole number from 0",
        values: Values::Count(0, usize::MAX),
        get: |job| job.workload.seed.to_string(),
        set: |job, text| put(&mut job.workload.seed, text),
        problem: fine,
        trainer: TrainerFlag::Value,
    },
    Setting {
        key: Key::Checkpointing,
        flag: "checkpointing",
        value_name: "",
        help: "Keep a checkpoint of every epoch",
        label: "checkpoints",
        hint: "on or off",
        values: Values::Switch("no-checkpointing", "Keep none: the run cannot be continued"),
        get: |job| if job.workload.checkpointing { "on" } else { "off" }.to_owned(),
        set: |job, text| put_switch(&mut job.workload.checkpointing, text),
        problem: fine,
        trainer: TrainerFlag::Switch("use-checkpointing"),
    },
    Setting {
        key: Key::Hosts,
        flag: "hosts",
        value_name: "HOSTS",
        help: "Hosts, as mpirun takes them: host:slots,...",
        label: "hosts",
        hint: "host:slots,..., or none",
        values: Values::Free,
        get: |job| or_word(job.resources.hosts.as_deref(), NONE),
        set: |job, text| put_text(&mut job.resources.hosts, text),
        problem: fine,
        trainer: TrainerFlag::None,
    },
    Setting {
        key: Key::Hostfile,
        flag: "hostfile",
        value_name: "FILE",
        help: "An mpirun host file",
        label: "host file",
        hint: "a file, or none",
        values: Values::Free,
        get: |job| or_word(job.resources.hostfile.as_deref(), NONE),
        set: |job, text| put_text(&mut job.resources.hostfile, text),
        problem: fine,
        trainer: TrainerFlag::None,
    },
    Setting {
        key: Key::NetworkInterface,
        flag: "network-interface",
        value_name: "NAMES",
        help: "The way from host to host: interfaces such as eth0, or networks such as 10.0.0.0/8, separated by commas",
        label: "network",
        hint: "such as eth0 or 10.0.0.0/8, or none",
        values: Values::Free,
        get: |job| or_word(job.resources.network_interface.as_deref(), NONE),
        set: |job, text| put_text(&mut job.resources.network_interface, text),
        problem: |job| job.resources.network_problem(),
        trainer: TrainerFlag::None,
    },
    Setting {
        key: Key::StartTimeout,
        flag: "start-timeout",
        value_name: "H:MM:SS",
        help: "End the run if not every rank has reported after this time [default: 2 minutes where hosts are named, else none]",
        label: "start timeout",
        hint: "such as 0:00:30, or none",
        values: Values::Free,
        get: |job| or_word(job.resources.start_timeout_s.map(units::clock), NONE),
        set: |job, text| put_time(&mut job.resources.start_timeout_s, text),
        problem: fine,
        trainer: TrainerFlag::None,
    },
    Setting {
        key: Key::TimeLimit,
        flag: "time-limit",
        value_name: "H:MM:SS",
        help: "Stop the run after this time, such as 0:10:00 or 600 (seconds)",
        label: "time limit",
        hint: "such as 0:10:00, or none",
        values: Values::Free,
        get: |job| or_word(job.resources.time_limit_s.map(units::clock), NONE),
        set: |job, text| put_time(&mut job.resources.time_limit_s, text),
        problem: fine,
        trainer: TrainerFlag::None,
    },
    elastic::MIN_NP,
    elastic::MAX_NP,
    elastic::RESET_LIMIT,
    elastic::COMMIT_EVERY,
    elastic::HOST_DISCOVERY_SCRIPT,
    elastic::ELASTIC_TIMEOUT,
    slurm::SLURM,
    slurm::NODES,
    slurm::GPUS_PER_NODE,
    slurm::PARTITION,
    link::LINK,
];

impl Key {
    /// Its row.
    pub fn setting(self) -> &'static Setting {
        // A test sees to it that every key has one.
        SETTINGS.iter().find(|setting| setting.key == self).unwrap_or(&SETTINGS[0])
    }
}

impl TrainingJob {
    /// The first thing in it that cannot run, in one sentence.
    pub fn problem(&self) -> Option<String> {
        self.resources.problem().or_else(|| SETTINGS.iter().find_map(|setting| (setting.problem)(self)))
    }
}
