//! NovoGrad (Ginsburg et al. 2019): momentum over gradients that are normalised tensor by tensor.
//!
//! Never mixes tensors: the second moment is one number per tensor, so a large global batch cannot drown a small layer.

use tch::{Kind, Tensor};

use super::interface::{Optimizer, descend};
use super::per_tensor::{PerTensor, rows};
use crate::trainer::params::FlatTensors;

const BETA_1: f64 = 0.95;
const BETA_2: f64 = 0.98;
const EPS: f64 = 1e-8;

/// v1 = |g|^2, then v = b2 v + (1 - b2) |g|^2;  m = b1 m + g / (sqrt(v) + eps) + wd w;  w -= lr m
///
/// With the authors' b1 0.95, b2 0.98, eps 1e-8. Weight decay stands outside the normalisation, on kernels only, and
/// replaces L2 in the loss.
pub struct NovoGrad {
    per_tensor: PerTensor,
    /// [blocks, 1]
    decay: Tensor,
    /// `[tensors]`; 0 until the first step in which the tensor has a gradient, which is then its v1.
    second_moment: Tensor,
    momentum: Tensor,
}

impl NovoGrad {
    /// Fresh state for these parameters. `wd` is the weight decay of kernels.
    pub fn new(params: &FlatTensors, wd: f64) -> NovoGrad {
        let per_tensor = PerTensor::new(params);
        NovoGrad {
            decay: per_tensor.decay(params, wd),
            second_moment: Tensor::zeros([params.segments.len() as i64], (Kind::Float, params.flat.device())),
            momentum: params.flat.zeros_like(),
            per_tensor,
        }
    }
}

impl Optimizer for NovoGrad {
    fn apply(&mut self, params: &mut FlatTensors, gradients: &Tensor, lr: f64) {
        tch::no_grad(|| {
            let norms = self.per_tensor.squared_norms(gradients);
            let second = self.second_moment.lerp(&norms, 1.0 - BETA_2);
            // Chosen on the device: to ask here whether this is the first step would wait for a GPU.
            self.second_moment.copy_(&norms.where_self(&self.second_moment.eq(0.0), &second));
            let scale = self.per_tensor.spread(&(self.second_moment.sqrt() + EPS).reciprocal());
            let mut momentum = rows(&self.momentum);
            let _ = momentum.g_mul_scalar_(BETA_1);
            let _ = momentum.addcmul_(&rows(gradients), &scale);
            let _ = momentum.addcmul_(&rows(&params.flat), &self.decay);
            descend(&mut params.flat, &self.momentum, lr);
        });
    }

    fn state(&mut self) -> Vec<(&'static str, &mut Tensor)> {
        vec![("momentum", &mut self.momentum), ("second_moment", &mut self.second_moment)]
    }

    fn name(&self) -> &'static str {
        "novograd"
    }
}
