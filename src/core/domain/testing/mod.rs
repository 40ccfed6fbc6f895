//! Sample reports and settings for the tests of every package.

use std::ops::Range;

use serde_json::Map;

use super::benchmark::{BenchmarkSpec, IterationReport, NumberFormat, Style};
use super::collective::{AllreduceReport, CollectivesSpec, Message, MessageReport};
use super::command::CommandSpec;
use super::event::{ConfigReport, EpochReport, Metrics, TopologyReport};
use super::job::{Resources, TrainingJob};
use super::model::ModelSpec;
use super::phase::{Phase, PhaseSeconds};
use super::pipeline::PipelineReport;
use super::step::StepSet;
use super::topology::Topology;
use super::training::{DataSource, TrainingSpec};

impl TopologyReport {
    /// Of a process on a CPU.
    pub fn sample() -> TopologyReport {
        TopologyReport {
            topology: Topology::ALONE,
            host: "node".into(),
            pid: 7,
            communicator: "mpi".into(),
            device: "cpu".into(),
            device_uuid: None,
            cores: vec![0, 1],
            devices_found: Some(4),
            threads: 2,
            versions: Vec::new(),
            is_watched: false,
        }
    }
}

impl ConfigReport {
    /// Of a run on two ranks.
    pub fn sample() -> ConfigReport {
        ConfigReport {
            steps: StepSet::ALL,
            seed: 7,
            epochs: 3,
            resume_epoch: 0,
            resume_step: 0,
            local_batch_size: 64,
            global_batch_size: 128,
            steps_per_epoch: 93,
            validation_steps: 30,
            train_images: 12_000,
            optimizer: "novograd".into(),
            model: "wrn-10-1".into(),
            precision: "fp32".into(),
            parameters: 77_850,
            gradient_tensors: 36,
            data: "Fashion-MNIST".into(),
            base_lr: 0.01,
            warmup_epochs: 5.0,
            target_accuracy: 0.85,
        }
    }
}

impl EpochReport {
    /// A first epoch whose numbers are all different.
    pub fn sample() -> EpochReport {
        EpochReport {
            epoch: 1,
            train: Metrics { loss: 0.77124, accuracy: 0.72111 },
            validation: Metrics { loss: 0.9, accuracy: 0.1 },
            averaged: Some(Metrics { loss: 0.52, accuracy: 0.81 }),
            lr: 0.01,
            batches: 93,
            images: 5952,
            images_per_sec: 1573.2,
            cumulative_seconds: 20.1,
            phases: PhaseSeconds::from([(Phase::Training, 6.1)]),
        }
    }
}

impl PipelineReport {
    /// 500 images/s on 2 threads, which decode most of the time.
    pub fn sample(model_waited: f64, threads_waited: f64) -> PipelineReport {
        PipelineReport {
            threads: 2,
            seconds: 2.0,
            images: 1000,
            stages_us: [10.0, 700.0, 90.0, 60.0, 1.0],
            queue_depth: 3.5,
            queue_size: 4,
            model_waited,
            threads_waited,
            mirrored: 0,
            accurate: 0,
        }
    }
}

impl TrainingJob {
    /// A small run on two ranks.
    pub fn sample() -> TrainingJob {
        TrainingJob { resources: Resources::ranks(2), workload: TrainingSpec::sample() }
    }
}

impl TrainingSpec {
    /// A small training.
    pub fn sample() -> TrainingSpec {
        TrainingSpec {
            steps: StepSet::ALL,
            epochs: 3,
            batch_size: 64,
            base_lr: 0.01,
            momentum: 0.9,
            wd: 5e-6,
            target_accuracy: 0.85,
            patience: 2,
            warmup_epochs: 5.0,
            model: ModelSpec::wrn(10, 1),
            data: DataSource::Auto,
            train_images: Some(12_000),
            validation_images: Some(1_000),
            checkpointing: true,
            commit_every: None,
            seed: 1,
            precision: NumberFormat::default(),
            trainer_flags: Vec::new(),
            newer: Map::new(),
        }
    }
}

impl CommandSpec {
    /// Of this line, without quotes in it.
    pub fn sample(line: &str) -> CommandSpec {
        let argv = line.split(' ').map(String::from).collect();
        CommandSpec { argv, directory: "/work".into(), patterns: Vec::new(), tensorboard: None, inspect: false }
    }
}

impl CollectivesSpec {
    /// Two methods at three sizes.
    pub fn sample() -> CollectivesSpec {
        CollectivesSpec {
            methods: vec!["ring".into(), "mpi".into()],
            max_bytes: 1 << 20,
            factor: 32,
            log_bytes: Some(1 << 10),
            ..CollectivesSpec::usual(2)
        }
    }
}

impl AllreduceReport {
    /// One that took a millisecond.
    pub fn sample() -> AllreduceReport {
        AllreduceReport {
            method: "ring".into(),
            bytes: 1024,
            elements: 256,
            iterations: 20,
            mean_s: 1e-3,
            median_s: 1e-3,
            min_s: 9e-4,
            max_s: 2e-3,
            wrong: Some(0),
        }
    }
}

impl MessageReport {
    /// A message of a schedule as it should be logged, after a microsecond.
    pub fn of((round, sent): (usize, &Message)) -> MessageReport {
        let (Range { start, end }, operation) = (sent.range.clone(), sent.operation);
        MessageReport { round, from: sent.from, to: sent.to, start, end, operation, began_s: 0.0, ended_s: 1e-6 }
    }
}

impl BenchmarkSpec {
    /// A short one.
    pub fn sample() -> BenchmarkSpec {
        BenchmarkSpec {
            batch_size: 64,
            warmup_batches: 1,
            batches_per_iteration: 2,
            iterations: 3,
            ..BenchmarkSpec::of_style(Style::Horovod, ModelSpec::wrn(10, 1))
        }
    }
}

impl IterationReport {
    /// 128 images of this rank in a second.
    pub fn sample(iteration: usize) -> IterationReport {
        IterationReport {
            iteration,
            of: 10,
            batches: 2,
            images: 128,
            seconds: 1.0,
            images_per_sec: 256.0,
            loss: 2.3,
            phases: PhaseSeconds::from([(Phase::Training, 1.0), (Phase::AllreduceExposed, 0.25)]),
        }
    }
}
