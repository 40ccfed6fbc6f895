//! The lab's Wide ResNet (after Zagoruyko and Komodakis 2016): three groups of residual blocks, max-pooling between.
//!
//! WRN-16-10 has 17,121,962 parameters in 60 tensors.
//!
//! ```text
//! conv3x3(16) BN ReLU | n blocks of 16k | pool | n blocks of 32k | pool | n blocks of 64k | mean | dense(classes)
//! block: conv3x3 BN ReLU dropout conv3x3 BN ReLU, plus its input (through conv1x1 where the channels change)
//! ```

use rand_chacha::ChaCha8Rng;
use tch::{Device, Tensor};

use super::batch_norm::After;
use super::interface::{Mode, Model, ModelState};
use super::layers::{ConvNorm, Dense, Residual, global_mean};
use super::layout::Layout;
use crate::domain::model::{ModelSpec, WideResNetSpec};

/// Fraction of activations dropped inside a block.
const DROPOUT_RATE: f64 = 0.01;
const STEM_CHANNELS: i64 = 16;
const GROUPS: usize = 3;

pub struct WideResNet {
    state: ModelState,
    stem: ConvNorm,
    groups: Vec<Vec<Residual>>,
    dense: Dense,
}

/// Where a block stands, and its channels.
struct Block {
    group: usize,
    name: String,
    from: i64,
    to: i64,
}

impl WideResNet {
    pub fn new(spec: WideResNetSpec, rng: &mut ChaCha8Rng, device: Device) -> WideResNet {
        let state = ModelState::build(ModelSpec::WideResNet(spec), layout(spec), rng, device);
        let residual = |block: &Block| Residual::of(&state, &block.name, block.from != block.to);
        let blocks = blocks(spec);
        let of_group = |group| blocks.iter().filter(|block| block.group == group).map(residual).collect();
        let groups = (0..GROUPS).map(of_group).collect();
        WideResNet { stem: ConvNorm::of(&state, "stem"), groups, dense: Dense::of(&state, "dense"), state }
    }
}

impl Model for WideResNet {
    fn forward(&self, images: &Tensor, mut mode: Mode<'_>) -> Tensor {
        let mut x = self.stem.forward(&images.to_kind(self.state.kind), &mode, After::Relu);
        for (index, group) in self.groups.iter().enumerate() {
            for (number, block) in group.iter().enumerate() {
                let is_pooled = number + 1 == group.len() && index + 1 < GROUPS;
                x = block.forward(&x, &mut mode, is_pooled);
            }
        }
        self.dense.forward(&global_mean(&x))
    }

    fn state(&self) -> &ModelState {
        &self.state
    }

    fn state_mut(&mut self) -> &mut ModelState {
        &mut self.state
    }

    fn dropout_rate(&self) -> f64 {
        DROPOUT_RATE
    }
}

fn channels(spec: WideResNetSpec, group: usize) -> i64 {
    (STEM_CHANNELS << group) * spec.width as i64
}

/// All blocks in the order of the forward pass.
fn blocks(spec: WideResNetSpec) -> Vec<Block> {
    let per_group = (spec.depth - 4) / 6;
    let block = |(group, index): (usize, usize)| Block {
        group,
        name: format!("group{}.block{:02}", group + 1, index + 1),
        from: match (group, index) {
            (0, 0) => STEM_CHANNELS,
            (_, 0) => channels(spec, group - 1),
            _ => channels(spec, group),
        },
        to: channels(spec, group),
    };
    (0..GROUPS).flat_map(|group| (0..per_group).map(move |index| (group, index))).map(block).collect()
}

/// All trained tensors, and all buffers.
fn layout(spec: WideResNetSpec) -> Layout {
    let mut layout = Layout::default();
    layout.conv_norm("stem", spec.input().channels as i64, STEM_CHANNELS);
    for Block { name, from, to, .. } in blocks(spec) {
        layout.residual(&name, from, to);
    }
    layout.dense("dense", channels(spec, GROUPS - 1), spec.classes() as i64);
    layout
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trainer::random::testing::normal_numbers;
    use crate::trainer::random::{Purpose, stream};

    #[test]
    fn the_labs_network_has_its_published_size() {
        let Layout { trained, .. } = layout(WideResNetSpec { depth: 16, width: 10 });
        let numbers: i64 = trained.iter().map(|tensor| tensor.shape.iter().product::<i64>()).sum();
        assert_eq!((numbers, trained.len()), (17_121_962, 60));
        for (depth, width) in [(10, 1), (16, 10), (28, 4), (40, 2)] {
            let spec = WideResNetSpec { depth, width };
            let numbers: i64 = layout(spec).trained.iter().map(|tensor| tensor.shape.iter().product::<i64>()).sum();
            assert_eq!(ModelSpec::WideResNet(spec).parameters(), numbers as u64, "{spec:?}");
        }
    }

    #[test]
    fn scores_have_one_row_per_image() {
        for name in ["wrn-10-1", "wrn-16-2"] {
            let Ok(ModelSpec::WideResNet(spec)) = name.parse() else { panic!("{name}") };
            let model = WideResNet::new(spec, &mut stream(1, 0, 0, Purpose::Weights), Device::Cpu);
            let images = normal_numbers(&[3, 1, 28, 28]);
            assert_eq!(model.forward(&images, Mode::Evaluation).size(), [3, 10]);
        }
    }
}
