//! Models by name against PyTorch: equal weights and images give equal scores and gradients.
//!
//! `tests/golden/models.py` wrote `models.json` with networks of its own. Weights and images come from a formula, so neither
//! file holds them.

use hvd_lab::domain::model::ModelSpec;
use hvd_lab::trainer::model::{self, Dropout, Mode};
use hvd_lab::trainer::params::to_vec;
use hvd_lab::trainer::random::{Purpose, stream};
use serde::Deserialize;
use tch::{Device, Tensor};

/// Relative to the golden number, or to the root mean square of its tensor: the golden numbers have double precision.
const TOLERANCE: f64 = 1e-3;
/// With batch norm over a small batch, a ReLU's input near 0 may fall on the other side, and with it the gradients of whatever
/// comes before. PyTorch's own gradients in single precision are up to 3.4 % off those in double precision. Which side it is
/// depends on the number of threads too.
const OF_NORMS_BEHIND_BATCHES: f64 = 0.04;
const OF_NUMBERS_BEHIND_BATCHES: f64 = 0.2;

#[derive(Deserialize)]
struct Golden {
    name: String,
    images: usize,
    size: usize,
    training: bool,
    parameters: u64,
    score_norm: f64,
    scores: Vec<f64>,
    /// Of each tensor in the order of the forward pass: its norm, and the numbers at 1/6, 3/6 and 5/6 of its length.
    gradients: Vec<[f64; 4]>,
}

#[test]
fn mnist_cnn_is_that_of_pytorch() {
    compare("mnist-cnn");
}

#[test]
fn lenet_is_that_of_pytorch() {
    compare("lenet");
}

#[test]
fn trivial_is_that_of_pytorch() {
    compare("trivial");
}

#[test]
fn alexnet_is_that_of_pytorch() {
    compare("alexnet");
}

#[test]
fn vgg16_is_that_of_pytorch() {
    compare("vgg16");
}

#[test]
fn resnet50_is_that_of_pytorch() {
    compare("resnet50");
}

#[test]
fn resnet101_is_that_of_pytorch() {
    compare("resnet101");
}

#[test]
fn inception3_is_that_of_pytorch() {
    compare("inception3");
}

#[test]
fn every_named_model_is_compared() {
    assert!(ModelSpec::named().all(|spec| golden().iter().any(|golden| golden.name == spec.to_string())));
}

fn golden() -> Vec<Golden> {
    serde_json::from_str(include_str!("../golden/models.json")).unwrap()
}

/// In [-1, 1): an integer hash of index and tensor, as in `models.py`.
fn hashed(count: usize, tensor: u32) -> Vec<f32> {
    let hash = |index: u32| {
        let mut h = index.wrapping_mul(0x9E37_79B1).wrapping_add(tensor.wrapping_mul(0x7F4A_7C15));
        h = (h ^ h >> 16).wrapping_mul(0x85EB_CA6B);
        h = (h ^ h >> 13).wrapping_mul(0xC2B2_AE35);
        h ^ h >> 16
    };
    (0..count as u32).map(|index| (hash(index) >> 8) as f32 / (1 << 23) as f32 - 1.0).collect()
}

fn compare(name: &str) {
    let golden = golden().into_iter().find(|golden| golden.name == name).unwrap();
    let spec: ModelSpec = name.parse().unwrap();
    let input = spec.input_at(Some(golden.size)).unwrap();
    assert_eq!(spec.parameters_at(input), Some(golden.parameters));
    let mut model = model::build_at(spec, input, &mut stream(1, 0, 0, Purpose::Weights), Device::Cpu);

    let segments = model.params().segments.clone();
    for (place, segment) in segments.iter().enumerate() {
        let numbers = Tensor::from_slice(&hashed(segment.len as usize, place as u32 + 1)).view(&segment.shape[..]);
        let numbers = match segment.shape[..] {
            [_] if segment.name.ends_with("norm.scale") => numbers * 0.1 + 1.0,
            [_] => numbers * 0.1,
            _ => numbers * (6.0 * segment.shape[0] as f64 / segment.len as f64).sqrt(),
        };
        tch::no_grad(|| segment.view(&model.params_mut().flat).copy_(&numbers));
    }
    let shape = [golden.images, input.channels, input.height, input.width].map(|side| side as i64);
    let images = Tensor::from_slice(&hashed(golden.images * input.numbers(), 0)).view(shape) * f64::from(1.732_050_8_f32);
    let images = images.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2]);
    let labels: Vec<i64> = (0..golden.images).map(|image| (image * 7 % spec.classes()) as i64).collect();

    let mut dropout = Dropout::new(0.0, stream(1, 0, 0, Purpose::Dropout));
    let mode = if golden.training { Mode::Training(&mut dropout) } else { Mode::Evaluation };
    let scores = model.forward(&images, mode);
    scores.cross_entropy_for_logits(&Tensor::from_slice(&labels)).backward();

    let scores = to_vec(&scores.contiguous());
    let norm = norm(&scores);
    assert!((norm / golden.score_norm - 1.0).abs() < TOLERANCE, "norm of the scores {norm}, not {}", golden.score_norm);
    agree("scores", &scores, golden.score_norm, &golden.scores, TOLERANCE);
    assert_eq!(segments.len(), golden.gradients.len());
    let params = model.params();
    let tolerances = if golden.training { [OF_NORMS_BEHIND_BATCHES, OF_NUMBERS_BEHIND_BATCHES] } else { [TOLERANCE; 2] };
    for (segment, [norm_wanted, picked @ ..]) in segments.iter().zip(&golden.gradients) {
        let gradient = to_vec(&segment.view(&params.gradients).contiguous());
        let norm = self::norm(&gradient);
        let off = (norm - norm_wanted).abs() / norm_wanted.max(1e-9);
        assert!(off < tolerances[0], "{}: the norm of the gradient is {norm}, not {norm_wanted}", segment.name);
        agree(&segment.name, &gradient, *norm_wanted, picked, tolerances[1]);
    }
}

fn norm(numbers: &[f32]) -> f64 {
    numbers.iter().map(|&number| f64::from(number).powi(2)).sum::<f64>().sqrt()
}

/// The golden numbers stand evenly spaced.
fn agree(name: &str, found: &[f32], norm: f64, golden: &[f64], tolerance: f64) {
    let typical = norm / (found.len() as f64).sqrt();
    for (place, wanted) in golden.iter().enumerate() {
        let index = (2 * place + 1) * found.len() / (2 * golden.len());
        let off = (f64::from(found[index]) - wanted).abs() / wanted.abs().max(typical);

        assert!(off < tolerance, "{name}: number {index} is {}, not {wanted} ({off:.1e} off)", found[index]);
    }
}
