//! Convolutions, each by whichever way is fastest here.
//!
//! Most are libtorch's. On a CPU, a 1x1 convolution of few pixels is one product of matrices, and the C++ in `convolution.hpp` is faster for
//! most 3x3 convolutions, in float32 on a processor that multiplies and adds at once.

use std::ffi::c_char;

use tch::{Kind, Tensor};

use super::fused::{CTensor, is_fusible, made, raw};
use super::interface::ModelState;
use crate::domain::model::network::Window;

/// Where a 1x1 convolution is a product of matrices: at most this many pixels in a batch, and at least this many numbers in its
/// kernel. Measured with libtorch 2.11 on an AVX-512 core; twice as many pixels were slower in float32.
const FEW_PIXELS: i64 = 1024;
const LARGE_KERNEL: usize = 1 << 17;

/// A convolution.
pub struct Conv {
    kernel: Tensor,
    bias: Option<Tensor>,
    stride: i64,
    padding: [i64; 2],
}

/// What a convolution gives.
pub struct Convolved {
    /// The result.
    pub y: Tensor,
    /// The image again, for those that take it as well: their gradient is then added up with the convolution's without another pass over
    /// memory, where that can be.
    pub x: Tensor,
    /// Mean and variance of the channels of the result, if they were found on the way: [2, to], float64.
    pub statistics: Option<Tensor>,
}

// SAFETY: the declarations agree with src/ranks/trainer/libtorch.cpp.
unsafe extern "C" {
    fn hvd_knows_convolution(x: *const CTensor, kernel: *const CTensor) -> bool;
    fn hvd_multiplies_widely() -> bool;
    fn hvd_convolution(
        x: *const CTensor,
        kernel: *const CTensor,
        bias: *const CTensor,
        same: *mut *mut CTensor,
        statistics: *mut *mut CTensor,
        result: *mut *mut CTensor,
    ) -> *mut c_char;
}

impl Conv {
    /// # Shapes
    /// `kernel`: `[to, from, height, width]`. `bias`: `[to]`.
    pub fn new(kernel: Tensor, bias: Option<Tensor>, stride: i64, padding: [i64; 2]) -> Conv {
        Conv { kernel, bias, stride, padding }
    }

    /// The convolution that a layout declared under this name. Without `bias` there is none, or it is left to whoever comes behind it.
    pub fn windowed(state: &ModelState, name: &str, window: Window, bias: bool) -> Conv {
        let bias = bias.then(|| state.params.get(&format!("{name}.bias")));
        let kernel = state.params.get(&format!("{name}.kernel"));
        Conv::new(kernel, bias, window.stride as i64, window.padding().map(|zeros| zeros as i64))
    }

    /// Of its bias no gradient is computed.
    pub fn with_untrained_bias(self) -> Conv {
        Conv { bias: self.bias.map(|bias| bias.detach()), ..self }
    }

    /// # Shapes
    /// `x`: [n, from, height, width]. Returns [n, to, height, width] of the windows, of the same kind.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        self.convolved(x, false).y
    }

    /// The result and more. `for_norm`: a batch norm comes next, in training.
    ///
    /// # Shapes
    /// As [`forward`](Self::forward).
    pub fn convolved(&self, x: &Tensor, for_norm: bool) -> Convolved {
        let in_kind = |tensor: &Tensor| tensor.to_kind(x.kind());
        let (kernel, bias) = (in_kind(&self.kernel), self.bias.as_ref().map(in_kind));
        if self.is_ours(x, &kernel) {
            return ours(x, &kernel, bias.as_ref(), for_norm);
        }
        let y = if self.is_product(x) {
            self.product(x, &kernel, bias.as_ref())
        } else {
            x.conv2d(&kernel, bias.as_ref(), [self.stride, self.stride], self.padding, [1, 1], 1)
        };
        Convolved { y, x: x.shallow_clone(), statistics: None }
    }

    /// Whether [`product`](Self::product) is faster.
    fn is_product(&self, x: &Tensor) -> bool {
        // SAFETY: it only asks the processor.
        self.has_few_pixels(x) && (x.kind() != Kind::Float || unsafe { hvd_multiplies_widely() })
    }

    /// Whether it is a 1x1 convolution of few pixels through a large kernel, on a CPU.
    fn has_few_pixels(&self, x: &Tensor) -> bool {
        let (kernel, sides) = (self.kernel.size(), x.size());
        let pixels = sides[0] * sides[2] * sides[3] / (self.stride * self.stride);
        let is_point = kernel[2..] == [1, 1] && self.padding == [0, 0];
        is_point && self.kernel.numel() >= LARGE_KERNEL && pixels <= FEW_PIXELS && is_fusible(x)
    }

    /// A 1x1 convolution as one product of matrices, pixels times kernel. The library's convolutions put a kernel into another order
    /// before they use it, three times a step, and with few pixels to compute that takes longer than it saves.
    fn product(&self, x: &Tensor, kernel: &Tensor, bias: Option<&Tensor>) -> Tensor {
        let every = |x: Tensor, dim: i64| if self.stride == 1 { x } else { x.slice(dim, None, None, self.stride) };
        let x = every(every(x.shallow_clone(), 2), 3);
        let (sides, to) = (x.size(), kernel.size()[0]);
        let pixels = x.permute([0, 2, 3, 1]).reshape([-1, sides[1]]);
        pixels.linear(&kernel.view([to, sides[1]]), bias).view([sides[0], sides[2], sides[3], to]).permute([0, 3, 1, 2])
    }

    /// Whether [`ours`] takes it, and takes less time than libtorch.
    fn is_ours(&self, x: &Tensor, kernel: &Tensor) -> bool {
        let [_, from, 3, 3] = kernel.size()[..] else { return false };
        let is_known = is_fusible(x) && x.kind() == Kind::Float && x.size()[1] == from;
        // SAFETY: live tensors, and the kernel has the sides that it asks for.
        is_known && self.stride == 1 && self.padding == [1, 1] && unsafe { hvd_knows_convolution(raw(x), raw(kernel)) }
    }
}

