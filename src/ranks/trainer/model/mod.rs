//! Models by name. Most are networks written down in `domain::model`, which `network` runs; a model that is more than its
//! layers is a file here, and a line in `build_at`.

mod batch_norm;
mod bias_relu;
mod convolution;
mod dropout;
mod fused;
mod interface;
mod layers;
mod layout;
mod max_pool;
mod network;
mod wide_resnet;

use rand_chacha::ChaCha8Rng;
use tch::Device;

pub use self::convolution::Conv;
pub use self::dropout::Dropout;
pub use self::interface::{Mode, Model, ModelState};
use self::network::NetworkModel;
use self::wide_resnet::WideResNet;
use crate::domain::images::InputShape;
use crate::domain::model::network::Network;
use crate::domain::model::{ModelSpec, NamedSpec};

/// The model of that name with fresh weights; the same stream gives the same weights.
pub fn build(spec: ModelSpec, rng: &mut ChaCha8Rng, device: Device) -> Box<dyn Model> {
    build_at(spec, spec.input(), rng, device)
}

/// The same for images of another size.
///
/// # Panics
/// If they are too small for the model: [`ModelSpec::input_at`] refuses such a size.
pub fn build_at(spec: ModelSpec, input: InputShape, rng: &mut ChaCha8Rng, device: Device) -> Box<dyn Model> {
    match spec {
        ModelSpec::WideResNet(spec) => Box::new(WideResNet::new(spec, rng, device)),
        ModelSpec::Named(spec) => match spec.network(input) {
            Some(network) => build_network(spec, &network, rng, device),
            None => panic!("{spec} does not take images of {input}"),
        },
    }
}

/// A network that a program has written down itself. `spec` is what it is called.
pub fn build_network(spec: NamedSpec, network: &Network, rng: &mut ChaCha8Rng, device: Device) -> Box<dyn Model> {
    Box::new(NetworkModel::new(spec, network, rng, device))
}

#[cfg(test)]
mod tests {
    use tch::{Kind, Tensor};

    use super::layout::Layout;
    use super::*;
    use crate::trainer::batches::Images;
    use crate::trainer::params::to_vec;
    use crate::trainer::random::{Purpose, stream};

    fn fresh(spec: ModelSpec, seed: u64) -> Box<dyn Model> {
        build(spec, &mut stream(seed, 0, 0, Purpose::Weights), Device::Cpu)
    }

    fn images(spec: ModelSpec, count: usize) -> Tensor {
        let noise = Images::synthetic(spec, count, count, &mut stream(1, 0, 0, Purpose::Synthetic), Device::Cpu);
        noise.batch(&vec![0; count]).images
    }

    /// The smallest of each family, and all named ones that need no second of a test's time.
    fn small() -> impl Iterator<Item = ModelSpec> {
        let named = ModelSpec::named().filter(|spec| spec.parameters() < 2_000_000 && !ModelSpec::SMALLEST.contains(spec));
        ModelSpec::SMALLEST.iter().copied().chain(named)
    }

    #[test]
    fn every_model_is_built_by_its_name_and_gives_a_score_for_each_class() {
        for spec in small() {
            let model = fresh(spec, 1);
            assert_eq!(model.name(), spec.to_string());
            let scores = model.forward(&images(spec, 3), Mode::Evaluation);
            assert_eq!((scores.size(), scores.kind()), (vec![3, spec.classes() as i64], Kind::Float), "{spec}");
        }
    }

    #[test]
    fn every_model_has_the_weights_of_its_seed() {
        for spec in small() {
            let weights = |seed| fresh(spec, seed).params().to_vec();
            assert!(weights(1) == weights(1) && weights(1) != weights(2), "{spec}");
        }
    }

    #[test]
    fn a_training_pass_updates_statistics_and_an_evaluation_changes_nothing() {
        for spec in small() {
            let model = fresh(spec, 1);
            let state = |model: &dyn Model| (model.params().to_vec(), model.buffers().to_vec());
            let (before, images) = (state(&*model), images(spec, 4));
            let _ = model.forward(&images, Mode::Evaluation);
            assert!(state(&*model) == before, "{spec}");
            let mut dropout = Dropout::new(model.dropout_rate(), stream(1, 0, 0, Purpose::Dropout));
            let _ = model.forward(&images, Mode::Training(&mut dropout));
            let after = state(&*model);
            assert!(after.0 == before.0 && (after.1 != before.1 || before.1.is_empty()), "{spec}");
        }
    }

    #[test]
    fn every_kernel_of_a_model_gets_a_gradient() {
        for spec in small() {
            let model = fresh(spec, 1);
            // Enough images that none of the few ReLUs of a small model is 0 for all.
            let labels = Tensor::zeros([16], (Kind::Int64, Device::Cpu));
            model.forward(&images(spec, 16), Mode::Evaluation).cross_entropy_for_logits(&labels).backward();
            let params = model.params();
            for segment in params.segments.iter().filter(|segment| segment.is_kernel) {
                let gradient = to_vec(&segment.view(&params.gradients).contiguous());
                assert!(gradient.iter().any(|&number| number != 0.0), "{spec}: {}", segment.name);
            }
        }
    }

    #[test]
    fn the_tensors_of_a_network_hold_its_parameters() {
        for spec in ModelSpec::named() {
            let ModelSpec::Named(named) = spec else { continue };
            let layout = Layout::of(&named.network(spec.input()).unwrap());
            let numbers: i64 = layout.trained.iter().map(|tensor| tensor.shape.iter().product::<i64>()).sum();
            assert_eq!(spec.parameters(), numbers as u64, "{spec}");
            let mut names: Vec<&str> = layout.trained.iter().chain(&layout.kept).map(|tensor| tensor.name.as_str()).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{spec}: two tensors have one name");
        }
    }

    #[test]
    fn a_model_runs_on_images_of_another_size() {
        for (name, size) in [("mnist-cnn", 12), ("lenet", 8), ("trivial", 5), ("wrn-10-1", 16)] {
            let spec: ModelSpec = name.parse().unwrap();
            let input = spec.input_at(Some(size)).unwrap();
            let mut rng = stream(1, 0, 0, Purpose::Weights);
            let model = build_at(spec, input, &mut rng, Device::Cpu);
            assert_eq!(model.params().len() as u64, spec.parameters_at(input).unwrap());
            let images = Images::synthetic_at(spec, input, 2, 2, &mut rng, Device::Cpu).batch(&[0, 1]).images;
            assert_eq!(model.forward(&images, Mode::Evaluation).size(), [2, spec.classes() as i64]);
        }
    }
}
