//! Layers that models share: views of the model's tensors, found by the names under which a `Layout` declared them.
//!
//! Never owns a number: parameters and buffers stay in the flat tensors of the model.

use tch::{Kind, Tensor};

use super::batch_norm::{After, BatchNorm};
use super::convolution::{Conv, Convolved};
use super::interface::{Mode, ModelState};
use crate::domain::model::network::side;

/// A 3x3 convolution with stride 1 that keeps height and width, and the batch norm behind it.
pub struct ConvNorm {
    conv: Conv,
    norm: BatchNorm,
}

/// conv BN ReLU dropout conv BN ReLU, plus its input (through a 1x1 convolution where the channels change).
pub struct Residual {
    first: ConvNorm,
    second: ConvNorm,
    shortcut: Option<Conv>,
}

/// Scores from features.
pub struct Dense {
    kernel: Tensor,
    bias: Tensor,
}

impl ConvNorm {
    /// The layer that [`Layout::conv_norm`](super::layout::Layout::conv_norm) declared under this name.
    ///
    /// Batch norm subtracts the bias of the convolution again, so its gradient is zero. Computed, it would be a rounding
    /// error of 1e-7. NovoGrad divides every tensor's gradient by its norm, and would take that error for a direction: the
    /// bias would drift, and the running mean, which lags behind, would spoil validation. So no gradient is computed.
    pub fn of(state: &ModelState, name: &str) -> ConvNorm {
        let conv = Conv::windowed(state, &format!("{name}.conv"), side(3), true).with_untrained_bias();
        ConvNorm { conv, norm: BatchNorm::of(state, &format!("{name}.norm")) }
    }

    /// # Shapes
    /// As [`Conv::forward`].
    pub fn forward(&self, x: &Tensor, mode: &Mode<'_>, after: After<'_>) -> Tensor {
        self.norm.forward_convolved(&self.convolved(x, mode), mode, 1.0, after)
    }

    fn convolved(&self, x: &Tensor, mode: &Mode<'_>) -> Convolved {
        self.conv.convolved(x, matches!(mode, Mode::Training(_)))
    }
}

impl Residual {
    /// The block that [`Layout::residual`](super::layout::Layout::residual) declared under this name. `changes_channels` says
    /// whether it has a shortcut.
    pub fn of(state: &ModelState, name: &str, changes_channels: bool) -> Residual {
        Residual {
            first: ConvNorm::of(state, &format!("{name}.first")),
            second: ConvNorm::of(state, &format!("{name}.second")),
            shortcut: changes_channels.then(|| Conv::windowed(state, &format!("{name}.shortcut"), side(1), true)),
        }
    }

    /// `pooled`: of what comes out, the greatest number of each window of 2 x 2.
    ///
    /// # Shapes
    /// As [`Conv::forward`], or half the height and width.
    pub fn forward(&self, x: &Tensor, mode: &mut Mode<'_>, pooled: bool) -> Tensor {
        // Dropout's factor is folded into the norm, because ReLU(gain * y) = gain * ReLU(y).
        let gain = if let Mode::Training(dropout) = mode { dropout.scale() } else { 1.0 };
        let convolved = self.first.convolved(x, mode);
        let y = self.first.norm.forward_convolved(&convolved, mode, gain, After::DroppedRelu);
        if let Mode::Training(dropout) = mode {
            dropout.drop_in_place(&y);
        }
        let y = self.second.convolved(&y, mode);
        // Declared last, so computed last: backward completes gradients from the end of the parameters on.
        let x = match &self.shortcut {
            Some(shortcut) => shortcut.forward(&convolved.x),
            None => convolved.x,
        };
        self.second.norm.forward_convolved(&y, mode, 1.0, if pooled { After::ReluAddPool(&x) } else { After::ReluAdd(&x) })
    }
}

impl Dense {
    /// The layer that [`Layout::dense`](super::layout::Layout::dense) declared under this name.
    pub fn of(state: &ModelState, name: &str) -> Dense {
        let tensor = |part: &str| state.params.get(&format!("{name}.{part}"));
        Dense { kernel: tensor("kernel"), bias: tensor("bias") }
    }

    /// # Shapes
    /// `x`: [n, from]. Returns [n, to], of the same kind.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        x.linear(&self.kernel.to_kind(x.kind()), Some(&self.bias.to_kind(x.kind())))
    }
}

/// The mean of each channel over height and width.
///
/// # Shapes
/// `x`: [n, channels, height, width]. Returns [n, channels], float32.
pub fn global_mean(x: &Tensor) -> Tensor {
    // A sum hands its gradient on as it is, where a mean would divide that of each pixel.
    let pixels = x.size()[2..].iter().product::<i64>();
    x.sum_dim_intlist([2i64, 3].as_slice(), false, Kind::Float) / pixels as f64
}
