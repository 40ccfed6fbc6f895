//! How far the training of a program has come.

use std::time::Instant;

use hvd_lab::trainer::early_stop::EarlyStop;
use hvd_lab::trainer::evaluate::{MetricSums, Totals};
use hvd_lab::trainer::model::Dropout;
use hvd_lab::trainer::resume::EpochReports;
use hvd_lab::trainer::sampler::{Draw, Sampler};
use hvd_lab::trainer::tensorboard::EventWriter;
use rand_chacha::ChaCha8Rng;

use crate::images::Taken;
use crate::plan::Plan;

/// A training between its first and its last epoch.
pub struct Training {
    pub plan: Plan,
    pub taken: Taken,
    pub train_order: Sampler,
    pub validation_order: Sampler,
    pub began: Instant,
    pub reports: EpochReports,
    pub board: Option<EventWriter>,
    pub stop: Option<EarlyStop>,
    /// Ranks that write checkpoints.
    pub writers: usize,
    pub epoch: Option<Epoch>,
    pub last_epoch: usize,
    /// Seconds of training, once it is over.
    pub ended: Option<f64>,
}

/// The epoch that is going on.
pub struct Epoch {
    pub index: usize,
    pub batches: Draw,
    pub augmentation: ChaCha8Rng,
    pub dropout: Dropout,
    pub sums: MetricSums,
    pub lr: f64,
    pub trained: Option<(Totals, f64)>,
    pub validated: Option<Totals>,
}
