//! The arithmetic of training: optimizers against references in double precision, and averaged gradients against whole ones.

use hvd_lab::comm::{Communicator, ReduceOp, ThreadComm};
use hvd_lab::dataset::{self, Location, SplitKind};
use hvd_lab::domain::run::ModelSpec;
use hvd_lab::trainer::batches::Images;
use hvd_lab::trainer::model::{self, Mode, Model};
use hvd_lab::trainer::optimizer::{NovoGrad, Optimizer, Sgd};
use hvd_lab::trainer::params::{FlatTensors, Init, TensorSpec, to_vec};
use hvd_lab::trainer::random::{Purpose, stream};
use hvd_lab::trainer::sampler::Sampler;
use tch::{Device, Kind, Tensor};

const WRN_10_1: ModelSpec = ModelSpec { depth: 10, width: 1 };

/// Two kernels and a bias: sorted by name they are bias (3), conv (2x3x1x1), dense (4x2).
fn small_params() -> FlatTensors {
    let spec = |name: &str, shape: &[i64], is_kernel| TensorSpec {
        name: name.into(),
        shape: shape.to_vec(),
        init: Init::HeNormal { fan_in: 4 },
        is_kernel,
    };
    FlatTensors::build(
        vec![spec("dense", &[4, 2], true), spec("bias", &[3], false), spec("conv", &[2, 3, 1, 1], true)],
        &mut stream(3, 0, 0, Purpose::Weights),
        true,
        Device::Cpu,
    )
}

const LENGTHS: [usize; 3] = [3, 6, 8];

fn gradients(step: usize) -> Vec<f32> {
    (0..17).map(|index| ((index * 31 + step * 17) % 23) as f32 / 7.0 - 1.5).collect()
}

fn assert_close(got: &[f32], want: &[f64], tolerance: f64) {
    for (index, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((f64::from(*got) - want).abs() <= tolerance * want.abs().max(1.0), "number {index}: {got} is not {want}");
    }
}

#[test]
fn sgd_agrees_with_a_reference_in_double_precision() {
    let (momentum, wd, lr) = (0.9, 0.01, 0.05);
    let mut params = small_params();
    let mut weights: Vec<f64> = params.to_vec().into_iter().map(f64::from).collect();
    let mut buffer = [0.0; 17];
    let mut sgd = Sgd::new(&params, momentum, wd);
    for step in 0..20 {
        sgd.step(&mut params, &Tensor::from_slice(&gradients(step)), lr);
        for (index, gradient) in gradients(step).into_iter().enumerate() {
            let decay = if index < LENGTHS[0] { 0.0 } else { wd };
            buffer[index] = momentum * buffer[index] + f64::from(gradient) + decay * weights[index];
            weights[index] -= lr * buffer[index];
        }
    }
    assert_close(&params.to_vec(), &weights, 1e-5);
}

#[test]
fn novograd_agrees_with_a_reference_in_double_precision() {
    let (b1, b2, eps, wd, lr) = (0.95, 0.98, 1e-8, 0.01, 0.05);
    let mut params = small_params();
    let mut weights: Vec<f64> = params.to_vec().into_iter().map(f64::from).collect();
    let (mut momentum, mut second) = ([0.0; 17], [0.0; 3]);
    let mut novograd = NovoGrad::new(&params, wd);
    for step in 0..20 {
        novograd.step(&mut params, &Tensor::from_slice(&gradients(step)), lr);
        let all: Vec<f64> = gradients(step).into_iter().map(f64::from).collect();
        let mut start = 0;
        for (tensor, len) in LENGTHS.into_iter().enumerate() {
            let piece = start..start + len;
            let norm: f64 = all[piece.clone()].iter().map(|value| value * value).sum();
            second[tensor] = if step == 0 { norm } else { b2 * second[tensor] + (1.0 - b2) * norm };
            for index in piece {
                let decay = if tensor == 0 { 0.0 } else { wd };
                momentum[index] = b1 * momentum[index] + all[index] / (second[tensor].sqrt() + eps) + decay * weights[index];
                weights[index] -= lr * momentum[index];
            }
            start += len;
        }
    }
    assert_close(&params.to_vec(), &weights, 1e-5);
}

#[test]
fn views_and_flat_tensor_are_the_same_memory() {
    let mut params = small_params();
    let numbers: Vec<f32> = (0..17).map(|index| index as f32).collect();
    params.set(&numbers);
    assert_eq!(to_vec(&params.get("bias")), [0.0, 1.0, 2.0]);
    // [2, 3, 1, 1] lies in memory as [2, 1, 1, 3], which for 1x1 kernels is the same order.
    assert_eq!(to_vec(&params.get("conv").contiguous()), numbers[3..9]);
    let sum = params.get("dense").sum(Kind::Float) * 2.0;
    let gradient = to_vec(&params.gradients(&(sum + params.get("bias").sum(Kind::Float) + params.get("conv").sum(Kind::Float))));
    assert_eq!(gradient, [[1.0; 9].as_slice(), &[2.0; 8]].concat());
}

fn fresh_model() -> Box<dyn Model> {
    model::build(WRN_10_1, &mut stream(7, 0, 0, Purpose::Weights), Device::Cpu)
}

/// Gradients of the mean loss over one batch, batch norm in evaluation mode.
///
/// In training mode batch norm takes its statistics from the rank's own batch, so two halves are normalised differently
/// from the whole, and the gradients of the mean are not the mean of the gradients: that is how data-parallel training
/// is, not an error. With fixed statistics every image stands for itself, and the two must agree.
fn gradients_of(model: &dyn Model, images: &Images, picks: &[u32]) -> Vec<f32> {
    let batch = images.batch(picks);
    let loss = model.forward(&batch.images, Mode::Evaluation).cross_entropy_for_logits(&batch.labels);
    to_vec(&model.params().gradients(&loss))
}

#[test]
fn two_ranks_at_half_the_batch_average_to_the_gradients_of_one() {
    let images = || {
        let split = dataset::load(&Location::Generated, SplitKind::Train, Some(512)).unwrap();
        Images::training(split, Device::Cpu)
    };
    let alone = {
        let order = Sampler::Blocks { rank: 0, size: 1, images: 512 }.batches(0, 2, 128);
        let model = fresh_model();
        order.iter().map(|picks| gradients_of(&*model, &images(), picks)).collect::<Vec<_>>()
    };
    let ranks: Vec<_> = ThreadComm::group(2)
        .into_iter()
        .map(|comm| {
            std::thread::spawn(move || {
                let order = Sampler::Blocks { rank: comm.topology().rank.0, size: 2, images: 512 }.batches(0, 2, 64);
                // Equal weights, as after a broadcast.
                let model = fresh_model();
                let average = |picks: &Vec<u32>| {
                    let mut gradients = gradients_of(&*model, &images(), picks);
                    comm.allreduce(&mut gradients, ReduceOp::Average).unwrap();
                    gradients
                };
                order.iter().map(average).collect::<Vec<_>>()
            })
        })
        .collect();
    let pair: Vec<_> = ranks.into_iter().map(|rank| rank.join().unwrap()).collect();
    assert_eq!(pair[0], pair[1], "both ranks hold the same bits");
    for (whole, averaged) in alone.iter().zip(&pair[0]) {
        let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
        let difference = norm(&mut whole.iter().zip(averaged).map(|(a, b)| f64::from(a - b)));
        let size = norm(&mut whole.iter().map(|&value| f64::from(value)));
        assert!(size > 1e-3 && difference / size < 1e-5, "relative difference {}", difference / size);
    }
}
