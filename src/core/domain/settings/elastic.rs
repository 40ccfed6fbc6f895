//! The rows of runs that go on with other ranks.

use super::setting::{Key, NONE, Setting, TrainerFlag, Values, or_word, put_count, put_text, put_time};
use crate::domain::job::TrainingJob;
use crate::domain::step::Step;
use crate::domain::units;

/// The row of the least ranks says what is wrong with all of them.
const fn fine(_: &TrainingJob) -> Option<String> {
    None
}

fn when(bad: bool, problem: &str) -> Option<String> {
    bad.then(|| problem.to_owned())
}

pub(super) const MIN_NP: Setting = Setting {
    key: Key::MinNp,
    flag: "min-np",
    value_name: "N",
    help: "If ranks are lost, go on from the last checkpoint with those that are left, down to this number (elastic)",
    label: "min np (elastic)",
    hint: "ranks to go on with, or none",
    values: Values::Free,
    get: |job| or_word(job.resources.min_np, NONE),
    set: |job, text| put_count(&mut job.resources.min_np, text),
    problem: |job| {
        let no_checkpoints = job.resources.min_np.is_some() && !job.workload.checkpointing;
        when(no_checkpoints, "a run goes on from its checkpoints: leave --no-checkpointing out, or --min-np")
            .or_else(|| job.resources.elastic_problem())
    },
    trainer: TrainerFlag::None,
};

pub(super) const MAX_NP: Setting = Setting {
    key: Key::MaxNp,
    flag: "max-np",
    value_name: "N",
    help: "With --host-discovery-script: go on with more ranks, up to this number, when there are more slots [default: np]",
    label: "max np (elastic)",
    hint: "ranks at most, or none",
    values: Values::Free,
    get: |job| or_word(job.resources.max_np, NONE),
    set: |job, text| put_count(&mut job.resources.max_np, text),
    problem: fine,
    trainer: TrainerFlag::None,
};

pub(super) const RESET_LIMIT: Setting = Setting {
    key: Key::ResetLimit,
    flag: "reset-limit",
    value_name: "N",
    help: "How often a run with --min-np may go on after it lost ranks [default: 10]",
    label: "reset limit",
    hint: "resets, or none for 10",
    values: Values::Free,
    get: |job| or_word(job.resources.reset_limit, NONE),
    set: |job, text| put_count(&mut job.resources.reset_limit, text),
    problem: fine,
    trainer: TrainerFlag::None,
};

pub(super) const COMMIT_EVERY: Setting = Setting {
    key: Key::CommitEvery,
    flag: "commit-every",
    value_name: "N",
    help: "Also write a checkpoint every N steps, while training goes on: what a run that loses ranks goes on from",
    label: "commit every",
    hint: "steps, or none",
    values: Values::Free,
    get: |job| or_word(job.workload.commit_every, NONE),
    set: |job, text| put_count(&mut job.workload.commit_every, text),
    problem: |job| {
        let workload = &job.workload;
        let every = workload.commit_every?;
        when(every == 0, "commit every 0 steps is never: give 1 or more steps")
            .or_else(|| {
                when(!workload.checkpointing, "commits are checkpoints: switch checkpoints on, or leave --commit-every out")
            })
            .or_else(|| {
                let is_missing = !workload.steps.contains(Step::CheckpointOnRoot);
                when(is_missing, "commits need step 7: without it all ranks would write the same files")
            })
    },
    trainer: TrainerFlag::Limit,
};

pub(super) const HOST_DISCOVERY_SCRIPT: Setting = Setting {
    key: Key::HostDiscoveryScript,
    flag: "host-discovery-script",
    value_name: "FILE",
    help: "A program that prints the hosts that there are now, a line `host:slots` each. It is asked again while the run goes on",
    label: "host discovery",
    hint: "a program, or none",
    values: Values::Free,
    get: |job| job.resources.host_discovery_script.clone().unwrap_or_else(|| NONE.to_owned()),
    set: |job, text| put_text(&mut job.resources.host_discovery_script, text),
    problem: fine,
    trainer: TrainerFlag::None,
};

pub(super) const ELASTIC_TIMEOUT: Setting = Setting {
    key: Key::ElasticTimeout,
    flag: "elastic-timeout",
    value_name: "TIME",
    help: "With --host-discovery-script: wait so long for --min-np slots [default: 10:00]",
    label: "elastic timeout",
    hint: "H:MM:SS or seconds, or none",
    values: Values::Free,
    get: |job| job.resources.elastic_timeout_s.map_or_else(|| NONE.to_owned(), units::clock),
    set: |job, text| put_time(&mut job.resources.elastic_timeout_s, text),
    problem: fine,
    trainer: TrainerFlag::None,
};
