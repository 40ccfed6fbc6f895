//! Runs a network that `domain::model` has written down: its layers over the model's tensors, in the order of the forward pass.

use rand_chacha::ChaCha8Rng;
use tch::{Device, Kind, Tensor};

use super::batch_norm::{After, BatchNorm};
use super::bias_relu::bias_relu;
use super::convolution::Conv;
use super::interface::{Mode, Model, ModelState};
use super::layers::{Dense, global_mean};
use super::layout::Layout;
use super::max_pool::max_pool;
use crate::domain::model::network::{Layer, Network, Node, Window};
use crate::domain::model::{ModelSpec, NamedSpec};

/// A network with its tensors.
pub struct NetworkModel {
    state: ModelState,
    steps: Vec<Step>,
}

/// One layer of the forward pass, or a batch norm with the layers behind it.
struct Step {
    /// Place of its result: that of its last layer.
    result: usize,
    operation: Operation,
    /// Places of the steps whose results it takes.
    inputs: Vec<usize>,
    /// Results that no later step needs.
    done_with: Vec<usize>,
}

enum Operation {
    Images,
    Conv(Conv),
    /// The sum is with its second input.
    BatchNorm {
        norm: BatchNorm,
        relu: bool,
    },
    Relu {
        in_place: bool,
    },
    /// The bias that the convolution before it leaves to it, and the ReLU.
    BiasRelu(Tensor),
    MaxPool(Window),
    AveragePool(Window),
    SpatialAverage,
    Flatten,
    Dense(Dense),
    /// In float32 whatever the model computes in.
    Scores(Dense),
    Add {
        in_place: bool,
    },
    Concatenate,
    Dropout {
        rate: f64,
    },
}

impl NetworkModel {
    pub fn new(spec: NamedSpec, network: &Network, rng: &mut ChaCha8Rng, device: Device) -> NetworkModel {
        let state = ModelState::build(ModelSpec::Named(spec), Layout::of(network), rng, device);
        let steps = steps(&pooled_first(network.clone()), &state);
        NetworkModel { state, steps }
    }
}

impl Model for NetworkModel {
    fn forward(&self, images: &Tensor, mut mode: Mode<'_>) -> Tensor {
        let images = images.to_kind(self.state.kind);
        let places = self.steps.last().map_or(0, |last| last.result + 1);
        let mut results: Vec<Option<Tensor>> = (0..places).map(|_| None).collect();
        for step in &self.steps {
            let inputs: Vec<&Tensor> = step.inputs.iter().filter_map(|&input| results[input].as_ref()).collect();
            let result = match inputs[..] {
                [] => images.shallow_clone(),
                [x] => step.operation.of_one(x, &mut mode),
                _ => step.operation.of_many(&inputs, &mode),
            };
            for &index in &step.done_with {
                results[index] = None;
            }
            results[step.result] = Some(result);
        }
        results.pop().flatten().unwrap_or(images)
    }

    fn state(&self) -> &ModelState {
        &self.state
    }

    fn state_mut(&mut self) -> &mut ModelState {
        &mut self.state
    }
}

impl Operation {
    fn of_one(&self, x: &Tensor, mode: &mut Mode<'_>) -> Tensor {
        let (stride, sides) =
            (|window: &Window| [window.stride as i64; 2], |window: &Window| [window.height as i64, window.width as i64]);
        let padding = |window: &Window| window.padding().map(|zeros| zeros as i64);
        match self {
            Operation::Conv(conv) => conv.forward(x),
            Operation::BatchNorm { norm, relu } => norm.forward(x, mode, 1.0, if *relu { After::Relu } else { After::Nothing }),
            Operation::BiasRelu(bias) => bias_relu(x, bias),
            Operation::Relu { in_place: true } => x.shallow_clone().relu_(),
            Operation::Relu { in_place: false } => x.relu(),
            Operation::MaxPool(Window { height: 2, width: 2, stride: 2, .. }) => max_pool(x),
            Operation::MaxPool(window) => x.max_pool2d(sides(window), stride(window), padding(window), [1, 1], false),
            Operation::AveragePool(window) => x.avg_pool2d(sides(window), stride(window), padding(window), false, true, None),
            Operation::SpatialAverage => global_mean(x),
            Operation::Flatten => x.flatten(1, -1),
            Operation::Dense(dense) => dense.forward(x),
            Operation::Scores(dense) => dense.forward(&x.to_kind(Kind::Float)),
            Operation::Dropout { rate } => match mode {
                Mode::Training(dropout) => dropout.drop(x, *rate),
                Mode::Evaluation => x.shallow_clone(),
            },
            Operation::Images | Operation::Add { .. } | Operation::Concatenate => x.shallow_clone(),
        }
    }

