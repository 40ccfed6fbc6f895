//! Every optimizer against its formula in double precision, tensor by tensor, through all that real tensors do.

use hvd_lab::domain::nvcnn::{Larc, LarcMode};
use hvd_lab::trainer::optimizer::{Adadelta, Lamb, Nesterov, NovoGrad, Optimizer, Sgd};
use hvd_lab::trainer::params::{BLOCK, FlatTensors, Init, TensorSpec, to_vec};
use hvd_lab::trainer::random::{Purpose, stream};
use tch::{Device, Tensor};

const STEPS: usize = 50;
const WD: f64 = 0.01;

/// Tensors of less than a block, of exactly one, and of several; kernels and others; one that starts at zero.
pub fn params() -> FlatTensors {
    let spec =
        |name: &str, shape: &[i64], is_kernel, init| TensorSpec { name: name.into(), shape: shape.to_vec(), init, is_kernel };
    let drawn = Init::HeNormal { fan_in: 4 };
    let specs = vec![
        spec("bias", &[3], false, Init::Zeros),
        spec("conv", &[5, 3, 3, 3], true, drawn),
        spec("dense", &[10, 64], true, drawn),
        spec("late", &[4, 2], true, drawn),
        spec("scale", &[BLOCK], false, Init::Ones),
        spec("silent", &[70], true, drawn),
        spec("zeros", &[65], true, Init::Zeros),
    ];
    FlatTensors::build(specs, &mut stream(3, 0, 0, Purpose::Weights), true, Device::Cpu)
}

/// One tensor's gradients in one step, between -1 and 1 times a size of its own: `silent` never has any, `late` none
/// in the first ten steps.
fn gradient(name: &str, len: usize, step: usize) -> Vec<f32> {
    let size = match name {
        "silent" => 0.0,
        "late" if step < 10 => 0.0,
        "conv" => 30.0,
        "scale" => 1e-3,
        _ => 1.0,
    };
    (0..len).map(|index| ((index * 31 + step * 17 + len) % 23) as f32 / 11.0 - 1.0).map(|unit| unit * size).collect()
}

/// All tensors' gradients of a step, each times its factor, as the optimizer gets them.
pub fn flat_gradients(params: &FlatTensors, step: usize, factor: impl Fn(&str) -> f32) -> Tensor {
    let mut flat = vec![0.0; params.flat.numel()];
    for segment in &params.segments {
        let numbers = gradient(&segment.name, segment.len as usize, step);
        for (place, number) in flat[segment.start as usize..].iter_mut().zip(numbers) {
            *place = number * factor(&segment.name);
        }
    }
    Tensor::from_slice(&flat)
}

