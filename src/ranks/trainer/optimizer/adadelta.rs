//! Adadelta (Zeiler 2012, arXiv 1212.5701): step sizes from recent gradients and recent updates.
//!
//! A learning rate of 1 is the paper's. Any other multiplies the update, as in Keras and PyTorch.

use tch::Tensor;

use super::chunks::chunks;
use super::interface::{Optimizer, descend};
use super::per_tensor::PerTensor;
use crate::trainer::params::FlatTensors;

const RHO: f64 = 0.95;
/// The paper's and torch's; Keras has 1e-7. The first updates are of the size of its root, so it sets how fast training
/// gets going.
const EPS: f64 = 1e-6;

/// g += wd w;  a = rho a + (1 - rho) g^2;  u = sqrt(d + eps) / sqrt(a + eps) g;  d = rho d + (1 - rho) u^2;  w -= lr u
///
/// Every number has its own step size. Weight decay is L2 in the loss, on kernels only.
pub struct Adadelta {
    /// [blocks, 1]
    decay: Tensor,
    squared_gradients: Tensor,
    squared_updates: Tensor,
}

impl Adadelta {
    /// Fresh state for these parameters. `wd` is the weight decay of kernels.
    pub fn new(params: &FlatTensors, wd: f64) -> Adadelta {
        Adadelta {
            decay: PerTensor::new(params).decay(params, wd),
            squared_gradients: params.flat.zeros_like(),
            squared_updates: params.flat.zeros_like(),
        }
    }
}

impl Optimizer for Adadelta {
    fn apply(&mut self, params: &mut FlatTensors, gradients: &Tensor, lr: f64) {
        tch::no_grad(|| {
            for chunk in chunks(params) {
                let [mut weights, gradients, mut squared_gradients, mut squared_updates, decay] =
                    chunk.views_of([&params.flat, gradients, &self.squared_gradients, &self.squared_updates, &self.decay]);
                let gradients = gradients.addcmul(&weights, &decay);
                let _ = squared_gradients.lerp_(&gradients.square(), 1.0 - RHO);
                let below = (&squared_gradients + EPS).sqrt_();
                let update = (&squared_updates + EPS).sqrt_().g_div_(&below).g_mul_(&gradients);
                let _ = squared_updates.lerp_(&update.square(), 1.0 - RHO);
                descend(&mut weights, &update, lr);
            }
        });
    }

    fn state(&mut self) -> Vec<(&'static str, &mut Tensor)> {
        vec![("squared_gradients", &mut self.squared_gradients), ("squared_updates", &mut self.squared_updates)]
    }

    fn name(&self) -> &'static str {
        "adadelta"
    }
}
