//! The bias of a convolution and the ReLU behind it.
//!
//! In training on a CPU the C++ in `bias_relu.hpp` reads the gradients once, where libtorch reads them for the ReLU and again for the
//! sums that are the bias's gradient.

use std::ffi::c_char;

use tch::Tensor;

use super::fused::{CTensor, is_fusible, made, raw};

// SAFETY: the declaration agrees with src/ranks/trainer/libtorch.cpp.
unsafe extern "C" {
    fn hvd_bias_relu(x: *const CTensor, bias: *const CTensor, result: *mut *mut CTensor) -> *mut c_char;
}

/// max(x + bias, 0), in place: `x` is the result of a convolution without its bias, or of the pooling behind it, and nobody else
/// reads it.
///
/// # Shapes
/// `x`: `[n, channels, height, width]`. `bias`: `[channels]`, float32. Returns the shape of `x`, of its kind.
pub fn bias_relu(x: &Tensor, bias: &Tensor) -> Tensor {
    if is_fusible(x) { fused(x, bias) } else { of_libtorch(x, bias) }
}

fn of_libtorch(x: &Tensor, bias: &Tensor) -> Tensor {
    x.shallow_clone().g_add_(&bias.to_kind(x.kind()).view([1, -1, 1, 1])).relu_()
}

fn fused(x: &Tensor, bias: &Tensor) -> Tensor {
    assert!(bias.size() == [x.size()[1]] && bias.kind() == tch::Kind::Float && bias.is_contiguous(), "{bias:?}");
    // SAFETY: live tensors of the shapes and kinds that it takes, as the line above and `bias_relu` have seen to.
    unsafe { made(|result| hvd_bias_relu(raw(x), raw(bias), result)) }
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
    fn results_and_gradients_are_libtorchs() {
        for [images, channels, height, width] in [[3, 16, 28, 28], [2, 5, 7, 6], [1, 136, 2, 3], [5, 32, 1, 1]] {
            for (kind, tolerance) in [(Kind::Float, 1e-5), (Kind::BFloat16, 2e-2)] {
                let numbers = random(&[images, height, width, channels]).permute([0, 3, 1, 2]).to_kind(kind);
                let bias = random(&[channels]);
                let weights = random(&[images, channels, height, width]).to_kind(kind);
                let of = |call: fn(&Tensor, &Tensor) -> Tensor| {
                    let (x, bias) = (leaf(&numbers), leaf(&bias));
                    // As behind a convolution: a tensor that is no leaf, in memory of its own.
                    let y = call(&(&x * 1.0), &bias);
                    (&y * &weights).sum(Kind::Float).backward();
                    (y.detach(), x.grad(), bias.grad())
                };
                let ((y, dx, d_bias), (expected, expected_dx, expected_bias)) = (of(bias_relu), of(of_libtorch));
                let shape = format!("{images} {channels} {height} {width} {kind:?}");
                assert!(is_fusible(&y) && y.kind() == kind, "{shape}: the next layer is fused as well");
                let near = |one: &Tensor, other: &Tensor, tolerance: f64| {
                    let difference = (one.to_kind(Kind::Float) - other.to_kind(Kind::Float)).abs().max();
                    let scale = f64::try_from(other.abs().max()).unwrap().max(1.0);
                    f64::try_from(difference).unwrap() <= tolerance * scale
                };
                // In bfloat16 libtorch rounds the bias as well, so a number near 0 may fall on its other side.
                assert!(near(&y, &expected, tolerance), "{shape}");
                assert!(dx.equal(&(&weights * y.gt(0.0))), "{shape}: gradients pass where numbers do");
                let sum = dx.to_kind(Kind::Double).sum_dim_intlist([0i64, 2, 3].as_slice(), false, Kind::Double);
                assert!(near(&d_bias, &sum, 1e-5), "{shape}");
                if kind == Kind::Float {
                    assert!(y.equal(&expected) && dx.equal(&expected_dx), "{shape}: to the last bit");
                    assert!(near(&d_bias, &expected_bias, 1e-5), "{shape}");
                }
            }
        }
    }

    /// As behind a 1x1 convolution that is a product of matrices.
    #[test]
    fn a_view_of_other_memory_gives_the_same_gradients() {
        let weights = random(&[2, 8, 3, 3]);
        let [numbers, bias] = [vec![2 * 9, 8], vec![8]].map(|sides| random(&sides));
        let of = |call: fn(&Tensor, &Tensor) -> Tensor| {
            let (rows, bias) = (leaf(&numbers), leaf(&bias));
            let y = call(&(&rows * 2.0).view([2, 3, 3, 8]).permute([0, 3, 1, 2]), &bias);
            (&y * &weights).sum(Kind::Float).backward();
            (y.detach(), rows.grad(), bias.grad())
        };
        let ((y, d_rows, d_bias), (expected, expected_rows, expected_bias)) = (of(bias_relu), of(of_libtorch));
        assert!(is_fusible(&y) && y.equal(&expected) && d_rows.equal(&expected_rows));
        assert!(d_bias.allclose(&expected_bias, 1e-5, 1e-6, false));
    }

    #[test]
    fn a_number_that_is_none_stays_one() {
        let x = Tensor::from_slice(&[f32::NAN, -1.0, 2.0, f32::NEG_INFINITY]).view([1, 1, 1, 4]).permute([0, 3, 1, 2]);
        let y = tch::no_grad(|| bias_relu(&x, &Tensor::from_slice(&[0f32, 0.5, 0.5, 0.5])));
        let numbers = to_vec(&y.contiguous().view(-1));
        assert!(numbers[0].is_nan());
        assert_eq!(numbers[1..], [0.0, 2.5, 0.0]);
    }
}