fn ours(x: &Tensor, kernel: &Tensor, bias: Option<&Tensor>, for_norm: bool) -> Convolved {
    let is_right = |bias: &Tensor| bias.size() == kernel.size()[..1] && bias.is_contiguous();
    assert!(bias.is_none_or(is_right), "{bias:?}");
    let (mut same, mut statistics) = (std::ptr::null_mut(), std::ptr::null_mut());
    let found = if for_norm { &raw mut statistics } else { std::ptr::null_mut() };
    // SAFETY: live tensors of the shapes and kinds that it takes, as `is_ours` and the lines above have seen to. libtorch keeps references of
    // its own to what it needs for backward. What it sets is set like the result.
    unsafe {
        let bias = bias.map_or(std::ptr::null(), raw);
        let y = made(|result| hvd_convolution(raw(x), raw(kernel), bias, &raw mut same, found, result));
        let statistics = for_norm.then(|| Tensor::from_ptr(statistics.cast()));
        Convolved { y, x: Tensor::from_ptr(same.cast()), statistics }
    }
}

#[cfg(test)]
mod tests {
    use tch::Device;

    use super::*;
    use crate::trainer::random::testing::normal_numbers as random;

    fn of_libtorch(x: &Tensor, kernel: &Tensor, bias: Option<&Tensor>, _: bool) -> Convolved {
        let y = x.conv2d(kernel, bias, [1, 1], [1, 1], [1, 1], 1);
        let (numbers, dims) = (y.to_kind(Kind::Double), [0i64, 2, 3]);
        let mean = numbers.mean_dim(dims.as_slice(), false, Kind::Double);
        let variance = numbers.var_dim(dims.as_slice(), false, false);
        Convolved { y, x: x.shallow_clone(), statistics: Some(Tensor::stack(&[mean, variance], 0).detach()) }
    }

    fn keeping_sides(kernel: &Tensor, bias: Option<&Tensor>) -> Conv {
        Conv::new(kernel.shallow_clone(), bias.map(Tensor::shallow_clone), 1, [1, 1])
    }

