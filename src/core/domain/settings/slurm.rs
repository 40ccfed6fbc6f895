//! The rows of what is asked of Slurm.

use super::setting::{Key, NONE, Setting, TrainerFlag, Values, or_word, put_count, put_switch, put_text};
use crate::domain::job::TrainingJob;

/// The row of the job says what is wrong with all of them.
const fn fine(_: &TrainingJob) -> Option<String> {
    None
}

pub(super) const SLURM: Setting = Setting {
    key: Key::Slurm,
    flag: "slurm",
    value_name: "",
    help: "Submit it to Slurm as a batch job, and follow it through the queue",
    label: "Slurm job",
    hint: "on or off",
    values: Values::Switch("no-slurm", "Start it here, or in the allocation that this is in"),
    get: |job| if job.resources.slurm { "on" } else { "off" }.to_owned(),
    set: |job, text| put_switch(&mut job.resources.slurm, text),
    problem: |job| job.resources.slurm_problem(),
    trainer: TrainerFlag::None,
};

pub(super) const NODES: Setting = Setting {
    key: Key::Nodes,
    flag: "nodes",
    value_name: "N",
    help: "With --slurm: on how many nodes [default: as Slurm likes]",
    label: "Slurm nodes",
    hint: "nodes, or none",
    values: Values::Free,
    get: |job| or_word(job.resources.nodes, NONE),
    set: |job, text| put_count(&mut job.resources.nodes, text),
    problem: fine,
    trainer: TrainerFlag::None,
};

pub(super) const GPUS_PER_NODE: Setting = Setting {
    key: Key::GpusPerNode,
    flag: "gpus-per-node",
    value_name: "N",
    help: "With --slurm: GPUs on each node [default: none is asked for]",
    label: "Slurm GPUs/node",
    hint: "GPUs, or none",
    values: Values::Free,
    get: |job| or_word(job.resources.gpus_per_node, NONE),
    set: |job, text| put_count(&mut job.resources.gpus_per_node, text),
    problem: fine,
    trainer: TrainerFlag::None,
};

pub(super) const PARTITION: Setting = Setting {
    key: Key::Partition,
    flag: "partition",
    value_name: "NAME",
    help: "With --slurm: the partition, as `sinfo` lists them [default: Slurm's own]",
    label: "Slurm partition",
    hint: "a partition, or none",
    values: Values::Free,
    get: |job| job.resources.partition.clone().unwrap_or_else(|| NONE.to_owned()),
    set: |job, text| put_text(&mut job.resources.partition, text),
    problem: fine,
    trainer: TrainerFlag::None,
};
