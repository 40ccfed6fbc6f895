//! Each of the ten steps shows in the evidence of a run what it is there for, and what happens without it.
//!
//! Never reads human lines where an event says it. Runs are of the real trainer on two ranks under the real mpirun, with
//! generated garments and few images.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use hvd_lab::domain::event::{
    CheckpointAction, ConfigReport, DigestMoment, EpochReport, Event, EventLine, MARKER, TopologyReport,
};
use hvd_lab::domain::schedule::LearningRateSchedule;

use crate::support::images;
use crate::support::mpi;

const NP: usize = 2;
const LIMIT: Duration = Duration::from_secs(120);

/// What came out of a run, by process.
struct Evidence {
    events: Vec<EventLine>,
    /// Human lines of all processes.
    lines: Vec<String>,
}

impl Evidence {
    fn of<T>(&self, process: usize, pick: impl Fn(&Event) -> Option<T>) -> Vec<T> {
        self.events.iter().filter(|line| line.process == process).filter_map(|line| pick(&line.event)).collect()
    }

    fn topology(&self, process: usize) -> TopologyReport {
        let pick = |event: &Event| if let Event::Topology(report) = event { Some(report.clone()) } else { None };
        self.of(process, pick).remove(0)
    }

    fn config(&self, process: usize) -> ConfigReport {
        let pick = |event: &Event| if let Event::Config(report) = event { Some(report.clone()) } else { None };
        self.of(process, pick).remove(0)
    }

    fn epochs(&self, process: usize) -> Vec<EpochReport> {
        self.of(process, |event| if let Event::Epoch(report) = event { Some(report.clone()) } else { None })
    }

    fn digests(&self, process: usize, at: DigestMoment) -> Vec<String> {
        let pick = |event: &Event| match event {
            Event::Digest { moment, digest, .. } if *moment == at => Some(digest.clone()),
            _ => None,
        };
        self.of(process, pick)
    }

    fn losses(&self, process: usize) -> Vec<f64> {
        self.of(process, |event| if let Event::Step { loss, .. } = event { Some(*loss) } else { None })
    }

    fn learning_rates(&self, process: usize) -> Vec<(usize, usize, f64)> {
        self.of(
            process,
            |event| if let Event::Step { epoch, batch, lr, .. } = event { Some((*epoch, *batch, *lr)) } else { None },
        )
    }

    fn checkpoints(&self, process: usize, action: CheckpointAction) -> Vec<(usize, Option<String>)> {
        let pick = |event: &Event| match event {
            Event::Checkpoint(report) if report.action == action => Some((report.epoch, report.digest.clone())),
            _ => None,
        };
        self.of(process, pick)
    }

    fn count(&self, line: &str) -> usize {
        self.lines.iter().filter(|found| found.as_str() == line).count()
    }
}

/// Train on two ranks; `None` where there is no mpirun. One run at a time: two ranks have a core each.
fn train(steps: &str, extra: &[&str]) -> Option<Evidence> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let mpirun = mpi::mpirun()?;
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut command = mpi::command(&mpirun, NP);
    command.arg(env!("CARGO_BIN_EXE_hvd-train")).args([
        "--events",
        "--data-dir",
        images::few(),
        "--model",
        "wrn-10-1",
        "--steps",
        steps,
    ]);
    command.args(["--train-images", "400", "--validation-images", "100", "--batch-size", "32"]);
    if !extra.contains(&"--epochs") {
        command.args(["--epochs", "2"]);
    }
    let output = mpi::run_limited(
        {
            command.args(extra);
            command
        },
        LIMIT,
    );
    assert!(output.status.success(), "{}", mpi::text(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (events, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with(MARKER));
    let parse = |line: &&str| EventLine::parse_line(&line[MARKER.len()..]).unwrap_or_else(|| panic!("no event: {line}"));
    Some(Evidence { events: events.iter().map(parse).collect(), lines: lines.into_iter().map(str::to_owned).collect() })
}

/// The run with all steps on, made once.
fn all_on() -> Option<&'static Evidence> {
    static RUN: OnceLock<Option<Evidence>> = OnceLock::new();
    RUN.get_or_init(|| train("1-10", &[])).as_ref()
}

#[test]
fn with_all_steps_two_ranks_are_one_program() {
    let Some(run) = all_on() else { return };
    let ranks: BTreeSet<usize> = (0..NP).map(|process| run.topology(process).topology.rank.0).collect();
    assert_eq!(ranks, BTreeSet::from([0, 1]));
    for process in 0..NP {
        assert_eq!(run.topology(process).topology.size.0, NP);
        assert_eq!(run.topology(process).communicator, "mpi");
        assert_eq!(run.epochs(process).len(), 2);
    }
    for moment in [DigestMoment::StartParameters, DigestMoment::FirstGradients, DigestMoment::EpochParameters] {
        assert_eq!(run.digests(0, moment), run.digests(1, moment), "{moment:?}");
    }
    assert_ne!(run.digests(0, DigestMoment::InitialParameters), run.digests(1, DigestMoment::InitialParameters));
    assert_ne!(run.losses(0), run.losses(1), "each rank sees images of its own");
    for line in ["Epoch 1/2", "Epoch 2/2"] {
        assert_eq!(run.count(line), 1, "{line}");
    }
}