    /// Whether the vectors that may be used multiply and add at once; without that, all convolutions are libtorch's.
    #[cfg(target_arch = "x86_64")]
    fn has_ours() -> bool {
        let is_limited = std::env::var("HVD_LAB_VECTORS").as_deref() == Ok("4");
        !is_limited && std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2")
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn has_ours() -> bool {
        cfg!(target_arch = "aarch64")
    }

    #[test]
    fn ours_gives_the_results_and_gradients_of_libtorch() {
        if !has_ours() {
            return;
        }
        // Channels and widths of every way to cut a line, one line, one tile, many tiles, one image, a single channel.
        let shapes = [
            [3, 16, 16, 28, 28],
            [2, 1, 16, 5, 28],
            [2, 3, 32, 4, 7],
            [1, 32, 64, 7, 7],
            [2, 64, 32, 3, 14],
            [2, 16, 48, 2, 16],
            [3, 8, 32, 1, 8],
            [2, 5, 96, 3, 24],
            [1, 16, 16, 2, 14],
            [2, 32, 16, 6, 32],
        ];
        for [images, from, to, height, width] in shapes {
            let numbers = random(&[images, height, width, from]).permute([0, 3, 1, 2]);
            let (weights, weights_beside) = (random(&[images, to, height, width]), random(&[images, from, height, width]));
            // In either order of a kernel's numbers, with a bias and without, with somebody beside and without.
            for (kernel, alone) in [(random(&[to, from, 3, 3]), false), (random(&[to, 3, 3, from]).permute([0, 3, 1, 2]), true)] {
                let bias = random(&[to]);
                let of = |call: fn(&Tensor, &Tensor, Option<&Tensor>, bool) -> Convolved| {
                    let [x, kernel, bias] = [&numbers, &kernel, &bias].map(|tensor| tensor.detach().set_requires_grad(true));
                    let Convolved { y, x: same, statistics } = call(&x, &kernel, (!alone).then_some(&bias), true);
                    assert!(is_fusible(&y) && same.equal(&x), "the next layer is fused as well");
                    let mut loss = (&y * &weights).sum(Kind::Float);
                    if !alone {
                        loss += (&same * &weights_beside).sum(Kind::Float);
                    }
                    loss.backward();
                    let d_bias = if alone { Tensor::zeros([1], (Kind::Float, Device::Cpu)) } else { bias.grad() };
                    [y.detach(), x.grad(), kernel.grad(), d_bias, statistics.unwrap()]
                };
                assert!(keeping_sides(&kernel, None).is_ours(&numbers, &kernel));
                for (index, (got, want)) in of(ours).iter().zip(of(of_libtorch)).enumerate() {
                    let scale = want.abs().max().double_value(&[]);
                    let what = format!("{images} {from} {to} {height} {width} {alone}: result {index}");
                    assert_eq!(got.size(), want.size(), "{what}");
                    assert!(got.allclose(&want, 0.0, 2e-6 * scale, false), "{what}");
                }
            }
        }
    }

    #[test]
    fn what_needs_no_gradient_gets_none() {
        if !has_ours() {
            return;
        }
        let (x, kernel, bias) = (random(&[2, 14, 14, 16]).permute([0, 3, 1, 2]), random(&[16, 16, 3, 3]), random(&[16]));
        let kernel = kernel.set_requires_grad(true);
        ours(&x, &kernel, Some(&bias), false).y.sum(Kind::Float).backward();
        assert!(kernel.grad().defined() && !x.grad().defined() && !bias.grad().defined());
        let (x, kernel) = (x.set_requires_grad(true), kernel.detach());
        ours(&x, &kernel, Some(&bias), false).y.sum(Kind::Float).backward();
        assert!(x.grad().defined() && !kernel.grad().defined());
        assert!(!tch::no_grad(|| ours(&x, &kernel, None, false)).y.requires_grad());
        // Only what stands beside the convolution is used.
        let x = x.detach().set_requires_grad(true);
        (ours(&x, &kernel, None, false).x * 3.0).sum(Kind::Float).backward();
        assert!(x.grad().equal(&(x.ones_like() * 3.0)));
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        if !has_ours() {
            return;
        }
        let (numbers, kernel) = (random(&[5, 14, 14, 32]).permute([0, 3, 1, 2]), random(&[64, 32, 3, 3]));
        let weights = random(&[5, 14, 14, 64]).permute([0, 3, 1, 2]);
        let of = |threads: i32, [x, kernel, weights]: [Tensor; 3]| {
            tch::set_num_threads(threads);
            let [x, kernel] = [x, kernel].map(|tensor| tensor.set_requires_grad(true));
            let found = tch::no_grad(|| ours(&x, &kernel, None, true));
            // Only the convolution has used the threads so far, each of which has the name of the one that needed it.
            if cfg!(target_os = "linux") {
                assert_eq!(threads_of_this_name(), threads as usize);
            }
            (ours(&x, &kernel, None, false).y * weights).sum(Kind::Float).backward();
            [found.y, found.statistics.unwrap(), x.grad(), kernel.grad()]
        };
        let runs = [1, 2, 3].map(|threads| {
            let (name, tensors) = (format!("convolve on {threads}"), [&numbers, &kernel, &weights].map(Tensor::detach));
            std::thread::Builder::new().name(name).spawn(move || of(threads, tensors)).unwrap().join().unwrap()
        });
        for run in &runs[1..] {
            assert!(run.iter().zip(&runs[0]).all(|(one, other)| one.equal(other)));
        }
    }

    fn threads_of_this_name() -> usize {
        let of = |folder: &std::path::Path| std::fs::read_to_string(folder.join("comm")).unwrap_or_default();
        let own = of(std::path::Path::new("/proc/thread-self"));
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        tasks.flatten().filter(|task| of(&task.path()) == own).count()
    }

    #[test]
    fn others_are_left_to_libtorch() {
        let images = |sides: &[i64]| random(sides).permute([0, 3, 1, 2]);
        let (x, kernel) = (images(&[2, 14, 14, 32]), random(&[64, 32, 3, 3]));
        let is_ours = |x: &Tensor, kernel: &Tensor| keeping_sides(kernel, None).is_ours(x, kernel);
        assert_eq!(is_ours(&x, &kernel), has_ours());
        for (stride, padding) in [(2, [1, 1]), (1, [0, 0]), (1, [1, 0])] {
            assert!(!Conv::new(kernel.shallow_clone(), None, stride, padding).is_ours(&x, &kernel));
        }
        let bf16 = |tensor: &Tensor| tensor.to_kind(Kind::BFloat16);
        for (x, kernel) in [
            (bf16(&x), bf16(&kernel)),
            (x.contiguous(), kernel.shallow_clone()),
            (x.shallow_clone(), random(&[64, 32, 1, 1])),
            (x.shallow_clone(), random(&[64, 16, 3, 3])),
            // Channels that are no whole vector, an image of too few squares, lines that the caches do not hold.
            (x.shallow_clone(), random(&[24, 32, 3, 3])),
            (images(&[2, 5, 2, 32]), kernel.shallow_clone()),
            (images(&[1, 3, 66, 32]), kernel),
        ] {
            assert!(!is_ours(&x, &kernel), "{x:?} {kernel:?}");
        }
    }

    #[test]
    fn a_product_gives_what_the_convolution_gives() {
        // Odd sides, where a stride of 2 takes the last pixel as well.
        for (side, stride, biased) in [(5, 1, true), (5, 2, false), (4, 2, true), (1, 1, false)] {
            let leaf = |numbers: &Tensor| numbers.detach().set_requires_grad(true);
            let numbers = random(&[3, side, side, 256]).permute([0, 3, 1, 2]);
            let (kernel, bias) = (random(&[512, 256, 1, 1]), random(&[512]));
            let results = |as_product: bool| {
                let (x, kernel, bias) = (leaf(&numbers), leaf(&kernel), biased.then(|| leaf(&bias)));
                let conv = Conv { kernel, bias, stride, padding: [0, 0] };
                assert!(conv.has_few_pixels(&x));
                let y = match as_product {
                    true => conv.product(&x, &conv.kernel, conv.bias.as_ref()),
                    false => x.conv2d(&conv.kernel, conv.bias.as_ref(), [stride; 2], [0, 0], [1, 1], 1),
                };
                (&y * &y).sum(Kind::Float).backward();
                let bias = conv.bias.map_or_else(|| Tensor::zeros([1], (Kind::Float, Device::Cpu)), |bias| bias.grad());
                [y.detach(), x.grad(), conv.kernel.grad(), bias]
            };
            for (product, expected) in results(true).iter().zip(results(false)) {
                let scale = f64::try_from(expected.abs().max()).unwrap();
                assert_eq!(product.size(), expected.size());
                assert!(product.allclose(&expected, 1e-4, 1e-5 * scale, false), "{side} {stride} {biased}");
            }
        }
    }

    #[test]
    fn many_pixels_or_a_small_kernel_are_the_librarys() {
        let conv = |to: i64| Conv {
            kernel: Tensor::zeros([to, 256, 1, 1], (Kind::Float, Device::Cpu)),
            bias: None,
            stride: 1,
            padding: [0, 0],
        };
        let images = |batch: i64| Tensor::zeros([batch, 8, 8, 256], (Kind::Float, Device::Cpu)).permute([0, 3, 1, 2]);
        let is_few = |to: i64, batch: i64| conv(to).has_few_pixels(&images(batch));
        assert!(is_few(512, 16) && !is_few(512, 17) && !is_few(511, 16));
        // Those of bfloat16 are another library's, which knows all processors.
        assert!(conv(512).is_product(&images(16).to_kind(Kind::BFloat16)) && !conv(511).is_product(&images(16)));
    }
}
