//! The lab's Wide ResNet (after Zagoruyko and Komodakis 2016): three groups of residual blocks, max-pooling between.
//!
//! Never trains. WRN-16-10 has 17,121,962 parameters in 60 tensors.
//!
//! ```text
//! conv3x3(16) BN ReLU | n blocks of 16k | pool | n blocks of 32k | pool | n blocks of 64k | mean | dense(10)
//! block: conv3x3 BN ReLU dropout conv3x3 BN ReLU, plus its input (through conv1x1 where the channels change)
//! ```

use rand_chacha::ChaCha8Rng;
use tch::{Device, Kind, Tensor};

use super::{CLASSES, Mode, Model};
use crate::domain::run::ModelSpec;
use crate::trainer::params::{FlatTensors, Init, TensorSpec};

/// Fraction of activations dropped inside a block.
pub const DROPOUT_RATE: f64 = 0.01;
/// Weight of the newest batch in the running statistics: Keras writes it as momentum 0.9.
const BATCH_NORM_MOMENTUM: f64 = 0.1;
const BATCH_NORM_EPS: f64 = 1e-5;
const STEM_CHANNELS: i64 = 16;

pub struct WideResNet {
    spec: ModelSpec,
    /// What convolutions compute in.
    kind: Kind,
    params: FlatTensors,
    buffers: FlatTensors,
    stem: ConvNorm,
    groups: [Vec<Block>; 3],
    dense: (Tensor, Tensor),
}

/// A convolution and the batch norm behind it.
struct ConvNorm {
    kernel: Tensor,
    bias: Tensor,
    scale: Tensor,
    shift: Tensor,
    mean: Tensor,
    var: Tensor,
}

struct Block {
    first: ConvNorm,
    second: ConvNorm,
    shortcut: Option<(Tensor, Tensor)>,
}

impl WideResNet {
    pub fn new(spec: ModelSpec, rng: &mut ChaCha8Rng, device: Device) -> WideResNet {
        let (trained, kept) = layout(spec);
        let params = FlatTensors::build(trained, rng, true, device);
        let buffers = FlatTensors::build(kept, rng, false, device);
        let conv_norm = |name: &str| ConvNorm {
            kernel: params.get(&format!("{name}.conv.kernel")),
            bias: params.get(&format!("{name}.conv.bias")),
            scale: params.get(&format!("{name}.norm.scale")),
            shift: params.get(&format!("{name}.norm.shift")),
            mean: buffers.get(&format!("{name}.norm.mean")),
            var: buffers.get(&format!("{name}.norm.var")),
        };
        let groups = [0, 1, 2].map(|group| {
            (0..blocks_per_group(spec))
                .map(|block| {
                    let name = block_name(group, block);
                    Block {
                        first: conv_norm(&format!("{name}.first")),
                        second: conv_norm(&format!("{name}.second")),
                        shortcut: (input_channels(spec, group, block) != channels(spec, group)).then(|| {
                            (params.get(&format!("{name}.shortcut.kernel")), params.get(&format!("{name}.shortcut.bias")))
                        }),
                    }
                })
                .collect()
        });
        let stem = conv_norm("stem");
        let dense = (params.get("dense.kernel"), params.get("dense.bias"));
        WideResNet { spec, kind: Kind::Float, params, buffers, stem, groups, dense }
    }
}

impl Model for WideResNet {
    fn forward(&self, images: &Tensor, mut mode: Mode<'_>) -> Tensor {
        let mut x = self.stem.forward(&images.to_kind(self.kind), &mode, 1.0).relu_();
        for (index, group) in self.groups.iter().enumerate() {
            if index > 0 {
                x = x.max_pool2d([2, 2], [2, 2], [0, 0], [1, 1], false);
            }
            for block in group {
                x = block.forward(x, &mut mode);
            }
        }
        x.mean_dim([2i64, 3].as_slice(), false, Kind::Float).linear(&self.dense.0, Some(&self.dense.1))
    }

    fn compute_in(&mut self, kind: Kind) {
        self.kind = kind;
    }

    fn params(&self) -> &FlatTensors {
        &self.params
    }

    fn params_mut(&mut self) -> &mut FlatTensors {
        &mut self.params
    }

    fn buffers(&self) -> &FlatTensors {
        &self.buffers
    }

    fn buffers_mut(&mut self) -> &mut FlatTensors {
        &mut self.buffers
    }

    fn name(&self) -> String {
        self.spec.to_string()
    }
}

impl ConvNorm {
    /// `gain` multiplies the result: dropout's factor, folded in here because ReLU(gain * x) = gain * ReLU(x).
    ///
    /// Batch norm takes the bias of the convolution away again, so its gradient is zero. Computed, it would be a rounding
    /// error of 1e-7, which NovoGrad, dividing every tensor's gradient by its norm, would take for a direction: the bias
    /// would wander, and the running mean, which lags behind, would spoil validation. So no gradient is asked for.
    fn forward(&self, x: &Tensor, mode: &Mode<'_>, gain: f64) -> Tensor {
        let padding = (self.kernel.size()[2] - 1) / 2;
        let (kernel, bias) = (self.kernel.to_kind(x.kind()), self.bias.detach().to_kind(x.kind()));
        let y = x.conv2d(&kernel, Some(&bias), [1, 1], [padding, padding], [1, 1], 1);
        let training = matches!(mode, Mode::Training(_));
        let norm = |scale: &Tensor, shift: &Tensor| {
            let (mean, var) = (Some(&self.mean), Some(&self.var));
            y.batch_norm(Some(scale), Some(shift), mean, var, training, BATCH_NORM_MOMENTUM, BATCH_NORM_EPS, true)
        };
        if gain == 1.0 { norm(&self.scale, &self.shift) } else { norm(&(&self.scale * gain), &(&self.shift * gain)) }
    }
}

