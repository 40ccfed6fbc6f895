//! How well the model does: loss and accuracy of batches, and their mean over ranks.
//!
//! Never changes the model: batch norm uses its running statistics here.

use tch::Tensor;

use super::batches::{Batch, Images};
use super::model::{Mode, Model};
use crate::comm::{CommError, Communicator, ReduceOp};
use crate::domain::event::Metrics;

/// Sums over images, so that batches of different sizes weigh right.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    loss_sum: f64,
    correct: f64,
    pub images: usize,
}

impl Tally {
    /// Count one batch. `loss` is the mean over the batch.
    ///
    /// # Shapes
    /// `scores`: [n, 10].
    pub fn add(&mut self, scores: &Tensor, batch: &Batch, loss: f64) {
        let images = batch.labels.size()[0];
        let correct = scores.argmax(1, false).eq_tensor(&batch.labels).sum(tch::Kind::Int64);
        self.loss_sum += loss * images as f64;
        self.correct += correct.double_value(&[]);
        self.images += images as usize;
    }

    /// The count over the images of all ranks.
    ///
    /// # Collective
    /// Every rank calls it.
    pub fn over_ranks(self, comm: &dyn Communicator) -> Result<Tally, CommError> {
        let mut sums = [self.loss_sum, self.correct, self.images as f64];
        comm.allreduce_f64(&mut sums, ReduceOp::Sum)?;
        let [loss_sum, correct, images] = sums;
        Ok(Tally { loss_sum, correct, images: images as usize })
    }

    pub fn metrics(&self) -> Metrics {
        let images = self.images.max(1) as f64;
        Metrics { loss: self.loss_sum / images, accuracy: self.correct / images }
    }
}

/// Mean loss and accuracy over the given batches, without augmentation.
pub fn evaluate(model: &dyn Model, images: &Images, batches: &[Vec<u32>]) -> Tally {
    tch::no_grad(|| {
        let mut tally = Tally::default();
        for picks in batches {
            let batch = images.batch(picks);
            let scores = model.forward(&batch.images, Mode::Evaluation);
            let loss = scores.cross_entropy_for_logits(&batch.labels).double_value(&[]);
            tally.add(&scores, &batch, loss);
        }
        tally
    })
}

/// Step 6: the unweighted mean of every metric over the ranks.
///
/// # Horovod
/// `MetricAverageCallback`. Horovod averages key by key in sorted order and hangs when a rank lacks a key; here the keys
/// are fields, so every rank has them all.
///
/// # Collective
/// Every rank calls it, at the end of every epoch.
pub fn metric_average(comm: &dyn Communicator, metrics: Metrics) -> Result<Metrics, CommError> {
    let mut values = [metrics.accuracy, metrics.loss];
    comm.allreduce_f64(&mut values, ReduceOp::Average)?;
    Ok(Metrics { accuracy: values[0], loss: values[1] })
}
