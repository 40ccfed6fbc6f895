//! Batch norm, and what follows it: an addition, a ReLU and max-pooling. In training on a CPU all of it is one operation.
//!
//! A CPU waits for memory, and batch norm, addition, ReLU and pooling by themselves each read and write all activations. The C++ in
//! `batch_norm.hpp` does all of them in two passes forward and two backward. On a GPU, in evaluation, or for tensors that do not lie
//! pixel by pixel, libtorch's own operations do it one after the other.

use std::ffi::{c_char, c_int};

use tch::{Kind, Tensor};

use super::convolution::Convolved;
use super::fused::{CTensor, is_fusible, made, raw};
use super::interface::{Mode, ModelState};
use super::max_pool::{is_poolable, max_pool};

/// Weight of the newest batch in the running statistics: Keras writes it as momentum 0.9.
const MOMENTUM: f64 = 0.1;
const EPS: f64 = 1e-5;

/// Each channel with mean 0 and variance 1, then scaled and shifted.
pub struct BatchNorm {
    scale: Tensor,
    shift: Tensor,
    mean: Tensor,
    var: Tensor,
}

/// What follows a batch norm.
#[derive(Clone, Copy, Debug)]
pub enum After<'a> {
    Nothing,
    Relu,
    /// A ReLU whose result dropout then sets to zero in places, unknown to the autograd graph.
    DroppedRelu,
    /// The sum with this tensor, then a ReLU: a block of a ResNet.
    AddRelu(&'a Tensor),
    /// A ReLU, then the sum with this tensor: a block of the Wide ResNet.
    ReluAdd(&'a Tensor),
    /// The same, then max-pooling: the last block of a group of the Wide ResNet.
    ReluAddPool(&'a Tensor),
}

// SAFETY: the declaration agrees with src/ranks/trainer/libtorch.cpp.
unsafe extern "C" {
    fn hvd_batch_norm(
        x: *const CTensor,
        scale: *const CTensor,
        shift: *const CTensor,
        other: *const CTensor,
        mean: *const CTensor,
        variance: *const CTensor,
        statistics: *const CTensor,
        after: c_int,
        pooled: bool,
        gain: f64,
        momentum: f64,
        eps: f64,
        result: *mut *mut CTensor,
    ) -> *mut c_char;
}

impl BatchNorm {
    /// The layer of this name: `scale` and `shift` are trained, `mean` and `var` are the statistics of the past.
    pub fn of(state: &ModelState, name: &str) -> BatchNorm {
        BatchNorm {
            scale: state.params.get(&format!("{name}.scale")),
            shift: state.params.get(&format!("{name}.shift")),
            mean: state.buffers.get(&format!("{name}.mean")),
            var: state.buffers.get(&format!("{name}.var")),
        }
    }

    /// `gain` multiplies the norm's result, before what follows.
    ///
    /// # Shapes
    /// `x`, and the tensor to add: [n, channels, height, width]. Returns the same, or half its height and width behind the pooling.
    pub fn forward(&self, x: &Tensor, mode: &Mode<'_>, gain: f64, after: After<'_>) -> Tensor {
        self.with_statistics(x, None, mode, gain, after)
    }

    /// The same of the result of a convolution.
    pub fn forward_convolved(&self, x: &Convolved, mode: &Mode<'_>, gain: f64, after: After<'_>) -> Tensor {
        self.with_statistics(&x.y, x.statistics.as_ref(), mode, gain, after)
    }

    fn with_statistics(&self, x: &Tensor, known: Option<&Tensor>, mode: &Mode<'_>, gain: f64, after: After<'_>) -> Tensor {
        let training = matches!(mode, Mode::Training(_));
        let is_known = if matches!(after, After::ReluAddPool(_)) { is_poolable(x) } else { is_fusible(x) };
        if training && is_known { self.fused(x, known, gain, after) } else { self.one_by_one(x, training, gain, after) }
    }

    fn one_by_one(&self, x: &Tensor, training: bool, gain: f64, after: After<'_>) -> Tensor {
        let norm = |scale: &Tensor, shift: &Tensor| {
            let (mean, var) = (Some(&self.mean), Some(&self.var));
            x.batch_norm(Some(scale), Some(shift), mean, var, training, MOMENTUM, EPS, true)
        };
        let mut y = if gain == 1.0 { norm(&self.scale, &self.shift) } else { norm(&(&self.scale * gain), &(&self.shift * gain)) };
        match after {
            After::Nothing => y,
            After::Relu | After::DroppedRelu => y.relu_(),
            After::AddRelu(other) => y.g_add_(other).relu_(),
            After::ReluAdd(other) => y.relu_() + other,
            After::ReluAddPool(other) => max_pool(&(y.relu_() + other)),
        }
    }

    fn fused(&self, x: &Tensor, known: Option<&Tensor>, gain: f64, after: After<'_>) -> Tensor {
        let (number, other, pooled) = match after {
            After::Nothing => (0, None, false),
            After::Relu => (1, None, false),
            After::AddRelu(other) => (2, Some(other), false),
            After::ReluAdd(other) => (3, Some(other), false),
            After::DroppedRelu => (4, None, false),
            After::ReluAddPool(other) => (3, Some(other), true),
        };
        let channels = [x.size()[1]];
        for tensor in [&self.scale, &self.shift, &self.mean, &self.var] {
            assert!(tensor.size() == channels && tensor.kind() == Kind::Float && tensor.is_contiguous(), "{tensor:?}");
        }
        assert!(other.is_none_or(|other| other.size() == x.size()), "what is added has the shape of the norm's result");
        let is_right = |known: &Tensor| known.size() == [2, channels[0]] && known.kind() == Kind::Double && known.is_contiguous();
        assert!(known.is_none_or(is_right), "{known:?}");
        // SAFETY: live tensors, of the shapes and kinds that it takes: `forward` and the lines above have seen to it. libtorch keeps
        // references of its own to what it needs for backward.
        unsafe {
            made(|result| {
                hvd_batch_norm(
                    raw(x),
                    raw(&self.scale),
                    raw(&self.shift),
                    other.map_or(std::ptr::null(), raw),
                    raw(&self.mean),
                    raw(&self.var),
                    known.map_or(std::ptr::null(), raw),
                    number,
                    pooled,
                    gain,
                    MOMENTUM,
                    EPS,
                    result,
                )
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use tch::Device;

    use super::*;
    use crate::trainer::model::Dropout;
    use crate::trainer::params::to_vec;
    use crate::trainer::random::{self, Purpose, stream};

    const DOUBLE: (Kind, Device) = (Kind::Double, Device::Cpu);

    /// The same numbers in every run: libtorch's own generator is shared by all tests, and a number that falls on the other side of a
    /// ReLU's 0 would be met by chance.
    fn numbers(seed: u64) -> ChaCha8Rng {
        stream(seed, 0, 0, Purpose::Weights)
    }

    fn drawn(rng: &mut ChaCha8Rng, sides: &[i64]) -> Tensor {
        let count = sides.iter().product::<i64>();
        let numbers: Vec<f64> = (0..count).map(|_| f64::from(random::normal(rng))).collect();
        Tensor::from_slice(&numbers).view(sides)
    }

    fn random(rng: &mut ChaCha8Rng, sides: &[i64], kind: Kind) -> Tensor {
        drawn(rng, &[sides[0], sides[2], sides[3], sides[1]]).to_kind(kind).permute([0, 3, 1, 2])
    }

    fn of_channels(rng: &mut ChaCha8Rng, channels: i64, add: f64) -> Tensor {
        drawn(rng, &[channels]).to_kind(Kind::Float) * 0.5 + add
    }

    type Forward = fn(&BatchNorm, &Tensor, f64, After<'_>) -> Tensor;

    fn fused(norm: &BatchNorm, x: &Tensor, gain: f64, after: After<'_>) -> Tensor {
        norm.fused(x, None, gain, after)
    }

    fn one_by_one(norm: &BatchNorm, x: &Tensor, gain: f64, after: After<'_>) -> Tensor {
        norm.one_by_one(x, true, gain, after)
    }

    fn one_after_the_other(norm: &BatchNorm, x: &Tensor, gain: f64, after: After<'_>) -> Tensor {
        let After::ReluAddPool(other) = after else { panic!("{after:?}") };
        max_pool(&fused(norm, x, gain, After::ReluAdd(other)))
    }

    /// Result, gradients of x, of what is added, of scale and shift, and the running statistics, all in double precision.
    fn results(norm: &BatchNorm, x: &Tensor, after: After<'_>, gain: f64, weights: &Tensor, forward: Forward) -> Vec<Tensor> {
        let leaf = |tensor: &Tensor| tensor.detach().set_requires_grad(true);
        let (x, scale, shift) = (leaf(x), leaf(&norm.scale), leaf(&norm.shift));
        let norm = BatchNorm { mean: norm.mean.copy(), var: norm.var.copy(), scale, shift };
        let added = match after {
            After::AddRelu(other) | After::ReluAdd(other) | After::ReluAddPool(other) => leaf(other),
            After::Nothing | After::Relu | After::DroppedRelu => leaf(&Tensor::zeros_like(&x)),
        };
        let after = match after {
            After::AddRelu(_) => After::AddRelu(&added),
            After::ReluAdd(_) => After::ReluAdd(&added),
            After::ReluAddPool(_) => After::ReluAddPool(&added),
            other => other,
        };
        let y = forward(&norm, &x, gain, after);
        (&y * weights).sum(Kind::Double).backward();
        let gradients = [x.grad(), added.grad(), norm.scale.grad(), norm.shift.grad()];
        let all = [y.detach()].into_iter().chain(gradients).chain([norm.mean, norm.var]);
        all.map(|tensor| if tensor.defined() { tensor.to_kind(Kind::Double) } else { Tensor::zeros([1], DOUBLE) }).collect()
    }

    fn in_double(norm: &BatchNorm) -> BatchNorm {
        let double = |tensor: &Tensor| tensor.to_kind(Kind::Double);
        BatchNorm { scale: double(&norm.scale), shift: double(&norm.shift), mean: double(&norm.mean), var: double(&norm.var) }
    }

    fn fresh(rng: &mut ChaCha8Rng, channels: i64) -> BatchNorm {
        let (mean, var) = (of_channels(rng, channels, 0.0), of_channels(rng, channels, 0.0).square() + 0.5);
        BatchNorm { scale: of_channels(rng, channels, 1.0), shift: of_channels(rng, channels, 0.1), mean, var }
    }

    #[test]
    fn as_one_operation_it_is_what_the_operations_are_in_double_precision() {
        let rng = &mut numbers(1);
        // Odd channels, one image, one pixel of each image, more lines than are added up at a time, more than 64 blocks' worth.
        let shapes = [[3, 5, 7, 3], [1, 16, 6, 6], [32, 130, 1, 1], [8, 3, 31, 33], [16, 16, 28, 28], [2, 1, 5, 4]];
        for (sides, kind) in shapes.into_iter().flat_map(|sides| [(sides, Kind::Float), (sides, Kind::BFloat16)]) {
            let norm = fresh(rng, sides[1]);
            // A mean far from 0 is where sums of squares go wrong.
            let x = (random(rng, &sides, Kind::Double) * 2.0 + 30.0).to_kind(kind);
            let (other, weights) = (random(rng, &sides, kind), random(rng, &sides, kind));
            for (after, gain) in [
                (After::Nothing, 1.0),
                (After::Relu, 1.25),
                (After::DroppedRelu, 1.25),
                (After::AddRelu(&other), 1.0),
                (After::ReluAdd(&other), 1.25),
            ] {
                let got = results(&norm, &x, after, gain, &weights, fused);
                let double = |tensor: &Tensor| tensor.to_kind(Kind::Double);
                let exact_other = double(&other);
                let exact_after = match after {
                    After::AddRelu(_) => After::AddRelu(&exact_other),
                    After::ReluAdd(_) => After::ReluAdd(&exact_other),
                    after => after,
                };
                let want = results(&in_double(&norm), &double(&x), exact_after, gain, &double(&weights), one_by_one);
                for (index, (got, want)) in got.iter().zip(&want).enumerate() {
                    assert_eq!(got.size(), want.size());
                    // bfloat16 has 8 bits, and a ReLU's input near 0 may fall on the other side.
                    let tolerance = if kind == Kind::Float { 2e-5 } else { 1e-2 };
                    let off = (got - want).norm().double_value(&[]) / want.norm().double_value(&[]).max(1.0);
                    assert!(off < tolerance, "{sides:?} {kind:?} {after:?}: result {index} is off by {off:e}");
                }
            }
        }
    }

    #[test]
    fn with_the_pooling_it_is_to_the_last_bit_what_the_two_are_one_after_the_other() {
        let rng = &mut numbers(5);
        // Odd sides, lines of pixels that are no whole number of the cut's lines, many channels, one window.
        let shapes = [[3, 16, 28, 28], [2, 8, 7, 5], [4, 24, 6, 6], [1, 136, 15, 3], [2, 8, 2, 2], [1, 16, 3, 2]];
        for (sides, kind) in shapes.into_iter().flat_map(|sides| [(sides, Kind::Float), (sides, Kind::BFloat16)]) {
            let norm = fresh(rng, sides[1]);
            let halves = [sides[0], sides[1], sides[2] / 2, sides[3] / 2];
            let [x, other, weights] = [sides, sides, halves].map(|sides| random(rng, &sides, kind));
            let y = fused(&norm, &x, 1.25, After::ReluAddPool(&other));
            assert!(is_fusible(&y) && y.kind() == kind && y.size() == halves, "the next layer is fused as well");
            let of = |forward| results(&norm, &x, After::ReluAddPool(&other), 1.25, &weights, forward);
            for (index, (one, two)) in of(fused).iter().zip(of(one_after_the_other)).enumerate() {
                assert!(one.equal(&two), "{sides:?} {kind:?}: result {index}");
            }
        }
        let mut dropout = Dropout::new(0.0, stream(1, 0, 0, Purpose::Dropout));
        let mode = Mode::Training(&mut dropout);
        // Five channels are no whole vector.
        let (norm, x) = (fresh(rng, 5), random(rng, &[2, 5, 4, 4], Kind::Float));
        for mode in [&Mode::Evaluation, &mode] {
            assert_eq!(norm.forward(&x, mode, 1.0, After::ReluAddPool(&x)).size(), [2, 5, 2, 2]);
        }
    }

    #[test]
    fn statistics_that_are_known_are_taken() {
        let rng = &mut numbers(6);
        let (norm, x) = (fresh(rng, 16), random(rng, &[4, 16, 6, 6], Kind::Float));
        let known = |factor: f64| {
            let (numbers, dims) = (x.to_kind(Kind::Double), [0i64, 2, 3]);
            let mean = numbers.mean_dim(dims.as_slice(), false, Kind::Double);
            Tensor::stack(&[mean, numbers.var_dim(dims.as_slice(), false, false) * factor], 0)
        };
        let of = |statistics: Option<&Tensor>| {
            let norm = BatchNorm {
                scale: norm.scale.copy(),
                shift: norm.shift.zeros_like(),
                mean: norm.mean.copy(),
                var: norm.var.copy(),
            };
            (norm.fused(&x, statistics, 1.0, After::Nothing), norm.mean, norm.var)
        };
        let ((y, mean, var), (own, own_mean, own_var)) = (of(Some(&known(1.0))), of(None));
        for (known, own) in [(&y, &own), (&mean, &own_mean), (&var, &own_var)] {
            assert!(known.allclose(own, 1e-5, 1e-6, false));
        }
        assert!(of(Some(&known(4.0))).0.allclose(&(own * 0.5), 1e-4, 1e-6, false));
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let rng = &mut numbers(2);
        let sides = [16, 24, 20, 20];
        let (norm, x, weights) = (fresh(rng, 24), random(rng, &sides, Kind::Float), random(rng, &sides, Kind::Float));
        let other = random(rng, &sides, Kind::Float);
        let before = tch::get_num_threads();
        let runs = [1, 2, 3].map(|threads| {
            tch::set_num_threads(threads);
            let halves = weights.narrow(2, 0, 10).narrow(3, 0, 10);
            let whole = results(&norm, &x, After::AddRelu(&other), 1.0, &weights, fused);
            whole.into_iter().chain(results(&norm, &x, After::ReluAddPool(&other), 1.0, &halves, fused)).collect::<Vec<_>>()
        });
        tch::set_num_threads(before);
        for run in &runs[1..] {
            assert!(run.iter().zip(&runs[0]).all(|(one, other)| one.equal(other)));
        }
    }

    #[test]
    fn tensors_that_lie_channel_by_channel_are_left_to_libtorch() {
        let rng = &mut numbers(3);
        let (norm, x) = (fresh(rng, 6), random(rng, &[2, 6, 4, 4], Kind::Float));
        assert!(is_fusible(&x) && !is_fusible(&x.contiguous()) && !is_fusible(&x.to_kind(Kind::Double)));
        assert!(!is_fusible(&x.narrow(1, 0, 3)) && !is_fusible(&x.narrow(0, 0, 0)) && !is_fusible(&x.flatten(1, -1)));
        let mut dropout = Dropout::new(0.0, stream(1, 0, 0, Purpose::Dropout));
        let mode = Mode::Training(&mut dropout);
        let (one, other) = (norm.forward(&x, &mode, 1.0, After::Relu), norm.forward(&x.contiguous(), &mode, 1.0, After::Relu));
        assert!((one - other).abs().max().double_value(&[]) < 1e-5);
        // What is added may lie as it likes.
        let added = random(rng, &[2, 6, 4, 4], Kind::Float);
        let pair = [&added, &added.contiguous()].map(|added| norm.forward(&x, &mode, 1.0, After::ReluAdd(added)));
        assert!(pair[0].equal(&pair[1]));
    }

    #[test]
    fn what_dropout_sets_to_zero_behind_it_gets_no_gradient() {
        let rng = &mut numbers(4);
        let (norm, x) = (fresh(rng, 16), random(rng, &[4, 16, 8, 8], Kind::Float));
        let norm = BatchNorm { shift: norm.shift.set_requires_grad(true), ..norm };
        let mut dropout = Dropout::new(0.3, stream(1, 0, 0, Purpose::Dropout));
        let y = norm.forward(&x, &Mode::Training(&mut dropout), 1.0, After::DroppedRelu);
        dropout.drop_in_place(&y);
        y.sum(Kind::Float).backward();
        let kept = y.gt(0.0).to_kind(Kind::Float).sum_dim_intlist([0i64, 2, 3].as_slice(), false, Kind::Float);
        assert_eq!(to_vec(&norm.shift.grad()), to_vec(&kept));
    }
}
