//! Models by name. Adding one is a file here with its layers, and a line in `build`.

mod dropout;
mod interface;
mod layers;
mod layout;
mod wide_resnet;

use rand_chacha::ChaCha8Rng;
use tch::Device;

pub use self::dropout::Dropout;
pub use self::interface::{Mode, Model, ModelState};
use self::wide_resnet::WideResNet;
use crate::domain::model::ModelSpec;

/// The model of that name with fresh weights; the same stream gives the same weights.
pub fn build(spec: ModelSpec, rng: &mut ChaCha8Rng, device: Device) -> Box<dyn Model> {
    match spec {
        ModelSpec::WideResNet(spec) => Box::new(WideResNet::new(spec, rng, device)),
    }
}

#[cfg(test)]
mod tests {
    use tch::{Kind, Tensor};

    use super::*;
    use crate::trainer::params::to_vec;
    use crate::trainer::random::{Purpose, stream};

    fn fresh(spec: ModelSpec, seed: u64) -> Box<dyn Model> {
        build(spec, &mut stream(seed, 0, 0, Purpose::Weights), Device::Cpu)
    }

    fn images(spec: ModelSpec, count: i64) -> Tensor {
        let shape = spec.input();
        let [channels, height, width] = [shape.channels, shape.height, shape.width].map(|side| side as i64);
        let images = Tensor::rand([count, height, width, channels], (Kind::Float, Device::Cpu));
        images.permute([0, 3, 1, 2])
    }

    #[test]
    fn every_model_is_built_by_its_name_and_gives_a_score_for_each_class() {
        for &spec in ModelSpec::SMALLEST {
            let model = fresh(spec, 1);
            assert_eq!(model.name(), spec.to_string());
            let scores = model.forward(&images(spec, 3), Mode::Evaluation);
            assert_eq!((scores.size(), scores.kind()), (vec![3, spec.classes() as i64], Kind::Float), "{spec}");
        }
    }

    #[test]
    fn every_model_has_the_weights_of_its_seed() {
        for &spec in ModelSpec::SMALLEST {
            let weights = |seed| fresh(spec, seed).params().to_vec();
            assert!(weights(1) == weights(1) && weights(1) != weights(2), "{spec}");
        }
    }

    #[test]
    fn a_training_pass_updates_statistics_and_an_evaluation_changes_nothing() {
        for &spec in ModelSpec::SMALLEST {
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
        for &spec in ModelSpec::SMALLEST {
            let model = fresh(spec, 1);
            let labels = Tensor::zeros([4], (Kind::Int64, Device::Cpu));
            model.forward(&images(spec, 4), Mode::Evaluation).cross_entropy_for_logits(&labels).backward();
            let params = model.params();
            for segment in params.segments.iter().filter(|segment| segment.is_kernel) {
                let gradient = to_vec(&segment.view(&params.gradients).contiguous());
                assert!(gradient.iter().any(|&number| number != 0.0), "{spec}: {}", segment.name);
            }
        }
    }
}
