//! How well the model does: loss and accuracy over batches, and their mean over ranks.
//!
//! Never changes the model: batch norm uses its running statistics here.

use std::time::{Duration, Instant};

use tch::{Device, Kind, Tensor};

use super::batches::{Batch, Images};
use super::evidence;
use super::model::{Mode, Model};
use super::report::Reporter;
use crate::comm::{CommError, Communicator, ReduceOp};
use crate::domain::event::{Event, Metrics};

const TELL_EVERY: Duration = Duration::from_secs(1);

/// Sums of loss and correct answers over batches, kept on the device: adding a batch never waits for a GPU.
///
/// They are sums over images, so batches of different sizes get the right weight.
pub struct MetricSums {
    /// Scalars, float64: whole numbers and sums of float32 are exact enough, and the same on every device.
    loss: Tensor,
    correct: Tensor,
    images: usize,
}

impl MetricSums {
    /// No batches so far. `device` is where the scores are.
    pub fn new(device: Device) -> MetricSums {
        let zero = || Tensor::zeros([0; 0], (Kind::Double, device));
        MetricSums { loss: zero(), correct: zero(), images: 0 }
    }

    /// Adds one batch.
    ///
    /// # Shapes
    /// `scores`: [n, classes]; `loss`: a scalar, the mean cross entropy over the batch.
    pub fn add(&mut self, scores: &Tensor, batch: &Batch, loss: &Tensor) {
        let images = batch.labels.size()[0];
        tch::no_grad(|| {
            let correct = scores.argmax(1, false).eq_tensor(&batch.labels).sum(Kind::Double);
            let _ = self.correct.g_add_(&correct);
            let _ = self.loss.g_add_(&(loss.to_kind(Kind::Double) * images as f64));
        });
        self.images += images as usize;
    }

    /// The sums on the host.
    ///
    /// # Sync point
    /// Waits until the device has computed all batches.
    pub fn read(&self) -> Totals {
        Totals { loss: self.loss.double_value(&[]), correct: self.correct.double_value(&[]), images: self.images }
    }
}

/// Sums over images, on the host.
#[derive(Clone, Copy, Debug)]
pub struct Totals {
    loss: f64,
    correct: f64,
    pub images: usize,
}

impl Totals {
    /// The sums over the images of all ranks.
    ///
    /// # Collective
    /// Every rank calls it.
    ///
    /// # Errors
    /// As for every collective, see [`Communicator`].
    pub fn over_ranks(self, comm: &dyn Communicator) -> Result<Totals, CommError> {
        let mut sums = [self.loss, self.correct, self.images as f64];
        comm.allreduce_f64(&mut sums, ReduceOp::Sum)?;
        let [loss, correct, images] = sums;
        Ok(Totals { loss, correct, images: images as usize })
    }

    /// Means over the images.
    pub fn metrics(&self) -> Metrics {
        let images = self.images.max(1) as f64;
        Metrics { loss: self.loss / images, accuracy: self.correct / images }
    }
}

/// Sums of loss, top-1 and top-5 over batches, kept on the device like [`MetricSums`].
pub struct TopSums {
    /// Loss, images whose label has the best score, images whose label is among the best five: `[3]`, float64.
    sums: Tensor,
    images: usize,
}

/// Means over images.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopMetrics {
    pub loss: f64,
    /// Fractions, 0 to 1.
    pub top_1: f64,
    pub top_5: f64,
    pub images: usize,
}

impl TopSums {
    pub fn new(device: Device) -> TopSums {
        TopSums { sums: Tensor::zeros([3], (Kind::Double, device)), images: 0 }
    }

    /// Adds one batch. As `tf.nn.in_top_k`: an image is among the best k if fewer than k scores are above that of its label.
    ///
    /// # Shapes
    /// `scores`: [n, classes]; `loss`: a scalar, the mean cross entropy over the batch.
    pub fn add(&mut self, scores: &Tensor, batch: &Batch, loss: &Tensor) {
        let images = batch.labels.size()[0];
        tch::no_grad(|| {
            let own = scores.gather(1, &batch.labels.unsqueeze(1), false);
            let above = scores.gt_tensor(&own).sum_dim_intlist([1i64].as_slice(), false, Kind::Int64);
            let within = |k: i64| above.lt(k).sum(Kind::Double);
            let sum = loss.to_kind(Kind::Double) * images as f64;
            let _ = self.sums.g_add_(&Tensor::stack(&[sum, within(1), within(5)], 0));
        });
        self.images += images as usize;
    }

