//! Stochastic gradient descent with momentum, as in libtorch.
//!
//! Never corrects the momentum when the learning rate changes. Keras does, because its buffer contains the rate.

use tch::Tensor;

use super::chunks::chunks;
use super::interface::{Optimizer, descend};
use super::per_tensor::PerTensor;
use crate::trainer::params::FlatTensors;

/// buf = momentum * buf + g + wd * w;  w -= lr * buf
pub struct Sgd {
    momentum: f64,
    /// [blocks, 1]
    decay: Tensor,
    buffer: Tensor,
}

impl Sgd {
    /// Fresh state for these parameters. `wd` is the weight decay of kernels, `momentum` in 0 to 1.
    pub fn new(params: &FlatTensors, momentum: f64, wd: f64) -> Sgd {
        Sgd { momentum, decay: PerTensor::new(params).decay(params, wd), buffer: params.flat.zeros_like() }
    }
}

impl Optimizer for Sgd {
    fn apply(&mut self, params: &mut FlatTensors, gradients: &Tensor, lr: f64) {
        tch::no_grad(|| {
            for chunk in chunks(params) {
                let tensors = [&self.buffer, gradients, &params.flat, &self.decay];
                let [mut buffer, gradients, mut weights, decay] = chunk.views_of(tensors);
                let _ = buffer.g_mul_scalar_(self.momentum);
                let _ = buffer.g_add_(&gradients);
                let _ = buffer.addcmul_(&weights, &decay);
                descend(&mut weights, &buffer, lr);
            }
        });
    }

    fn state(&mut self) -> Vec<(&'static str, &mut Tensor)> {
        vec![("momentum", &mut self.buffer)]
    }

    fn name(&self) -> &'static str {
        "sgd"
    }
}
