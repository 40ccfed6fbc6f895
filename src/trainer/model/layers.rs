//! Layers that models share: views of the model's tensors, found by the names under which a `Layout` declared them.
//!
//! Never owns a number: parameters and buffers stay in the flat tensors of the model.

use tch::{Kind, Tensor};

use super::batch_norm::{After, BatchNorm};
use super::fused::is_fusible;
use super::interface::{Mode, ModelState};
use crate::domain::model::network::Window;

/// Where a 1x1 convolution is a product of matrices: at most this many pixels in a batch, and at least this many numbers in its
/// kernel. Measured with libtorch 2.11 on an AVX-512 core; twice as many pixels were slower in float32.
const FEW_PIXELS: i64 = 1024;
const LARGE_KERNEL: usize = 1 << 17;

/// A convolution.
pub struct Conv {
    kernel: Tensor,
    bias: Option<Tensor>,
    stride: i64,
    padding: [i64; 2],
}

/// A convolution with stride 1 that keeps height and width, and the batch norm behind it.
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

impl Conv {
    /// The layer that [`Layout::conv`](super::layout::Layout::conv) declared under this name.
    pub fn of(state: &ModelState, name: &str) -> Conv {
        let kernel = state.params.get(&format!("{name}.kernel"));
        let padding = (kernel.size()[2] - 1) / 2;
        Conv { kernel, bias: Some(state.params.get(&format!("{name}.bias"))), stride: 1, padding: [padding, padding] }
    }

    /// The convolution of a network under this name.
    pub fn windowed(state: &ModelState, name: &str, window: Window, bias: bool) -> Conv {
        Conv {
            kernel: state.params.get(&format!("{name}.kernel")),
            bias: bias.then(|| state.params.get(&format!("{name}.bias"))),
            stride: window.stride as i64,
            padding: window.padding().map(|zeros| zeros as i64),
        }
    }

    /// Its bias, which from now on is left to whoever comes behind it.
    pub fn take_bias(&mut self) -> Option<Tensor> {
        self.bias.take()
    }

    /// # Shapes
    /// `x`: [n, from, height, width]. Returns [n, to, height, width] of the windows, of the same kind.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        self.with_bias(x, self.bias.as_ref())
    }

    fn with_bias(&self, x: &Tensor, bias: Option<&Tensor>) -> Tensor {
        let (kernel, bias) = (self.kernel.to_kind(x.kind()), bias.map(|bias| bias.to_kind(x.kind())));
        if self.is_product(x) {
            return self.product(x, &kernel, bias.as_ref());
        }
        x.conv2d(&kernel, bias.as_ref(), [self.stride, self.stride], self.padding, [1, 1], 1)
    }

    /// Whether [`product`](Self::product) is faster: on a CPU, for a 1x1 convolution of few pixels through a large kernel.
    fn is_product(&self, x: &Tensor) -> bool {
        let (kernel, sides) = (self.kernel.size(), x.size());
        let pixels = sides[0] * sides[2] * sides[3] / (self.stride * self.stride);
        let is_point = kernel[2..] == [1, 1] && self.padding == [0, 0];
        is_point && self.kernel.numel() >= LARGE_KERNEL && pixels <= FEW_PIXELS && is_fusible(x)
    }

    /// A 1x1 convolution as one product of matrices, pixels times kernel. The library's convolutions put a kernel into another order
    /// before they use it, three times a step, and with few pixels to compute that takes longer than it saves.
    fn product(&self, x: &Tensor, kernel: &Tensor, bias: Option<&Tensor>) -> Tensor {
        let every = |x: Tensor, dim: i64| if self.stride == 1 { x } else { x.slice(dim, None, None, self.stride) };
        let x = every(every(x.shallow_clone(), 2), 3);
        let (sides, to) = (x.size(), kernel.size()[0]);
        let pixels = x.permute([0, 2, 3, 1]).reshape([-1, sides[1]]);
        pixels.linear(&kernel.view([to, sides[1]]), bias).view([sides[0], sides[2], sides[3], to]).permute([0, 3, 1, 2])
    }
}

impl ConvNorm {
    /// The layer that [`Layout::conv_norm`](super::layout::Layout::conv_norm) declared under this name.
    pub fn of(state: &ModelState, name: &str) -> ConvNorm {
        ConvNorm { conv: Conv::of(state, &format!("{name}.conv")), norm: BatchNorm::of(state, &format!("{name}.norm")) }
    }

