//! Max-pooling that halves height and width.
//!
//! Never for other windows: those are libtorch's. In a training step on a CPU the C++ in `max_pool.hpp` takes about half as long.

use std::ffi::c_char;

use tch::Tensor;

use super::fused::{CTensor, is_fusible, made, raw};

// SAFETY: the declaration agrees with src/ranks/trainer/libtorch.cpp.
unsafe extern "C" {
    fn hvd_max_pool(x: *const CTensor, result: *mut *mut CTensor) -> *mut c_char;
}

/// The greatest number of each window of 2 x 2. An odd last line or column is left out.
///
/// # Shapes
/// `x`: [n, channels, height, width]. Returns [n, channels, height / 2, width / 2], of the same kind.
pub fn max_pool(x: &Tensor) -> Tensor {
    if is_poolable(x) { fused(x) } else { of_libtorch(x) }
}

/// Whether the C++ takes it: with whole vectors of channels, and at least one window.
pub fn is_poolable(x: &Tensor) -> bool {
    is_fusible(x) && x.size()[1] % 8 == 0 && x.size()[2].min(x.size()[3]) >= 2
}

fn of_libtorch(x: &Tensor) -> Tensor {
    x.max_pool2d([2, 2], [2, 2], [0, 0], [1, 1], false)
}

fn fused(x: &Tensor) -> Tensor {
    // SAFETY: a live tensor of the shape and kind that it takes, as `max_pool` has seen to.
    unsafe { made(|result| hvd_max_pool(raw(x), result)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trainer::params::to_vec;
    use crate::trainer::random::testing::normal_numbers as random;
    use tch::Kind;

    fn leaf(numbers: &Tensor) -> Tensor {
        numbers.detach().set_requires_grad(true)
    }

    #[test]
    fn results_and_gradients_are_libtorchs_to_the_last_bit() {
        for [images, channels, height, width] in [[3, 16, 28, 28], [2, 8, 7, 6], [1, 136, 2, 3], [2, 32, 15, 15], [2, 5, 6, 6]] {
            for kind in [Kind::Float, Kind::BFloat16] {
                // Few different numbers, so that many windows have several that are the greatest.
                let numbers = (random(&[images, height, width, channels]) * 2.0).round().clamp(-3.0, 2.0);
                let numbers = numbers.permute([0, 3, 1, 2]).to_kind(kind);
                assert_eq!(is_poolable(&numbers), channels != 5);
                let weights = random(&[images, channels, height / 2, width / 2]).to_kind(kind);
                let of = |pool: fn(&Tensor) -> Tensor| {
                    let x = leaf(&numbers);
                    // A ReLU in place behind it must not spoil what backward needs.
                    let y = pool(&x).relu_();
                    (&y * &weights).sum(Kind::Float).backward();
                    (y.detach(), x.grad())
                };
                let ((y, gradient), (expected, expected_gradient)) = (of(max_pool), of(of_libtorch));
                assert!(
                    y.equal(&expected) && gradient.equal(&expected_gradient),
                    "{images} {channels} {height} {width} {kind:?}"
                );
                assert_eq!(y.kind(), kind);
                assert!(is_fusible(&y), "the next layer is fused as well");
            }
        }
    }

    #[test]
    fn what_is_not_a_number_is_the_greatest_as_in_libtorch() {
        let of = |numbers: [f32; 4]| {
            let x = leaf(&Tensor::from_slice(&numbers).view([1, 2, 2, 1]).repeat([1, 1, 1, 8]).permute([0, 3, 1, 2]));
            assert!(is_poolable(&x));
            let y = max_pool(&x);
            y.sum(Kind::Float).backward();
            (y.double_value(&[0, 7, 0, 0]), to_vec(&x.grad().get(0).get(7).contiguous().view(-1)))
        };
        assert_eq!(of([f32::NEG_INFINITY; 4]), (f64::NEG_INFINITY, vec![1.0, 0.0, 0.0, 0.0]));
        let (greatest, gradient) = of([1.0, f32::NAN, 3.0, 2.0]);
        assert!(greatest.is_nan());
        assert_eq!(gradient, [0.0, 1.0, 0.0, 0.0]);
    }
}
