//! NovoGrad (Ginsburg et al. 2019): momentum over gradients that are normalised tensor by tensor.
//!
//! Never mixes tensors: the second moment is one number per tensor, so a large global batch cannot drown a small layer.

use tch::{Device, Kind, Tensor};

use super::{Optimizer, decay};
use crate::trainer::params::FlatTensors;

const BETA_1: f64 = 0.95;
const BETA_2: f64 = 0.98;
const EPS: f64 = 1e-8;

/// v1 = |g|^2, then v = b2 v + (1 - b2) |g|^2;  m = b1 m + g / (sqrt(v) + eps) + wd w;  w -= lr m
///
/// With the authors' b1 0.95, b2 0.98, eps 1e-8. Weight decay stands outside the normalisation, on kernels only, and
/// replaces L2 in the loss.
pub struct NovoGrad {
    decay: Tensor,
    /// Length of every segment, for spreading one number per tensor over its elements.
    lengths: Tensor,
    /// [tensors]; all 0 until the first step, which a squared norm of real gradients never is.
    second_moment: Tensor,
    momentum: Tensor,
}

impl NovoGrad {
    pub fn new(params: &FlatTensors, wd: f64) -> NovoGrad {
        let device = params.flat.device();
        let lengths: Vec<i64> = params.segments.iter().map(|segment| segment.len).collect();
        NovoGrad {
            decay: decay(params, wd),
            lengths: Tensor::from_slice(&lengths).to_device(device),
            second_moment: Tensor::zeros([lengths.len() as i64], (Kind::Float, device)),
            momentum: params.flat.zeros_like(),
        }
    }
}

impl Optimizer for NovoGrad {
    fn step(&mut self, params: &mut FlatTensors, gradients: &Tensor, lr: f64) {
        tch::no_grad(|| {
            let norms: Vec<Tensor> = params
                .segments
                .iter()
                .map(|segment| {
                    let piece = gradients.narrow(0, segment.start, segment.len);
                    piece.dot(&piece)
                })
                .collect();
            let norms = Tensor::stack(&norms, 0);
            let first = f64::try_from(self.second_moment.sum(Kind::Float).to_device(Device::Cpu)).unwrap_or(0.0) == 0.0;
            let second = if first { norms } else { &self.second_moment * BETA_2 + norms * (1.0 - BETA_2) };
            self.second_moment.copy_(&second);
            let scale =
                (second.sqrt() + EPS).reciprocal().repeat_interleave_self_tensor(&self.lengths, 0, params.flat.numel() as i64);
            let _ = self.momentum.g_mul_scalar_(BETA_1);
            let _ = self.momentum.addcmul_(gradients, &scale);
            let _ = self.momentum.addcmul_(&self.decay, &params.flat);
            let _ = params.flat.g_sub_(&(&self.momentum * lr));
        });
    }

    fn state(&mut self) -> Vec<(&'static str, &mut Tensor)> {
        vec![("momentum", &mut self.momentum), ("second_moment", &mut self.second_moment)]
    }

    fn name(&self) -> &'static str {
        "novograd"
    }
}
