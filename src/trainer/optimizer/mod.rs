//! Optimizers over flat parameters. Adding one is a file here and a line in `build`.
//!
//! Never averages over ranks: `DistributedOptimizer` wraps any of them.

mod novograd;
mod sgd;

use tch::Tensor;

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

/// Weight decay per number: `wd` for kernels, 0 elsewhere.
fn decay(params: &FlatTensors, wd: f64) -> Tensor {
    let lines: Vec<Tensor> = params
        .segments
        .iter()
        .map(|segment| {
            Tensor::full([segment.len], if segment.is_kernel { wd } else { 0.0 }, (tch::Kind::Float, params.flat.device()))
        })
        .collect();
    Tensor::cat(&lines, 0)
}