    fn of_many(&self, inputs: &[&Tensor], mode: &Mode<'_>) -> Tensor {
        match self {
            Operation::BatchNorm { norm, .. } => norm.forward(inputs[0], mode, 1.0, After::AddRelu(inputs[1])),
            Operation::Add { in_place: true } => inputs[0].shallow_clone().g_add_(inputs[1]),
            Operation::Add { in_place: false } => inputs[0] + inputs[1],
            _ => Tensor::cat(inputs, 1),
        }
    }
}

/// A ReLU before a max-pooling comes after it: the largest number of a window stays the largest, so the scores are the same to the
/// last bit, and the ReLU has a quarter of the numbers to do.
fn pooled_first(mut network: Network) -> Network {
    for pool in 0..network.nodes.len() {
        let (Layer::MaxPool(_), [relu]) = (&network.nodes[pool].layer, &network.nodes[pool].inputs[..]) else { continue };
        let relu = *relu;
        if network.nodes[relu].layer == Layer::Relu && uses(&network, relu) == 1 {
            let layer = std::mem::replace(&mut network.nodes[pool].layer, Layer::Relu);
            network.nodes[relu].layer = layer;
            network.nodes[relu].shape = network.nodes[pool].shape;
        }
    }
    network
}

/// Layers that take the result of this one.
fn uses(network: &Network, result: usize) -> usize {
    network.nodes.iter().filter(|node| node.inputs.contains(&result)).count()
}

/// The forward pass. A batch norm is one step with the ReLU behind it, or with the sum and the ReLU behind it, if nobody else
/// reads what lies between. Likewise a convolution leaves its bias to the ReLU behind it.
fn steps(network: &Network, state: &ModelState) -> Vec<Step> {
    let norm_of = |index: usize| match &network.nodes[index].layer {
        Layer::BatchNorm { name } if uses(network, index) == 1 => Some((network.nodes[index].inputs[0], name.as_str())),
        _ => None,
    };
    let mut steps: Vec<Step> = Vec::with_capacity(network.nodes.len());
    for (index, node) in network.nodes.iter().enumerate() {
        let mut step = Step {
            result: index,
            operation: operation(network, index, state),
            inputs: node.inputs.clone(),
            done_with: Vec::new(),
        };
        let mut absorbed = Vec::new();
        if let (Layer::Relu, &[before]) = (&node.layer, &node.inputs[..]) {
            let sum = &network.nodes[before];
            if let Some((x, name)) = norm_of(before) {
                absorbed = vec![before];
                (step.operation, step.inputs) = (norm(state, name, true), vec![x]);
            } else if let (Layer::Add, &[one, other], 1) = (&sum.layer, &sum.inputs[..], uses(network, before)) {
                let pair =
                    norm_of(one).map(|found| (one, other, found)).or_else(|| norm_of(other).map(|found| (other, one, found)));
                if let Some((normed, other, (x, name))) = pair {
                    absorbed = vec![normed, before];
                    (step.operation, step.inputs) = (norm(state, name, true), vec![x, other]);
                }
            } else if let Some(bias) = biased_conv(network, before).and_then(|conv| take_bias(&mut steps, conv)) {
                step.operation = Operation::BiasRelu(bias);
            }
        }
        steps.retain(|step| !absorbed.contains(&step.result));
        steps.push(step);
    }
    for index in 0..steps.len() {
        let is_last_use = |result: &usize| !steps[index + 1..].iter().any(|step| step.inputs.contains(result));
        let done_with = steps[index].inputs.iter().copied().filter(is_last_use).collect();
        steps[index].done_with = done_with;
    }
    steps
}