    /// `gain` multiplies the result: dropout's factor, folded in here because ReLU(gain * x) = gain * ReLU(x).
    ///
    /// Batch norm subtracts the bias of the convolution again, so its gradient is zero. Computed, it would be a rounding
    /// error of 1e-7. NovoGrad divides every tensor's gradient by its norm, and would take that error for a direction: the
    /// bias would drift, and the running mean, which lags behind, would spoil validation. So no gradient is computed.
    ///
    /// # Shapes
    /// As [`Conv::forward`].
    pub fn forward(&self, x: &Tensor, mode: &Mode<'_>, gain: f64, after: After<'_>) -> Tensor {
        self.norm.forward(&self.convolved(x), mode, gain, after)
    }

    fn convolved(&self, x: &Tensor) -> Tensor {
        let bias = self.conv.bias.as_ref().map(Tensor::detach);
        self.conv.with_bias(x, bias.as_ref())
    }
}

impl Residual {
    /// The block that [`Layout::residual`](super::layout::Layout::residual) declared under this name. `changes_channels` says
    /// whether it has a shortcut.
    pub fn of(state: &ModelState, name: &str, changes_channels: bool) -> Residual {
        Residual {
            first: ConvNorm::of(state, &format!("{name}.first")),
            second: ConvNorm::of(state, &format!("{name}.second")),
            shortcut: changes_channels.then(|| Conv::of(state, &format!("{name}.shortcut"))),
        }
    }

    /// `pooled`: of what comes out, the greatest number of each window of 2 x 2.
    ///
    /// # Shapes
    /// As [`Conv::forward`], or half the height and width.
    pub fn forward(&self, x: Tensor, mode: &mut Mode<'_>, pooled: bool) -> Tensor {
        let gain = if let Mode::Training(dropout) = mode { dropout.scale() } else { 1.0 };
        let y = self.first.forward(&x, mode, gain, After::DroppedRelu);
        if let Mode::Training(dropout) = mode {
            dropout.drop_in_place(&y);
        }
        let y = self.second.convolved(&y);
        // Declared last, so computed last: backward completes gradients from the end of the parameters on.
        let x = match &self.shortcut {
            Some(shortcut) => shortcut.forward(&x),
            None => x,
        };
        self.second.norm.forward(&y, mode, 1.0, if pooled { After::ReluAddPool(&x) } else { After::ReluAdd(&x) })
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
    x.mean_dim([2i64, 3].as_slice(), false, Kind::Float)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Device;

    #[test]
    fn a_product_gives_what_the_convolution_gives() {
        // Odd sides, where a stride of 2 takes the last pixel as well.
        for (side, stride, biased) in [(5, 1, true), (5, 2, false), (4, 2, true), (1, 1, false)] {
            let random = |sides: &[i64]| Tensor::randn(sides, (Kind::Float, Device::Cpu));
            let leaf = |numbers: &Tensor| numbers.detach().set_requires_grad(true);
            let numbers = random(&[3, side, side, 256]).permute([0, 3, 1, 2]);
            let (kernel, bias) = (random(&[512, 256, 1, 1]), random(&[512]));
            let results = |as_product: bool| {
                let (x, kernel, bias) = (leaf(&numbers), leaf(&kernel), biased.then(|| leaf(&bias)));
                let conv = Conv { kernel, bias, stride, padding: [0, 0] };
                assert!(conv.is_product(&x));
                let y = match as_product {
                    true => conv.forward(&x),
                    false => x.conv2d(&conv.kernel, conv.bias.as_ref(), [stride; 2], [0, 0], [1, 1], 1),
                };
                (&y * &y).sum(Kind::Float).backward();
                let bias = conv.bias.map_or_else(|| Tensor::zeros([1], (Kind::Float, Device::Cpu)), |bias| bias.grad());
                [y.detach(), x.grad(), conv.kernel.grad(), bias]
            };
            for (product, expected) in results(true).iter().zip(results(false)) {
                let scale = f64::try_from(expected.abs().max()).unwrap();
                assert_eq!(product.size(), expected.size());
                assert!(product.allclose(&expected, 1e-4, 1e-5 * scale, false), "{side} {stride} {biased}");
            }
        }
    }

    #[test]
    fn many_pixels_or_a_small_kernel_are_the_librarys() {
        let conv = |to: i64| Conv {
            kernel: Tensor::zeros([to, 256, 1, 1], (Kind::Float, Device::Cpu)),
            bias: None,
            stride: 1,
            padding: [0, 0],
        };
        let images = |batch: i64| Tensor::zeros([batch, 8, 8, 256], (Kind::Float, Device::Cpu)).permute([0, 3, 1, 2]);
        assert!(conv(512).is_product(&images(16)) && !conv(512).is_product(&images(17)) && !conv(511).is_product(&images(16)));
    }
}
