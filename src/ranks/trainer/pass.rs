//! One pass over a batch: forward, backward with its allreduces, and the update.
//!
//! `hvd-train.rs` and the learner's programs write the same out in their loops, to be read; the tests compare both, bit for bit.

use tch::Tensor;

use super::accumulation::AccumulationStep;
use super::batches::Batch;
use super::model::{Dropout, Mode, Model};
use super::optimizer::Optimizer;
use super::params::FlatTensors;
use super::stopwatch::Clock;
use crate::comm::CommError;
use crate::domain::phase::Phase;

/// What is trained, and the clock that its phases are taken with.
pub struct Pass<'a> {
    pub model: &'a mut dyn Model,
    pub optimizer: &'a mut dyn Optimizer,
    pub dropout: &'a mut Dropout,
    pub clock: &'a mut Clock,
}

/// What becomes of the gradients of a batch.
#[derive(Clone, Copy)]
pub struct Update {
    pub lr: f64,
    /// The place of the batch among those whose gradients add up.
    pub accumulation: AccumulationStep,
    /// Backward computes the gradients of so many times the loss, which they are divided by before the update.
    pub loss_scale: f64,
}

impl Update {
    /// An update after every batch.
    pub fn each(lr: f64) -> Update {
        Update { lr, accumulation: AccumulationStep::at(0, 1, 1), loss_scale: 1.0 }
    }
}

impl Pass<'_> {
    /// Trains on one batch; its scores and its loss. The phase of the optimizer is still going on: a caller that reads the loss, for
    /// which the host waits for the device, ends it after that.
    ///
    /// `before_update` is given the parameters, with this rank's gradients, and the averaged gradients, before these are applied.
    ///
    /// # Errors
    /// As for every collective.
    pub fn train(
        self,
        batch: &Batch,
        update: Update,
        before_update: impl FnOnce(&FlatTensors, &Tensor),
    ) -> Result<(Tensor, Tensor), CommError> {
        let Pass { model, optimizer, dropout, clock } = self;
        let Update { lr, accumulation, loss_scale } = update;
        let scores = model.forward(&batch.images, Mode::Training(dropout));
        let loss = scores.cross_entropy_for_logits(&batch.labels);
        clock.lap(Phase::Forward);
        let scaled = if loss_scale == 1.0 { loss.shallow_clone() } else { &loss * loss_scale };
        accumulation.backward(&scaled, model.params_mut(), optimizer);
        clock.lap(Phase::Backward);
        if accumulation.is_last {
            let mut gradients = optimizer.synchronize(model.params())?;
            clock.lap(Phase::AllreduceExposed);
            if loss_scale != 1.0 {
                let _ = gradients.g_div_scalar_(loss_scale);
            }
            before_update(model.params(), &gradients);
            optimizer.step(model.params_mut(), &gradients, lr);
        }
        Ok((scores, loss))
    }
}