/// The convolution whose result nobody else reads, or only the max-pooling behind it, whose result nobody else reads: the bias may be
/// added behind the pooling as well, for it is the same for all numbers of a window.
fn biased_conv(network: &Network, index: usize) -> Option<usize> {
    match &network.nodes[index] {
        _ if uses(network, index) != 1 => None,
        Node { layer: Layer::Conv { bias: true, .. }, .. } => Some(index),
        Node { layer: Layer::MaxPool(_), inputs, .. } => biased_conv(network, *inputs.first()?),
        _ => None,
    }
}

fn take_bias(steps: &mut [Step], conv: usize) -> Option<Tensor> {
    let step = steps.iter_mut().find(|step| step.result == conv)?;
    if let Operation::Conv(conv) = &mut step.operation { conv.take_bias() } else { None }
}

fn norm(state: &ModelState, name: &str, relu: bool) -> Operation {
    Operation::BatchNorm { norm: BatchNorm::of(state, name), relu }
}

fn operation(network: &Network, index: usize, state: &ModelState) -> Operation {
    let node = &network.nodes[index];
    // What nobody else reads may be overwritten, if the layer that made it does not need its result in the backward pass.
    let in_place = node.inputs.first().is_some_and(|&first| {
        let made_by = &network.nodes[first].layer;
        let is_free = matches!(
            made_by,
            Layer::Conv { .. } | Layer::BatchNorm { .. } | Layer::FullyConnected { .. } | Layer::MaxPool(_) | Layer::Add
        );
        is_free && uses(network, first) == 1
    });
    match &node.layer {
        Layer::Images => Operation::Images,
        Layer::Conv { name, window, bias, .. } => Operation::Conv(Conv::windowed(state, name, *window, *bias)),
        Layer::BatchNorm { name } => norm(state, name, false),
        Layer::Relu => Operation::Relu { in_place },
        Layer::MaxPool(window) => Operation::MaxPool(*window),
        Layer::AveragePool(window) => Operation::AveragePool(*window),
        Layer::SpatialAverage => Operation::SpatialAverage,
        Layer::Flatten => Operation::Flatten,
        Layer::FullyConnected { name, .. } if index + 1 == network.nodes.len() => Operation::Scores(Dense::of(state, name)),
        Layer::FullyConnected { name, .. } => Operation::Dense(Dense::of(state, name)),
        Layer::Add => Operation::Add { in_place },
        Layer::Concatenate => Operation::Concatenate,
        Layer::Dropout { rate } => Operation::Dropout { rate: *rate },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trainer::batches::Images;
    use crate::trainer::model::Dropout;
    use crate::trainer::params::to_vec;
    use crate::trainer::random::{Purpose, stream};

    #[test]
    fn a_relu_behind_the_pooling_changes_nothing() {
        let spec: ModelSpec = "mnist-cnn".parse().unwrap();
        let ModelSpec::Named(named) = spec else { panic!("{spec}") };
        let network = named.network(spec.input()).unwrap();
        assert_ne!(pooled_first(network.clone()), network);
        let images = Images::synthetic(spec, 8, 8, &mut stream(1, 0, 0, Purpose::Synthetic), Device::Cpu).batch(&[0; 8]);
        let results = |as_written: bool| {
            let mut model = NetworkModel::new(named, &network, &mut stream(1, 0, 0, Purpose::Weights), Device::Cpu);
            if as_written {
                model.steps = steps(&network, &model.state);
            }
            let mut dropout = Dropout::new(0.0, stream(1, 0, 0, Purpose::Dropout));
            let scores = model.forward(&images.images, Mode::Training(&mut dropout));
            scores.cross_entropy_for_logits(&images.labels).backward();
            (to_vec(&scores.contiguous()), to_vec(&model.params().gradients))
        };
        let ((scores, gradients), (expected, expected_gradients)) = (results(false), results(true));
        assert!(scores == expected, "to the last bit");
        // The sums that are a bias's gradient are over fewer numbers, in another order.
        for (gradient, expected) in gradients.iter().zip(&expected_gradients) {
            assert!((gradient - expected).abs() <= 1e-6 + 1e-5 * expected.abs(), "{gradient}, not {expected}");
        }
    }
}
