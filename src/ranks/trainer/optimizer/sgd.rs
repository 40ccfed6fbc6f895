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
    /// [blocks, 1]; none where no weight decays.
    decay: Option<Tensor>,
    /// All 0 where there is neither momentum nor decay: then nothing reads or writes it.
    buffer: Tensor,
}

impl Sgd {
    /// Fresh state for these parameters. `wd` is the weight decay of kernels, `momentum` in 0 to 1.
    pub fn new(params: &FlatTensors, momentum: f64, wd: f64) -> Sgd {
        let decay = (wd != 0.0).then(|| PerTensor::new(params).decay(params, wd));
        Sgd { momentum, decay, buffer: params.flat.zeros_like() }
    }
}

impl Optimizer for Sgd {
    fn apply(&mut self, params: &mut FlatTensors, gradients: &Tensor, lr: f64) {
        tch::no_grad(|| {
            if self.momentum == 0.0 && self.decay.is_none() {
                return descend(&mut params.flat, gradients, lr);
            }
            for chunk in chunks(params) {
                let [mut buffer, gradients, mut weights] = chunk.views_of([&self.buffer, gradients, &params.flat]);
                let _ = buffer.g_mul_scalar_(self.momentum);
                let _ = buffer.g_add_(&gradients);
                if let Some(decay) = &self.decay {
                    let [decay] = chunk.views_of([decay]);
                    let _ = buffer.addcmul_(&weights, &decay);
                }
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
