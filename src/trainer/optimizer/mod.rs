//! Optimizers over flat parameters. Adding one is a file here and a line in `build`.
//!
//! Never averages over ranks: `DistributedOptimizer` wraps any of them.

mod novograd;
mod per_tensor;
mod sgd;

use tch::{Kind, Tensor};

pub use self::novograd::NovoGrad;
pub use self::sgd::Sgd;
use super::params::FlatTensors;
use crate::comm::CommError;

/// An update rule with visible state: resuming and broadcasting need it.
pub trait Optimizer {
    /// What to do with a rank's gradients before they are applied: nothing, unless the optimizer is distributed.
    ///
    /// # Errors
    /// If the ranks cannot reach each other.
    fn synchronize(&mut self, gradients: Tensor) -> Result<Tensor, CommError> {
        Ok(gradients)
    }
    /// Apply one update in place.
    ///
    /// # Shapes
    /// `gradients`: flat, float32, as long and in the same order as `params.flat`; it is only read, so the caller keeps its
    /// buffer for the next step.
    fn step(&mut self, params: &mut FlatTensors, gradients: &Tensor, lr: f64);
    /// State by name, flat, created in `new`: broadcast and checkpoint walk it in this order.
    fn state(&mut self) -> Vec<(&'static str, &mut Tensor)>;
    /// As reported in events.
    fn name(&self) -> &'static str;
}

/// w -= lr * direction, in one pass and without a copy.
fn descend(params: &mut FlatTensors, direction: &Tensor, lr: f64) {
    let minus_lr = Tensor::full([1], -lr, (Kind::Float, params.flat.device()));
    let _ = params.flat.addcmul_(direction, &minus_lr);
}
