//! nvcnn's update: L2 in the loss, layer-wise adaptive rates (LARC), and Nesterov's momentum.
//!
//! Never in the flag `--optimizer` of hvd-train: L2 counts biases and batch norm here, and LARC needs the rate of the schedule.

use tch::{Kind, Tensor};

use super::chunks::chunks;
use super::interface::{Optimizer, descend};
use super::per_tensor::{PerTensor, rows};
use crate::domain::nvcnn::{Larc, LarcMode};
use crate::trainer::params::FlatTensors;

/// Of a tensor whose weights or gradients are all 0, the rate that LARC finds: biases start at 0, and have to leave it.
const RATE_OF_NOTHING: f64 = 1.0;

/// g' = f (g + wd w);  buf = momentum * buf + g';  w -= lr * (g' + momentum * buf)
///
/// f is one number per tensor: 1 without LARC. With it, the local rate is eta |w| / |g + wd w|; f is that rate (`scale`), or
/// the smaller of 1 and that rate over lr (`clip`), so that f lr is the smaller of the two rates.
///
/// # TensorFlow
/// `tf.train.MomentumOptimizer(lr, 0.9, use_nesterov=True)` on gradients that nvcnn has multiplied.
pub struct Nesterov {
    momentum: f64,
    wd: f64,
    larc: Option<Larc>,
    per_tensor: PerTensor,
    buffer: Tensor,
    /// g + wd w, all of it: with LARC no weight may move before the norms are known.
    decayed: Tensor,
}

impl Nesterov {
    /// Fresh state for these parameters. `wd` holds for all of them, `momentum` is in 0 to 1.
    pub fn new(params: &FlatTensors, momentum: f64, wd: f64, larc: Option<Larc>) -> Nesterov {
        Nesterov {
            momentum,
            wd,
            larc,
            per_tensor: PerTensor::new(params),
            buffer: params.flat.zeros_like(),
            decayed: params.flat.zeros_like(),
        }
    }

    /// f of every block: [blocks, 1].
    fn factors(&self, larc: Larc, weights: &Tensor, lr: f64) -> Tensor {
        let [weights, gradients] = [weights, &self.decayed].map(|flat| self.per_tensor.squared_norms(flat).sqrt_());
        let known = weights.gt(0.0).logical_and_(&gradients.gt(0.0));
        let rates = (weights / gradients) * larc.eta;
        let rates = rates.where_self(&known, &rates.full_like(RATE_OF_NOTHING));
        let factors = match larc.mode {
            LarcMode::Scale => rates,
            // At the end of the schedule lr is 0: nothing moves, whatever the factor is.
            LarcMode::Clip if lr > 0.0 => (rates / lr).clamp_max(1.0),
            LarcMode::Clip => rates.ones_like(),
        };
        self.per_tensor.spread(&factors)
    }
}

impl Optimizer for Nesterov {
    fn apply(&mut self, params: &mut FlatTensors, gradients: &Tensor, lr: f64) {
        tch::no_grad(|| {
            let wd = Tensor::full([1], self.wd, (Kind::Float, params.flat.device()));
            for chunk in chunks(params) {
                let [gradients, weights, decayed] = chunk.views_of([gradients, &params.flat, &self.decayed]);
                let _ = gradients.addcmul_out(&decayed, &weights, &wd);
            }
            if let Some(larc) = self.larc {
                let _ = rows(&self.decayed).g_mul_(&self.factors(larc, &params.flat, lr));
            }
            for chunk in chunks(params) {
                let [mut buffer, decayed, mut weights] = chunk.views_of([&self.buffer, &self.decayed, &params.flat]);
                let _ = buffer.g_mul_scalar_(self.momentum);
                let _ = buffer.g_add_(&decayed);
                let direction = decayed + &buffer * self.momentum;
                descend(&mut weights, &direction, lr);
            }
        });
    }

    fn state(&mut self) -> Vec<(&'static str, &mut Tensor)> {
        vec![("momentum", &mut self.buffer)]
    }

    fn name(&self) -> &'static str {
        "nesterov"
    }
}