#[test]
fn the_same_seed_gives_the_same_losses_bit_for_bit() {
    let (Some(first), Some(second)) = (all_on(), train("1-10", &[])) else { return };
    for process in 0..NP {
        assert_eq!(first.losses(process), second.losses(process));
        let judged =
            |run: &Evidence| run.epochs(process).iter().map(|epoch| (epoch.validation, epoch.averaged)).collect::<Vec<_>>();
        assert_eq!(judged(first), judged(&second));
    }
    let Some(other) = train("1-10", &["--seed", "2"]) else { return };
    assert_ne!(first.losses(0), other.losses(0));
}

#[test]
fn step_1_off_makes_strangers_that_crowd_one_device() {
    let Some(run) = train("2-10", &[]) else { return };
    for process in 0..NP {
        let place = run.topology(process);
        assert_eq!((place.topology.rank.0, place.topology.size.0), (0, 1));
        assert_eq!(place.communicator, "local");
        assert_eq!(place.device, run.topology(0).device);
    }
    assert_eq!(run.topology(0).cores, run.topology(1).cores, "both use all cores");
    let Some(pinned) = all_on() else { return };
    if run.topology(0).device == "cpu" {
        let all = Some(run.topology(0).cores.len());
        assert_eq!([run.topology(0), pinned.topology(0)].map(|place| place.devices_found), [all, all]);
    }
    let cores = |process| pinned.topology(process).cores.into_iter().collect::<BTreeSet<_>>();
    if run.topology(0).cores.len() >= NP {
        assert!(cores(0).is_disjoint(&cores(1)), "with step 1 each rank has cores of its own");
    }
    // Step 2 has nothing to go by: every process is its own root, so both print.
    assert_eq!(run.count("Epoch 1/2"), NP);
    assert_ne!(run.losses(0), run.losses(1), "strangers draw numbers of their own");
}

#[test]
fn step_2_off_prints_everything_np_times() {
    let Some(run) = train("1,3-10", &[]) else { return };
    for line in ["Epoch 1/2", "Epoch 2/2"] {
        assert_eq!(run.count(line), NP, "{line}");
    }
}

#[test]
fn step_3_off_leaves_gradients_apart() {
    let Some(run) = train("1,2,4-10", &[]) else { return };
    assert_eq!(run.digests(0, DigestMoment::StartParameters), run.digests(1, DigestMoment::StartParameters));
    assert_ne!(run.digests(0, DigestMoment::FirstGradients), run.digests(1, DigestMoment::FirstGradients));
    assert_ne!(run.digests(0, DigestMoment::EpochParameters), run.digests(1, DigestMoment::EpochParameters));
}

#[test]
fn step_4_off_leaves_weights_apart_at_every_epoch() {
    let Some(run) = train("1-3,5-10", &[]) else { return };
    assert_eq!(run.digests(0, DigestMoment::FirstGradients), run.digests(1, DigestMoment::FirstGradients));
    let ends = [run.digests(0, DigestMoment::EpochParameters), run.digests(1, DigestMoment::EpochParameters)];
    assert_eq!(ends[0].len(), 2);
    assert!(ends[0].iter().zip(&ends[1]).all(|(a, b)| a != b), "{ends:?}");
}

#[test]
fn step_5_off_does_np_times_the_work() {
    let (Some(on), Some(off)) = (all_on(), train("1-4,6-10", &[])) else { return };
    let images = |run: &Evidence| (0..NP).map(|process| run.epochs(process)[0].images).sum::<usize>();
    // ceil(400 / 32) = 13 batches, 13 / 2 = 6 with the step; the last of 13 holds 16 images.
    assert_eq!((on.config(0).steps_per_epoch, off.config(0).steps_per_epoch), (6, 13));
    assert_eq!((images(on), images(&off)), (2 * 6 * 32, 2 * 400));
    // 3 * ceil(100 / 32) / 2 = 6, and 4 without.
    assert_eq!((on.config(0).validation_steps, off.config(0).validation_steps), (6, 4));
}

#[test]
fn step_6_off_lets_ranks_judge_differently() {
    let (Some(on), Some(off)) = (all_on(), train("1-5,7-10", &[])) else { return };
    for epoch in 0..2 {
        let [a, b] = [0, 1].map(|process| on.epochs(process)[epoch].clone());
        assert!(a.averaged.is_some() && a.averaged == b.averaged);
        let mean = (a.validation.loss + b.validation.loss) / 2.0;
        assert!((a.judged().loss - mean).abs() < 1e-12);
        let [a, b] = [0, 1].map(|process| off.epochs(process)[epoch].clone());
        assert!(a.averaged.is_none() && a.judged() != b.judged());
    }
}

