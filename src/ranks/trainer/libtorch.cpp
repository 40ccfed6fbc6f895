// What libtorch's C++ interface can do and tch cannot: give a leaf the memory that its gradient accumulates into, call a
// hook when its gradient is complete, choose the precision of convolutions and matrix products on a GPU, name the stream that a
// GPU computes on, and add operations of one's own to the graph of backward: convolutions 3 x 3, batch norm with what
// follows it, bias with ReLU, and max-pooling.
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <array>
#include <cstring>
#include <memory>
#include <tuple>

#include "batch_norm.hpp"
#include "bias_relu.hpp"
#include "convolution.hpp"
#include "kernel_gradient.hpp"
#include "max_pool.hpp"

namespace {

struct Hook : torch::autograd::PostAccumulateGradHook {
  Hook(void (*call)(void*, size_t), void* hook, size_t index) : call(call), hook(hook), index(index) {}
  void operator()(const torch::autograd::Variable&) override { call(hook, index); }
  void (*call)(void*, size_t);
  void* hook;
  size_t index;
};

// Calls `task(block)` for all blocks, on the threads that libtorch computes on.
constexpr auto each_block = [](int64_t blocks, const auto& task) {
  at::parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) task(block);
  });
};

template <typename T>
T* data(const at::Tensor& tensor) {
  return static_cast<T*>(tensor.data_ptr());
}

at::Tensor pixel_by_pixel(const at::Tensor& tensor, const at::Tensor& like) {
  return tensor.to(like.scalar_type()).contiguous(at::MemoryFormat::ChannelsLast);
}

// Calls `call` with a number of the kind that the tensor holds.
template <typename Call>
void choose_kind(const at::Tensor& tensor, const Call& call) {
  if (tensor.scalar_type() == at::kBFloat16) return call(hvd::Bf16());
  TORCH_CHECK(tensor.scalar_type() == at::kFloat, "only float32 and bfloat16 are computed here");
  call(float());
}

// The windows of 2 x 2 of a tensor of these sides, [n, channels, height, width].
hvd::Pooling pooling(at::IntArrayRef sides) { return {sides[0], sides[2], sides[3], sides[1]}; }

// Room for one number of each window of `x`.
at::Tensor halved(const at::Tensor& x) {
  return at::empty({x.size(0), x.size(1), x.size(2) / 2, x.size(3) / 2}, x.options(), at::MemoryFormat::ChannelsLast);
}

// The gradient of what was pooled, which had these sides, from that of the windows.
at::Tensor unpooled(const at::Tensor& gradient, const at::Tensor& places, at::IntArrayRef sides) {
  const hvd::Pooling of = pooling(sides);
  const at::Tensor dy = pixel_by_pixel(gradient, places);
  at::Tensor dx = at::empty(sides, dy.options(), at::MemoryFormat::ChannelsLast);
  // Pixels in no window have no gradient.
  if (of.height % 2 + of.width % 2 > 0) dx.zero_();
  choose_kind(dy, [&](auto number) {
    using T = decltype(number);
    hvd::unpool(data<T>(dy), data<T>(places), data<T>(dx), of, each_block);
  });
  return dx;
}

