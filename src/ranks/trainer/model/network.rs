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

/// What a step makes of its inputs; that of the images has them.
type Operation = Box<dyn Fn(&[&Tensor], &mut Mode<'_>) -> Tensor>;

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
            let mut inputs: Vec<&Tensor> = step.inputs.iter().filter_map(|&input| results[input].as_ref()).collect();
            if inputs.is_empty() {
                inputs.push(&images);
            }
            let result = (step.operation)(&inputs, &mut mode);
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
            } else if let Some(Layer::Conv { name, .. }) = biased_conv(network, before).map(|conv| &network.nodes[conv].layer) {
                let bias = state.params.get(&format!("{name}.bias"));
                step.operation = Box::new(move |x, _| bias_relu(x[0], &bias));
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

/// Whether a ReLU behind this convolution adds its bias.
fn leaves_its_bias(network: &Network, conv: usize) -> bool {
    let takes_it = |node: &Node| node.layer == Layer::Relu && biased_conv(network, node.inputs[0]) == Some(conv);
    network.nodes.iter().any(takes_it)
}

/// A batch norm, and the ReLU behind it if there is one. Of two inputs, the second is added to the norm's result before the ReLU.
fn norm(state: &ModelState, name: &str, relu: bool) -> Operation {
    let norm = BatchNorm::of(state, name);
    Box::new(move |x, mode| {
        let after = match x {
            [_, other] => After::AddRelu(other),
            _ if relu => After::Relu,
            _ => After::Nothing,
        };
        norm.forward(x[0], mode, 1.0, after)
    })
}

/// Height and width of a pooling's window, its strides, and the zeros around the image.
fn lengths(window: &Window) -> [[i64; 2]; 3] {
    [[window.height, window.width], [window.stride; 2], window.padding()].map(|pair| pair.map(|length| length as i64))
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
        Layer::Images => Box::new(|x, _| x[0].shallow_clone()),
        Layer::Conv { name, window, bias, .. } => {
            let conv = Conv::windowed(state, name, *window, *bias && !leaves_its_bias(network, index));
            Box::new(move |x, _| conv.forward(x[0]))
        }
        Layer::BatchNorm { name } => norm(state, name, false),
        Layer::Relu if in_place => Box::new(|x, _| x[0].shallow_clone().relu_()),
        Layer::Relu => Box::new(|x, _| x[0].relu()),
        Layer::MaxPool(Window { height: 2, width: 2, stride: 2, .. }) => Box::new(|x, _| max_pool(x[0])),
        Layer::MaxPool(window) => {
            let [sides, strides, zeros] = lengths(window);
            Box::new(move |x, _| x[0].max_pool2d(sides, strides, zeros, [1, 1], false))
        }
        Layer::AveragePool(window) => {
            let [sides, strides, zeros] = lengths(window);
            Box::new(move |x, _| x[0].avg_pool2d(sides, strides, zeros, false, true, None))
        }
        Layer::SpatialAverage => Box::new(|x, _| global_mean(x[0])),
        Layer::Flatten => Box::new(|x, _| x[0].flatten(1, -1)),
        Layer::FullyConnected { name, .. } => {
            let dense = Dense::of(state, name);
            // The scores are in float32 whatever the model computes in.
            if index + 1 == network.nodes.len() {
                return Box::new(move |x, _| dense.forward(&x[0].to_kind(Kind::Float)));
            }
            Box::new(move |x, _| dense.forward(x[0]))
        }
        Layer::Add if in_place => Box::new(|x, _| x[0].shallow_clone().g_add_(x[1])),
        Layer::Add => Box::new(|x, _| x[0] + x[1]),
        Layer::Concatenate => Box::new(|x, _| Tensor::cat(x, 1)),
        &Layer::Dropout { rate } => Box::new(move |x, mode| match mode {
            Mode::Training(dropout) => dropout.drop(x[0], rate),
            Mode::Evaluation => x[0].shallow_clone(),
        }),
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