impl Block {
    fn forward(&self, x: Tensor, mode: &mut Mode<'_>) -> Tensor {
        let gain = if let Mode::Training(dropout) = mode { dropout.scale() } else { 1.0 };
        let y = self.first.forward(&x, mode, gain).relu_();
        if let Mode::Training(dropout) = mode {
            dropout.drop_in_place(&y);
        }
        let y = self.second.forward(&y, mode, 1.0).relu_();
        match &self.shortcut {
            Some((kernel, bias)) => {
                let (kernel, bias) = (kernel.to_kind(x.kind()), bias.to_kind(x.kind()));
                x.conv2d(&kernel, Some(&bias), [1, 1], [0, 0], [1, 1], 1).g_add_(&y)
            }
            None => y + x,
        }
    }
}

fn blocks_per_group(spec: ModelSpec) -> usize {
    (spec.depth - 4) / 6
}

fn channels(spec: ModelSpec, group: usize) -> i64 {
    (STEM_CHANNELS << group) * spec.width as i64
}

fn input_channels(spec: ModelSpec, group: usize, block: usize) -> i64 {
    match (group, block) {
        (0, 0) => STEM_CHANNELS,
        (_, 0) => channels(spec, group - 1),
        _ => channels(spec, group),
    }
}

fn block_name(group: usize, block: usize) -> String {
    format!("group{}.block{:02}", group + 1, block + 1)
}

/// All trained tensors, and all buffers.
fn layout(spec: ModelSpec) -> (Vec<TensorSpec>, Vec<TensorSpec>) {
    let (mut trained, mut kept) = (Vec::new(), Vec::new());
    let tensor = |name: String, shape: &[i64], init, is_kernel| TensorSpec { name, shape: shape.to_vec(), init, is_kernel };
    let conv = |trained: &mut Vec<TensorSpec>, name: &str, side: i64, from: i64, to: i64| {
        let init = Init::HeNormal { fan_in: (from * side * side) as usize };
        trained.push(tensor(format!("{name}.kernel"), &[to, from, side, side], init, true));
        trained.push(tensor(format!("{name}.bias"), &[to], Init::Zeros, false));
    };
    let mut conv_norm = |trained: &mut Vec<TensorSpec>, name: &str, from: i64, to: i64| {
        conv(trained, &format!("{name}.conv"), 3, from, to);
        trained.push(tensor(format!("{name}.norm.scale"), &[to], Init::Ones, false));
        trained.push(tensor(format!("{name}.norm.shift"), &[to], Init::Zeros, false));
        kept.push(tensor(format!("{name}.norm.mean"), &[to], Init::Zeros, false));
        kept.push(tensor(format!("{name}.norm.var"), &[to], Init::Ones, false));
    };
    conv_norm(&mut trained, "stem", 1, STEM_CHANNELS);
    for group in 0..3 {
        for block in 0..blocks_per_group(spec) {
            let (name, from, to) = (block_name(group, block), input_channels(spec, group, block), channels(spec, group));
            conv_norm(&mut trained, &format!("{name}.first"), from, to);
            conv_norm(&mut trained, &format!("{name}.second"), to, to);
            if from != to {
                conv(&mut trained, &format!("{name}.shortcut"), 1, from, to);
            }
        }
    }
    let features = channels(spec, 2);
    let glorot = Init::GlorotUniform { fan_in: features as usize, fan_out: CLASSES as usize };
    trained.push(tensor("dense.kernel".into(), &[CLASSES, features], glorot, true));
    trained.push(tensor("dense.bias".into(), &[CLASSES], Init::Zeros, false));
    (trained, kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trainer::random::{Purpose, stream};

    #[test]
    fn the_labs_network_has_its_published_size() {
        let (trained, _) = layout(ModelSpec { depth: 16, width: 10 });
        let numbers: i64 = trained.iter().map(|tensor| tensor.shape.iter().product::<i64>()).sum();
        assert_eq!((numbers, trained.len()), (17_121_962, 60));
    }

    #[test]
    fn scores_have_one_row_per_image() {
        for name in ["wrn-10-1", "wrn-16-2"] {
            let Ok(spec) = name.parse() else { panic!("{name}") };
            let model = WideResNet::new(spec, &mut stream(1, 0, 0, Purpose::Weights), Device::Cpu);
            let images = Tensor::rand([3, 1, 28, 28], (tch::Kind::Float, Device::Cpu));
            assert_eq!(model.forward(&images, Mode::Evaluation).size(), [3, CLASSES]);
        }
    }
}