// Batch norm in training on a CPU, with the addition, the ReLU and the max-pooling that follow: see batch_norm.hpp.
struct FusedNorm : torch::autograd::Function<FusedNorm> {
  // `x` and `other`: [n, channels, height, width], channels last. The rest: [channels], float32. `mean` and `variance` are the
  // running statistics, which are brought up to date. `known`: those of `x`, if somebody knows them. Returns the shape of `x`, or half its
  // height and width if `pooled`.
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& scale,
                            const at::Tensor& shift, const std::optional<at::Tensor>& other, float* mean, float* variance,
                            const std::optional<hvd::Statistics>& known, hvd::After after, bool pooled, double gain,
                            double momentum, double eps) {
    const hvd::Cut cut(x.numel(), x.size(1));
    at::Tensor y = pooled ? halved(x) : at::empty_like(x), places = pooled ? at::empty_like(y) : at::Tensor();
    hvd::Statistics found;
    choose_kind(x, [&](auto number) {
      using T = decltype(number);
      found = known ? *known : hvd::statistics(data<T>(x), cut, each_block, hvd::nothing_to_make);
      const hvd::Line line(cut, found, data<float>(scale), data<float>(shift), gain, eps);
      const T* added = other ? data<T>(*other) : data<T>(x);
      if (pooled) {
        hvd::forward_pooled(data<T>(x), added, data<T>(y), data<T>(places), pooling(x.sizes()), cut, line, after, each_block);
      } else {
        hvd::forward(data<T>(x), added, data<T>(y), cut, line, after, each_block);
      }
    });
    // The batch stands for more images than its own, so its variance is divided by one less.
    const double unbiased = static_cast<double>(cut.pixels) / std::max<int64_t>(cut.pixels - 1, 1);
    for (int64_t at = 0; at < cut.channels; ++at) {
      mean[at] += static_cast<float>(momentum * (found.mean[at] - mean[at]));
      variance[at] += static_cast<float>(momentum * (found.variance[at] * unbiased - variance[at]));
    }
    context->save_for_backward({x, scale, shift, hvd::needs_result(after) ? y : at::Tensor(), places});
    context->saved_data["mean"] = found.mean;
    context->saved_data["variance"] = found.variance;
    context->saved_data["after"] = static_cast<int64_t>(after);
    context->saved_data["gain"] = gain;
    context->saved_data["eps"] = eps;
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &scale = saved[1], &shift = saved[2];
    const at::Tensor &y = saved[3].defined() ? saved[3] : x, &places = saved[4];
    const hvd::Statistics found{context->saved_data["mean"].toDoubleVector(), context->saved_data["variance"].toDoubleVector()};
    const auto after = static_cast<hvd::After>(context->saved_data["after"].toInt());
    const double gain = context->saved_data["gain"].toDouble(), eps = context->saved_data["eps"].toDouble();
    const hvd::Cut cut(x.numel(), x.size(1));
    const at::Tensor dy = places.defined() ? unpooled(gradients[0], places, x.sizes()) : pixel_by_pixel(gradients[0], x);
    at::Tensor dx = at::empty_like(x), d_scale = at::empty_like(scale), d_shift = at::empty_like(shift);
    // What is added behind the ReLU has the gradient of the sum.
    at::Tensor d_other = after == hvd::After::add_relu ? at::empty_like(x) : after == hvd::After::relu_add ? dy : at::Tensor();
    choose_kind(x, [&](auto number) {
      using T = decltype(number);
      const hvd::Line line(cut, found, data<float>(scale), data<float>(shift), gain, eps);
      T* to_other = after == hvd::After::add_relu ? data<T>(d_other) : data<T>(dx);
      hvd::backward(data<T>(dy), data<T>(y), data<T>(x), data<T>(dx), to_other, data<float>(d_scale), data<float>(d_shift), cut,
                    found, line, data<float>(scale), gain, eps, after, each_block);
    });
    const at::Tensor none;
    return {dx, d_scale, d_shift, d_other, none, none, none, none, none, none, none, none};
  }
};

// The convolution of `x`, [n, channels, height, width], to so many channels.
hvd::Convolution convolution(const at::Tensor& x, int64_t to) { return {x.size(0), x.size(2), x.size(3), x.size(1), to}; }

hvd::Kernel kernel_of(const at::Tensor& kernel) {
  return {data<float>(kernel), kernel.stride(0), kernel.stride(1), kernel.stride(2), kernel.stride(3)};
}

at::Tensor to_convolve(const at::Tensor& x, const hvd::Convolution& of) {
  return at::empty({of.images, of.to, of.height, of.width}, x.options(), at::MemoryFormat::ChannelsLast);
}