/// One tensor of the reference, with whatever an optimizer remembers of it.
struct Tensor64 {
    weights: Vec<f64>,
    gradients: Vec<f64>,
    is_kernel: bool,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Tensor64 {
    fn decay(&self, wd: f64) -> f64 {
        if self.is_kernel { wd } else { 0.0 }
    }
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// Runs both and compares the weights after every step; `rule` applies step `t` (from 1) to one tensor.
fn agrees(mut optimizer: impl Optimizer, mut params: FlatTensors, lr: f64, rule: impl Fn(&mut Tensor64, i32)) {
    let piece = |flat: &[f32], segment: &hvd_lab::trainer::params::Segment| -> Vec<f64> {
        flat[segment.start as usize..][..segment.len as usize].iter().map(|&number| f64::from(number)).collect()
    };
    let start = params.to_vec();
    let fresh = |segment| {
        let weights: Vec<f64> = piece(&start, segment);
        let zeros = vec![0.0; weights.len()];
        Tensor64 { weights, gradients: vec![], is_kernel: segment.is_kernel, first: zeros.clone(), second: zeros }
    };
    let mut reference: Vec<Tensor64> = params.segments.iter().map(fresh).collect();
    for step in 0..STEPS {
        let gradients = flat_gradients(&params, step, |_| 1.0);
        optimizer.step(&mut params, &gradients, lr);
        assert_eq!(to_vec(&gradients), to_vec(&flat_gradients(&params, step, |_| 1.0)), "gradients are only read");
        let numbers = params.to_vec();
        for (segment, tensor) in params.segments.iter().zip(&mut reference) {
            tensor.gradients = piece(&to_vec(&gradients), segment);
            rule(tensor, step as i32 + 1);
            for (index, (got, want)) in piece(&numbers, segment).into_iter().zip(&tensor.weights).enumerate() {
                let close = (got - want).abs() <= 1e-5 * want.abs().max(1.0);
                assert!(close, "step {step}, {}[{index}]: {got} is not {want}", segment.name);
            }
            let padding = &numbers[(segment.start + segment.len) as usize..(segment.start + segment.blocks() * BLOCK) as usize];
            assert!(padding.iter().all(|&number| number == 0.0), "between tensors stay zeros");
        }
    }
}

#[test]
fn sgd() {
    let lr = 0.05;
    for (momentum, wd) in [(0.9, WD), (0.9, 0.0), (0.0, WD), (0.0, 0.0)] {
        let params = params();
        agrees(Sgd::new(&params, momentum, wd), params, lr, |tensor, _| {
            let decay = tensor.decay(wd);
            for index in 0..tensor.weights.len() {
                tensor.first[index] = momentum * tensor.first[index] + tensor.gradients[index] + decay * tensor.weights[index];
                tensor.weights[index] -= lr * tensor.first[index];
            }
        });
    }
}

#[test]
fn novograd() {
    let (b1, b2, eps, lr) = (0.95, 0.98, 1e-8, 0.05);
    let params = params();
    agrees(NovoGrad::new(&params, WD), params, lr, |tensor, _| {
        let decay = tensor.decay(WD);
        let squared = norm(&tensor.gradients).powi(2);
        let second = if tensor.second[0] == 0.0 { squared } else { b2 * tensor.second[0] + (1.0 - b2) * squared };
        tensor.second[0] = second;
        for index in 0..tensor.weights.len() {
            let normalised = tensor.gradients[index] / (second.sqrt() + eps);
            tensor.first[index] = b1 * tensor.first[index] + normalised + decay * tensor.weights[index];
            tensor.weights[index] -= lr * tensor.first[index];
        }
    });
}

#[test]
fn lamb() {
    let (b1, b2, eps, lr) = (0.9_f64, 0.999_f64, 1e-6, 0.02);
    let params = params();
    agrees(Lamb::new(&params, WD), params, lr, |tensor, t| {
        let decay = tensor.decay(WD);
        let update: Vec<f64> = (0..tensor.weights.len())
            .map(|index| {
                let gradient = tensor.gradients[index];
                tensor.first[index] = b1 * tensor.first[index] + (1.0 - b1) * gradient;
                tensor.second[index] = b2 * tensor.second[index] + (1.0 - b2) * gradient * gradient;
                let (first, second) = (tensor.first[index] / (1.0 - b1.powi(t)), tensor.second[index] / (1.0 - b2.powi(t)));
                first / (second.sqrt() + eps) + decay * tensor.weights[index]
            })
            .collect();
        let (weights, length) = (norm(&tensor.weights), norm(&update));
        let ratio = if tensor.is_kernel && weights > 0.0 && length > 0.0 { weights / length } else { 1.0 };
        tensor.weights.iter_mut().zip(update).for_each(|(weight, update)| *weight -= lr * ratio * update);
    });
}

#[test]
fn adadelta() {
    let (rho, eps, lr) = (0.95, 1e-6, 1.0);
    let params = params();
    agrees(Adadelta::new(&params, WD), params, lr, |tensor, _| {
        let decay = tensor.decay(WD);
        for index in 0..tensor.weights.len() {
            let gradient = tensor.gradients[index] + decay * tensor.weights[index];
            tensor.first[index] = rho * tensor.first[index] + (1.0 - rho) * gradient * gradient;
            let update = ((tensor.second[index] + eps) / (tensor.first[index] + eps)).sqrt() * gradient;
            tensor.second[index] = rho * tensor.second[index] + (1.0 - rho) * update * update;
            tensor.weights[index] -= lr * update;
        }
    });
}

/// nvcnn's lines of TensorFlow, tensor by tensor: l2_loss of all weights, the rates of LARC, and MomentumOptimizer with
/// use_nesterov. Without LARC it is PyTorch's `SGD(momentum=0.9, nesterov=True, weight_decay=WD)` too.
#[test]
fn nesterov_with_the_rates_of_larc() {
    let momentum = 0.9;
    let eta = 0.01;
    let larc = |mode| Some(Larc { eta, mode });
    for (larc, lr) in [(None, 0.05), (larc(LarcMode::Clip), 0.05), (larc(LarcMode::Clip), 1e-4), (larc(LarcMode::Scale), 0.5)] {
        let params = params();
        agrees(Nesterov::new(&params, momentum, WD, larc), params, lr, |tensor, _| {
            let gradients: Vec<f64> =
                tensor.gradients.iter().zip(&tensor.weights).map(|(gradient, weight)| gradient + WD * weight).collect();
            let (weights, length) = (norm(&tensor.weights), norm(&gradients));
            let rate = if weights != 0.0 && length != 0.0 { eta * weights / length } else { 1.0 };
            let factor = match larc.map(|larc| larc.mode) {
                None => 1.0,
                Some(LarcMode::Scale) => rate,
                Some(LarcMode::Clip) => (rate / lr).min(1.0),
            };
            for (index, gradient) in gradients.into_iter().map(|gradient| factor * gradient).enumerate() {
                tensor.first[index] = momentum * tensor.first[index] + gradient;
                tensor.weights[index] -= lr * (gradient + momentum * tensor.first[index]);
            }
        });
    }
}

#[test]
fn a_rate_of_0_moves_nothing_also_where_larc_divides_by_it() {
    for mode in [LarcMode::Clip, LarcMode::Scale] {
        let mut params = params();
        let before = params.to_vec();
        let mut optimizer = Nesterov::new(&params, 0.9, WD, Some(Larc { eta: 0.003, mode }));
        let gradients = flat_gradients(&params, 3, |_| 1.0);
        optimizer.step(&mut params, &gradients, 0.0);
        assert_eq!(params.to_vec(), before, "{mode}");
    }
}
