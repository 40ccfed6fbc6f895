//! LAMB (You et al. 2020, arXiv 1904.00962): Adam's direction, with a step size per tensor in proportion to its weights.
//!
//! Never scales biases and batch norm by their size: they start at 0 or 1, so their size says nothing about a good step
//! size. The authors' code leaves out both weight decay and layer adaptation for them, and so do TensorFlow Addons
//! (`exclude_from_layer_adaptation` follows `exclude_from_weight_decay`) and Apex (`use_nvlamb=False`).

use tch::{Kind, Tensor};

use super::chunks::chunks;
use super::interface::Optimizer;
use super::per_tensor::{PerTensor, rows};
use crate::trainer::params::FlatTensors;

const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.999;
const EPS: f64 = 1e-6;

/// m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  u = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + wd w;
/// w -= lr |w| / |u| u
///
/// The trust ratio |w| / |u| is one number per kernel, and 1 where either norm is 0 and for all that is no kernel.
pub struct Lamb {
    per_tensor: PerTensor,
    /// [blocks, 1]
    decay: Tensor,
    /// `[tensors]`, bool: those that have a trust ratio.
    adapted: Tensor,
    /// Updates so far: `[1]`, exact up to 2^24.
    steps: Tensor,
    first_moment: Tensor,
    second_moment: Tensor,
    /// u of this step, all of it: no weight may move before the ratios are known.
    update: Tensor,
}

impl Lamb {
    /// Fresh state for these parameters. `wd` is the weight decay of kernels.
    pub fn new(params: &FlatTensors, wd: f64) -> Lamb {
        let per_tensor = PerTensor::new(params);
        let adapted: Vec<bool> = params.segments.iter().map(|segment| segment.is_kernel).collect();
        Lamb {
            decay: per_tensor.decay(params, wd),
            adapted: Tensor::from_slice(&adapted).to_device(params.flat.device()),
            steps: Tensor::zeros([1], (Kind::Float, params.flat.device())),
            first_moment: params.flat.zeros_like(),
            second_moment: params.flat.zeros_like(),
            update: params.flat.zeros_like(),
            per_tensor,
        }
    }

    /// |w| / |u| of every tensor that has one, else 1: `[tensors]`.
    fn trust_ratios(&self, weights: &Tensor, update: &Tensor) -> Tensor {
        let [weights, update] = [weights, update].map(|flat| self.per_tensor.squared_norms(flat).sqrt_());
        let known = weights.gt(0.0).logical_and_(&update.gt(0.0)).logical_and_(&self.adapted);
        (weights / update).where_self(&known, &self.adapted.ones_like().to_kind(Kind::Float))
    }
}

impl Optimizer for Lamb {
    fn apply(&mut self, params: &mut FlatTensors, gradients: &Tensor, lr: f64) {
        tch::no_grad(|| {
            let _ = self.steps.g_add_scalar_(1.0);
            // 1 - b^t as -expm1(t ln b), which keeps its digits where b^t is almost 1; u's fraction is multiplied by
            // the root of the second correction above and below.
            let correction = |beta: f64| (&self.steps * beta.ln()).expm1_().neg_();
            let root = correction(BETA_2).sqrt_();
            let eps = &root * EPS;
            let factor = root / correction(BETA_1);
            for chunk in chunks(params) {
                let [weights, gradients, mut first, mut second, update, decay] =
                    chunk.views_of([&params.flat, gradients, &self.first_moment, &self.second_moment, &self.update, &self.decay]);
                let _ = first.lerp_(&gradients, 1.0 - BETA_1);
                let _ = second.lerp_(&gradients.square(), 1.0 - BETA_2);
                let below = second.sqrt().g_add_(&eps);
                let _ = (first * &factor).g_div_(&below).addcmul_out(&update, &weights, &decay);
            }
            let minus_rates = self.per_tensor.spread(&(self.trust_ratios(&params.flat, &self.update) * -lr));
            let _ = rows(&params.flat).addcmul_(&rows(&self.update), &minus_rates);
        });
    }

    fn state(&mut self) -> Vec<(&'static str, &mut Tensor)> {
        vec![("first_moment", &mut self.first_moment), ("second_moment", &mut self.second_moment), ("steps", &mut self.steps)]
    }

    fn name(&self) -> &'static str {
        "lamb"
    }
}