// A convolution 3 x 3 on a CPU in float32: see convolution.hpp.
struct SmallConvolution : torch::autograd::Function<SmallConvolution> {
  // `x`: [n, from, height, width], channels last. `kernel`: [to, from, 3, 3]. `bias`: [to]. Returns three things. The result, [n, to,
  // height, width]. `x` for those that take it as well: their gradient comes back here, and no pass over memory is spent on the sum of
  // the two. And if `for_norm`, mean and variance of the result's channels, [2, to], float64: each image is read while the cache has it.
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                                                const at::Tensor& kernel, const std::optional<at::Tensor>& bias, bool for_norm) {
    context->save_for_backward({x, kernel});
    context->set_materialize_grads(false);
    context->saved_data["trains_bias"] = bias && bias->requires_grad();
    const hvd::Convolution of = convolution(x, kernel.size(0));
    at::Tensor y = to_convolve(x, of);
    const hvd::AlignedBuffer packed = hvd::packed(of, kernel_of(kernel), each_block);
    const hvd::Addend with{bias ? data<float>(*bias) : nullptr, 0};
    const auto make = [&](int64_t image) {
      hvd::convolve_image(image, data<float>(x), packed.data(), with, data<float>(y), of);
    };
    if (!for_norm) {
      each_block(of.images, make);
      return {y, x};
    }
    const hvd::Statistics found = hvd::statistics(data<float>(y), hvd::Cut(y.numel(), of.to, of.images), each_block, make);
    at::Tensor statistics = at::empty({2, of.to}, x.options().dtype(at::kDouble));
    std::copy(found.variance.begin(), found.variance.end(), std::copy(found.mean.begin(), found.mean.end(), data<double>(statistics)));
    context->mark_non_differentiable({statistics});
    return {y, x, statistics};
  }

  // The gradient by the image is a convolution as well, back to the channels of the image. What is not known here is libtorch's.
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const at::Tensor &gradient = gradients[0], &beside = gradients[1], none;
    if (!gradient.defined()) return {beside, none, none, none};
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &kernel = saved[1], dy = pixel_by_pixel(gradient, x);
    const hvd::Convolution of = convolution(x, kernel.size(0)), back = convolution(dy, x.size(1));
    const bool needs_dx = context->needs_input_grad(0), is_ours = needs_dx && hvd::is_known(back);
    const bool needs_kernel = context->needs_input_grad(1), sums_here = needs_kernel && hvd::knows_kernel_gradient(of);
    const std::array<bool, 3> left{needs_dx && !is_ours, needs_kernel && !sums_here, context->saved_data["trains_bias"].toBool()};
    at::Tensor dx, d_kernel, d_bias;
    if (left[0] || left[1] || left[2]) {
      std::tie(dx, d_kernel, d_bias) = at::convolution_backward(dy, x, kernel, at::IntArrayRef{kernel.size(0)}, {1, 1}, {1, 1}, {1, 1},
                                                                false, {0, 0}, 1, left);
    }
    if (sums_here) {
      d_kernel = at::empty_like(kernel);
      hvd::kernel_gradient(data<float>(x), data<float>(dy), data<float>(d_kernel), kernel_of(d_kernel), of, each_block);
    }
    if (is_ours) {
      const at::Tensor first = beside.defined() ? pixel_by_pixel(beside, x) : none;
      const hvd::Addend with{beside.defined() ? data<float>(first) : nullptr, back.to};
      const hvd::AlignedBuffer packed = hvd::packed(back, kernel_of(kernel).turned(), each_block);
      dx = to_convolve(dy, back);
      each_block(back.images, [&](int64_t image) {
        hvd::convolve_image(image, data<float>(dy), packed.data(), with, data<float>(dx), back);
      });
    } else if (needs_dx && beside.defined()) {
      dx = at::add(dx, beside);
    }
    return {dx, d_kernel, d_bias, none};
  }
};

// Max-pooling over windows of 2 x 2 on a CPU: see max_pool.hpp.
struct FusedPool : torch::autograd::Function<FusedPool> {
  // `x`: [n, channels, height, width], channels last. Returns [n, channels, height / 2, width / 2].
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x) {
    at::Tensor y = halved(x), places = at::empty_like(y);
    choose_kind(x, [&](auto number) {
      using T = decltype(number);
      hvd::pool(data<T>(x), data<T>(y), data<T>(places), pooling(x.sizes()), each_block);
    });
    context->save_for_backward({places});
    context->saved_data["sides"] = x.sizes().vec();
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const at::Tensor places = context->get_saved_variables()[0];
    return {unpooled(gradients[0], places, context->saved_data["sides"].toIntVector())};
  }
};

// The bias of a convolution and the ReLU behind it on a CPU, in place: see bias_relu.hpp.
struct FusedBiasRelu : torch::autograd::Function<FusedBiasRelu> {
  // `x`: [n, channels, height, width], channels last, which nobody else reads any more. `bias`: [channels], float32.
  static at::Tensor forward(torch::autograd::AutogradContext* context, at::Tensor x, const at::Tensor& bias) {
    const hvd::Cut cut(x.numel(), x.size(1));
    choose_kind(x, [&](auto number) {
      hvd::add_bias_relu(data<decltype(number)>(x), data<float>(bias), cut, each_block);
    });
    context->mark_dirty({x});
    context->save_for_backward({x});
    return x;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const at::Tensor y = context->get_saved_variables()[0], dy = pixel_by_pixel(gradients[0], y);
    const hvd::Cut cut(y.numel(), y.size(1));
    at::Tensor dx = at::empty_like(y), d_bias = at::empty({cut.channels}, y.options().dtype(at::kFloat));
    choose_kind(y, [&](auto number) {
      using T = decltype(number);
      hvd::bias_relu_gradient(data<T>(dy), data<T>(y), data<T>(dx), data<float>(d_bias), cut, each_block);
    });
    return {dx, d_bias};
  }
};

}  // namespace