    /// The means over the images of all ranks; those of this rank alone by [`TopSums::own`].
    ///
    /// # Collective
    /// Every rank calls it.
    ///
    /// # Errors
    /// As for every collective, see [`Communicator`].
    pub fn over_ranks(&self, comm: &dyn Communicator) -> Result<TopMetrics, CommError> {
        let [loss, top_1, top_5] = self.read();
        let mut sums = [loss, top_1, top_5, self.images as f64];
        comm.allreduce_f64(&mut sums, ReduceOp::Sum)?;
        Ok(TopMetrics::of([sums[0], sums[1], sums[2]], sums[3] as usize))
    }

    /// The means over this rank's images.
    ///
    /// # Sync point
    /// Waits until the device has computed all batches.
    pub fn own(&self) -> TopMetrics {
        TopMetrics::of(self.read(), self.images)
    }

    fn read(&self) -> [f64; 3] {
        [0, 1, 2].map(|at| self.sums.double_value(&[at]))
    }
}

impl TopMetrics {
    fn of(sums: [f64; 3], images: usize) -> TopMetrics {
        let [loss, top_1, top_5] = sums.map(|sum| sum / images.max(1) as f64);
        TopMetrics { loss, top_1, top_5, images }
    }
}

impl From<TopMetrics> for Metrics {
    fn from(top: TopMetrics) -> Metrics {
        Metrics { loss: top.loss, accuracy: top.top_1 }
    }
}

/// Loss and accuracy over these batches, which may be drawn one after the other, without augmentation. It ends an epoch's training:
/// a lab that listens is told how many updates there were.
///
/// # Sync point
/// Waits for the device once, at the end.
pub fn evaluate(model: &dyn Model, images: &Images, batches: impl IntoIterator<Item: AsRef<[u32]>>) -> Totals {
    evidence::counted();
    evaluate_and_tell(model, images, batches, |_| {})
}

/// As [`evaluate`], for the test at the end: every second it reports how far it is. On a slow machine nobody would hear
/// anything for long, as of a program that hangs.
pub fn final_test(report: &Reporter, model: &dyn Model, images: &Images, batches: &[Vec<u32>]) -> Totals {
    let of = batches.iter().map(Vec::len).sum();
    let mut told = Instant::now();
    evaluate_and_tell(model, images, batches, |done| {
        if told.elapsed() >= TELL_EVERY {
            told = Instant::now();
            report.event(Event::Progress { what: "test".into(), done, of });
        }
    })
}

fn evaluate_and_tell(
    model: &dyn Model,
    images: &Images,
    batches: impl IntoIterator<Item: AsRef<[u32]>>,
    mut tell: impl FnMut(usize),
) -> Totals {
    tch::no_grad(|| {
        let mut sums = MetricSums::new(images.device());
        for picks in batches {
            let batch = images.batch(picks.as_ref());
            let scores = model.forward(&batch.images, Mode::Evaluation);
            sums.add(&scores, &batch, &scores.cross_entropy_for_logits(&batch.labels));
            tell(sums.images);
        }
        sums.read()
    })
}

/// Step 6: the unweighted mean of every metric over the ranks.
///
/// # Horovod
/// `MetricAverageCallback`. Horovod averages key by key in sorted order, and hangs when a rank lacks a key. Here the keys
/// are fields, so every rank has all of them.
///
/// # Collective
/// Every rank calls it, at the end of every epoch.
///
/// # Errors
/// As for every collective, see [`Communicator`].
pub fn metric_average(comm: &dyn Communicator, metrics: Metrics) -> Result<Metrics, CommError> {
    let mut values = [metrics.accuracy, metrics.loss];
    comm.allreduce_f64(&mut values, ReduceOp::Average)?;
    Ok(Metrics { accuracy: values[0], loss: values[1] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_among_the_best_if_few_scores_are_above_that_of_its_label() {
        // Eight classes; the labels come first, sixth, fifth, and second of two that are equal.
        let scores = Tensor::from_slice(&[
            9f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, //
            3.0, 1.0, 9.0, 8.0, 7.0, 6.0, 5.0, 0.0, //
            3.0, 1.0, 9.0, 8.0, 7.0, 6.0, 0.0, 0.5, //
            4.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
        ]);
        let scores = scores.view([4, 8]);
        let labels = Tensor::from_slice(&[0i64, 0, 0, 1]);
        let batch = Batch { images: Tensor::zeros([4], (Kind::Float, Device::Cpu)), labels };
        let mut sums = TopSums::new(Device::Cpu);
        sums.add(&scores, &batch, &Tensor::from(2.0));
        sums.add(&scores, &batch, &Tensor::from(4.0));
        assert_eq!(sums.own(), TopMetrics { loss: 3.0, top_1: 0.5, top_5: 0.75, images: 8 });
        assert_eq!(TopSums::new(Device::Cpu).own().images, 0);
    }
}
