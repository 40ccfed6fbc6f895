//! Sample reports for the tests of every package.

use super::event::{ConfigReport, EpochReport, Metrics, TopologyReport};
use super::phase::{Phase, PhaseSeconds};
use super::pipeline::PipelineReport;
use super::step::StepSet;
use super::topology::Topology;

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