extern "C" {

// From now on backward adds to `memory`, which has the shape and strides of `leaf`.
void hvd_set_gradient(at::Tensor* leaf, const at::Tensor* memory) { leaf->mutable_grad() = *memory; }

// After every backward pass that reaches `leaf`, `call(hook, index)` runs once its gradient is complete: on the calling
// thread for tensors on a CPU, on libtorch's thread of the device otherwise. A leaf has one hook at a time.
void hvd_register_post_accumulate_hook(const at::Tensor* leaf, void (*call)(void*, size_t), void* hook, size_t index) {
  torch::autograd::impl::set_post_acc_grad_hooks(*leaf, std::make_unique<Hook>(call, hook, index));
}

void hvd_remove_post_accumulate_hook(const at::Tensor* leaf) {
  torch::autograd::impl::set_post_acc_grad_hooks(*leaf, nullptr);
}

// Batch norm of `x`, which is on a CPU with its channels last, and what follows: 0 nothing, 1 a ReLU, 2 the addition of `other` and
// a ReLU, 3 a ReLU and the addition of `other`, 4 a ReLU whose result the caller sets to 0 in places. `pooled`: of that the greatest number
// of each window of 2 x 2, as hvd_max_pool. `statistics`: those that hvd_convolution has found of `x`, or null. Sets `result` to a new tensor of the caller's. Returns what went wrong, for the caller to
// free, or null.
char* hvd_batch_norm(const at::Tensor* x, const at::Tensor* scale, const at::Tensor* shift, const at::Tensor* other,
                     const at::Tensor* mean, const at::Tensor* variance, const at::Tensor* statistics, int after, bool pooled,
                     double gain, double momentum, double eps, at::Tensor** result) try {
  std::optional<at::Tensor> added;
  if (other != nullptr) added = pixel_by_pixel(*other, *x);
  std::optional<hvd::Statistics> known;
  if (statistics != nullptr) {
    const double *means = data<double>(*statistics), *variances = means + x->size(1);
    known = hvd::Statistics{{means, variances}, {variances, variances + x->size(1)}};
  }
  *result = new at::Tensor(FusedNorm::apply(*x, *scale, *shift, added, data<float>(*mean), data<float>(*variance), known,
                                            static_cast<hvd::After>(after), pooled, gain, momentum, eps));
  return nullptr;
} catch (const std::exception& error) {
  return strdup(error.what());
}

// Whether hvd_convolution takes less time than libtorch's convolution, for numbers of float32.
bool hvd_knows_convolution(const at::Tensor* x, const at::Tensor* kernel) {
  return hvd::is_known(convolution(*x, kernel->size(0)));
}

// Whether libtorch's products of float32 matrices use vectors as wide as its convolutions do. They are MKL's, which knows AVX-512 on
// Intel's processors only.
bool hvd_multiplies_widely() {
#if defined(__x86_64__)
  return hvd::lanes() < 16 || __builtin_cpu_is("intel");
#else
  return true;
#endif
}

// The convolution of `x`, which is on a CPU with its channels last, with a kernel 3 x 3, its stride 1 and a border of zeros, plus `bias`,
// which may be null. Sets `same` to `x` for those that take it as well, and `statistics` to mean and variance of the result's channels,
// [2, to], float64, if it is not null. `result` and what is returned: as above.
char* hvd_convolution(const at::Tensor* x, const at::Tensor* kernel, const at::Tensor* bias, at::Tensor** same,
                      at::Tensor** statistics, at::Tensor** result) try {
  std::optional<at::Tensor> added;
  if (bias != nullptr) added = *bias;
  const torch::autograd::variable_list made = SmallConvolution::apply(*x, *kernel, added, statistics != nullptr);
  *result = new at::Tensor(made[0]);
  *same = new at::Tensor(made[1]);
  if (statistics != nullptr) *statistics = new at::Tensor(made[2]);
  return nullptr;
} catch (const std::exception& error) {
  return strdup(error.what());
}

// The greatest number of each window of 2 x 2 of `x`, which is on a CPU with its channels last, a multiple of 8 of them, and at least
// two pixels high and wide. `result` and what is returned: as above.
char* hvd_max_pool(const at::Tensor* x, at::Tensor** result) try {
  *result = new at::Tensor(FusedPool::apply(*x));
  return nullptr;
} catch (const std::exception& error) {
  return strdup(error.what());
}

// Adds `bias` to `x` and sets negative numbers to 0, in place. `x` is on a CPU with its channels last. `result` and what is returned:
// as above.
char* hvd_bias_relu(const at::Tensor* x, const at::Tensor* bias, at::Tensor** result) try {
  *result = new at::Tensor(FusedBiasRelu::apply(*x, *bias));
  return nullptr;
} catch (const std::exception& error) {
  return strdup(error.what());
}

// Whether a GPU may round the factors of float32 products to 10 bits of fraction.
void hvd_allow_tf32(bool allow) {
  at::globalContext().setAllowTF32CuDNN(allow);
  at::globalContext().setAllowTF32CuBLAS(allow);
}

// How many of its algorithms cuDNN tries for each shape, of which it keeps the fastest.
void hvd_try_algorithms(int count) { at::globalContext().setBenchmarkLimitCuDNN(count); }

// The CUDA stream that this thread's computations on the GPU are given to. Asked by way of the guard that libtorch_cuda.so
// registers, as nothing of CUDA is linked.
void* hvd_compute_stream(int index) {
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  return guard.getStreamNativeHandle(guard.getStream(c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index))));
}

}  // extern "C"
