//! Evidence of a run that did everything right, made from the formulas, for tests to doctor.
//!
//! Never a real run: those are in `real.rs`.

use hvd_lab_terminal::course::Evidence;
use hvd_lab_terminal::domain::event::{
    CheckpointAction, CheckpointReport, ConfigReport, DigestMoment, EpochReport, Event, EventLine, Metrics, TopologyReport,
};
use hvd_lab_terminal::domain::job::TrainingJob;
use hvd_lab_terminal::domain::phase::{Phase, PhaseSeconds};
use hvd_lab_terminal::domain::schedule::LearningRateSchedule;
use hvd_lab_terminal::domain::step::StepSet;
use hvd_lab_terminal::domain::topology::{LocalRank, Rank, Topology, WorldSize};

pub const NP: usize = 3;
pub const EPOCHS: usize = 2;
/// ceil(400 / 32) = 13 batches, 13 / 3 = 4 for each rank.
pub const STEPS: usize = 4;

pub fn spec(np: usize) -> TrainingJob {
    let preset = hvd_lab_terminal::launch::presets().remove(0).spec;
    preset.with(|job| {
        job.resources.np = np;
        (job.workload.steps, job.workload.checkpointing) = (StepSet::ALL, true);
        (job.workload.base_lr, job.workload.warmup_epochs) = (0.01, 5.0);
    })
}

/// The formula, for doctors to start from.
pub fn schedule() -> LearningRateSchedule {
    LearningRateSchedule { initial_lr: 0.01 * NP as f64, size: NP, warmup_epochs: 5.0, steps_per_epoch: STEPS }
}

pub fn evidence() -> Evidence {
    let mut evidence = Evidence::new(spec(NP));
    attempt(0, EPOCHS).iter().for_each(|line| evidence.take(line));
    for epoch in 1..=EPOCHS {
        evidence.take_line(0, &format!("Epoch {epoch}/{EPOCHS}"));
        evidence.take_line(1, "a warning of some library");
    }
    evidence
}

/// The events of all ranks from after epoch `from` to epoch `to`, in an order in which they may arrive.
pub fn attempt(from: usize, to: usize) -> Vec<EventLine> {
    let mut lines = Vec::new();
    for rank in 0..NP {
        lines.extend(beginning(rank, from).map(|event| line(rank, event)));
    }
    for epoch in from..to {
        for rank in (0..NP).rev() {
            lines.extend(epoch_of(rank, epoch, epoch == from).into_iter().map(|event| line(rank, event)));
        }
    }
    for rank in 0..NP {
        lines.push(line(rank, Event::Test { loss: 0.5, accuracy: 0.8, images: 10_000, seconds: 1.0 }));
        let finished = Event::Finished { epochs: to, training_seconds: 2.0, total_seconds: 3.0, peak_rss_bytes: None };
        lines.push(line(rank, finished));
    }
    lines
}

fn line(process: usize, event: Event) -> EventLine {
    EventLine { time_s: 1.0, process, event }
}

fn digest(moment: DigestMoment, epoch: usize, digest: String) -> Event {
    Event::Digest { moment, epoch, digest, sample: Vec::new() }
}

/// Two numbers of each rank's own gradients, and their mean over the ranks.
fn gradients(rank: usize, epoch: usize) -> [Event; 2] {
    let own = |rank: usize| [0.3 * rank as f32, 0.5 - 0.2 * rank as f32];
    let mean = |place: usize| (0..NP).map(|rank| own(rank)[place]).sum::<f32>() / NP as f32;
    let (own_digest, mean_digest) = (format!("{rank}{rank}bbbbbbbbbbbbbb"), "bbbbbbbbbbbbbbbb".to_owned());
    [
        Event::Digest { moment: DigestMoment::OwnGradients, epoch, digest: own_digest, sample: own(rank).into() },
        Event::Digest { moment: DigestMoment::FirstGradients, epoch, digest: mean_digest, sample: vec![mean(0), mean(1)] },
    ]
}

fn beginning(rank: usize, from: usize) -> [Event; 4] {
    let topology = Topology { rank: Rank(rank), size: WorldSize(NP), local_rank: LocalRank(rank), local_size: WorldSize(NP) };
    [
        Event::Topology(TopologyReport {
            topology,
            host: "node".into(),
            pid: 100,
            communicator: "mpi".into(),
            device: "cpu".into(),
            device_uuid: None,
            cores: vec![2 * rank, 2 * rank + 1],
            devices_found: Some(2 * NP),
            threads: 1,
            versions: Vec::new(),
            // As older recordings are; tests/wrong has real runs of the others.
            is_watched: false,
        }),
        digest(DigestMoment::InitialParameters, from, format!("{rank}{rank}aaaaaaaaaaaaaa")),
        digest(DigestMoment::StartParameters, from, "00aaaaaaaaaaaaaa".into()),
        Event::Config(ConfigReport {
            steps: StepSet::ALL,
            seed: 1,
            epochs: EPOCHS,
            resume_epoch: from,
            resume_step: 0,
            local_batch_size: 32,
            global_batch_size: 32 * NP,
            steps_per_epoch: STEPS,
            validation_steps: 32,
            train_images: 400,
            optimizer: "novograd".into(),
            model: "wrn-10-1".into(),
            precision: "fp32".into(),
            parameters: 77_000,
            gradient_tensors: 30,
            data: "generated garments".into(),
            base_lr: 0.01,
            warmup_epochs: 5.0,
            target_accuracy: 0.85,
        }),
    ]
}

fn epoch_of(rank: usize, epoch: usize, is_first: bool) -> Vec<Event> {
    let mut events = Vec::new();
    for batch in 0..STEPS {
        if is_first && batch == 0 {
            events.extend(gradients(rank, epoch));
        }
        let loss = 2.3 - 0.01 * (epoch * STEPS + batch) as f64 - 0.001 * rank as f64;
        events.push(Event::Step { epoch, batch, lr: schedule().lr(epoch, batch), loss });
    }
    events.push(digest(DigestMoment::EpochParameters, epoch + 1, format!("cccccccccccccc{epoch:02}")));
    let own = |rank: usize| Metrics { loss: 1.0 + 0.1 * rank as f64, accuracy: 0.5 + 0.1 * rank as f64 };
    let averaged = Metrics { loss: 1.1, accuracy: 0.6 };
    events.push(Event::Epoch(EpochReport {
        epoch: epoch + 1,
        train: own(0),
        validation: own(rank),
        averaged: Some(averaged),
        lr: schedule().lr(epoch, STEPS - 1),
        batches: STEPS,
        images: STEPS * 32,
        images_per_sec: 1000.0,
        cumulative_seconds: 1.0,
        phases: PhaseSeconds::from([(Phase::Training, 1.0)]),
    }));
    if rank == 0 {
        events.push(Event::Checkpoint(checkpoint(epoch + 1)));
    }
    events
}

pub fn checkpoint(epoch: usize) -> CheckpointReport {
    CheckpointReport {
        action: CheckpointAction::Written,
        path: format!("logs/checkpoint-{epoch}.safetensors"),
        epoch,
        images: 0,
        bytes: Some(1),
        digest: None,
        note: None,
        stopped_seconds: None,
    }
}