#[test]
fn step_7_off_has_np_writers_of_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().to_str().unwrap();
    let flags = ["--use-checkpointing", "--log-dir", logs];
    let Some(run) = train("1-6,8-10", &flags) else { return };
    for process in 0..NP {
        assert_eq!(run.checkpoints(process, CheckpointAction::Written).len(), 2, "every rank writes every epoch");
        for (_, digest) in run.checkpoints(process, CheckpointAction::Inspected) {
            assert!(digest.is_some(), "the file that is left is whole");
        }
    }
    assert_eq!(files(folder.path()), ["checkpoint-1.safetensors", "checkpoint-2.safetensors"], "np writers, one file each epoch");
}

#[test]
fn step_7_has_one_writer_and_resuming_is_as_if_never_stopped() {
    let whole = tempfile::tempdir().unwrap();
    let parts = tempfile::tempdir().unwrap();
    let flags = |folder: &Path, epochs: &'static str| {
        [
            "--use-checkpointing".to_owned(),
            "--log-dir".into(),
            folder.to_str().unwrap().to_owned(),
            "--epochs".into(),
            epochs.into(),
        ]
    };
    let go = |folder: &Path, epochs| train("1-10", &flags(folder, epochs).iter().map(String::as_str).collect::<Vec<_>>());
    let Some(never_stopped) = go(whole.path(), "3") else { return };
    assert_eq!(never_stopped.checkpoints(0, CheckpointAction::Written).len(), 3);
    assert!(never_stopped.checkpoints(1, CheckpointAction::Written).is_empty());
    let written = never_stopped.checkpoints(0, CheckpointAction::Written).into_iter().map(|(_, digest)| digest.unwrap());
    assert_eq!(
        written.collect::<Vec<_>>(),
        never_stopped.digests(0, DigestMoment::EpochParameters),
        "a file holds what ranks hold"
    );
    go(parts.path(), "2");
    let Some(resumed) = go(parts.path(), "3") else { return };
    for process in 0..NP {
        assert_eq!(resumed.config(process).resume_epoch, 2);
        let last_third = never_stopped.losses(process)[12..].to_vec();
        assert_eq!(resumed.losses(process), last_third);
        let (last, same) = (&never_stopped.epochs(process)[2], &resumed.epochs(process)[0]);
        assert_eq!((last.validation, last.averaged), (same.validation, same.averaged));
        assert_eq!(last.epoch, same.epoch);
    }

    // The newest file is cut short: it is refused by name, and the one before it is taken.
    let newest = parts.path().join("checkpoint-3.safetensors");
    let bytes = std::fs::read(&newest).unwrap();
    std::fs::write(&newest, &bytes[..bytes.len() / 2]).unwrap();
    let Some(repaired) = go(parts.path(), "3") else { return };
    assert_eq!(repaired.checkpoints(0, CheckpointAction::Refused).len(), 1);
    assert!(repaired.lines.iter().any(|line| line.contains("checkpoint-3.safetensors")), "{:?}", repaired.lines);
    assert_eq!(repaired.config(1).resume_epoch, 2);
    assert_eq!(repaired.losses(0), resumed.losses(0));
}

#[test]
fn steps_8_and_9_set_the_rate_of_every_batch() {
    let ramp = |initial_lr, warmup_epochs| LearningRateSchedule { initial_lr, size: NP, warmup_epochs, steps_per_epoch: 6 };
    let cases = [("1-10", ramp(0.02, 5.0)), ("1-7,9,10", ramp(0.01, 5.0)), ("1-8,10", ramp(0.02, 0.0))];
    for (steps, schedule) in cases {
        let run = train(steps, &[]);
        let Some(run) = run else { return };
        for process in 0..NP {
            let rates = run.learning_rates(process);
            assert_eq!(rates.len(), 12);
            for (epoch, batch, lr) in rates {
                assert!((lr - schedule.lr(epoch, batch)).abs() < 1e-9, "steps {steps}: epoch {epoch}, batch {batch}: {lr}");
            }
        }
    }
    // By hand, with both: 0.02 / 2 * (e / 5 + 1) for e = 1/6 and 2.
    let Some(run) = all_on() else { return };
    let rates = run.learning_rates(0);
    assert!((rates[0].2 - 0.010_333_333).abs() < 1e-8 && (rates[11].2 - 0.014).abs() < 1e-8, "{rates:?}");
}

#[test]
fn step_10_is_the_optimizer() {
    let (Some(on), Some(off)) = (all_on(), train("1-9", &[])) else { return };
    assert_eq!((on.config(0).optimizer, off.config(0).optimizer), ("novograd".into(), "sgd".into()));
    assert_ne!(on.losses(0), off.losses(0));
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.starts_with("events.out"));
    names.sort();
    names
}
