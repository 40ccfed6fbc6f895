//! What an optimizer is to the training loop: an update of flat parameters, with visible state.
//!
//! Never averages over ranks: `DistributedOptimizer` wraps any of them.

use tch::{Kind, Tensor};

use crate::comm::CommError;
use crate::trainer::evidence;
use crate::trainer::params::FlatTensors;

/// An update rule with visible state: resuming and broadcasting need it.
///
/// # Horovod
/// The optimizer that `hvd.DistributedOptimizer` wraps.
pub trait Optimizer {
    /// The next backward pass completes the gradients of an update: they may be sent as they become ready.
    fn prepare_for_backward(&mut self) {}
    /// The gradients to apply: the rank's own, unless the optimizer is distributed.
    ///
    /// # Shapes
    /// Flat, float32, as long and in the same order as `params.flat`.
    ///
    /// # Errors
    /// As for every collective, if the optimizer is distributed.
    fn synchronize(&mut self, params: &FlatTensors) -> Result<Tensor, CommError> {
        Ok(params.gradients.shallow_clone())
    }
    /// One update, in place. `gradients` is only read. A lab that listens is told of the first updates and of a few later ones:
    /// the rate, and some of the gradients and weights.
    ///
    /// # Shapes
    /// `gradients`: as [`Self::synchronize`] returns it.
    fn step(&mut self, params: &mut FlatTensors, gradients: &Tensor, lr: f64) {
        let name = self.name();
        evidence::update(name, params, gradients, lr, |params| self.apply(params, gradients, lr));
    }
    /// The rule of the update: what [`Self::step`] does.
    fn apply(&mut self, params: &mut FlatTensors, gradients: &Tensor, lr: f64);
    /// How many `DistributedOptimizer`s this is, one around the other; 0 of a plain optimizer.
    fn wrapped(&self) -> usize {
        0
    }
    /// State by name, created in `new`: broadcast and checkpoint walk it in this order.
    ///
    /// # Shapes
    /// One dimension, float32.
    fn state(&mut self) -> Vec<(&'static str, &mut Tensor)>;
    /// As reported in events.
    fn name(&self) -> &'static str;
}

/// w -= lr * direction, in one pass and without a copy.
pub(super) fn descend(weights: &mut Tensor, direction: &Tensor, lr: f64) {
    let minus_lr = Tensor::full([1], -lr, (Kind::Float, weights.device()));
    let _ = weights.addcmul_(direction, &minus_lr);
}
